"""The folder of a run. Relative paths are those of the caller's working directory."""

import itertools
from datetime import datetime
from pathlib import Path

from alphago.errors import CheckpointError
from alphago.files import CONFIG_FILE, MANIFEST_FILE
from scripts.arguments import CommandLineError

RUNS = Path("runs")


def check_unused(folder: Path) -> None:
    """Checks that a new run may begin in a folder: it does not exist, or is empty.

    Raises:
        CommandLineError: if something is there, or it cannot be looked at.
    """
    try:
        used = folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))
        is_run = used and (folder / CONFIG_FILE).exists()
    except OSError as error:
        raise CommandLineError(f"run_dir: {error.filename}: {error.strerror}") from None
    if is_run:
        raise CommandLineError(
            f"run_dir: {folder} holds a run; go on with `alphago resume {folder}`"
        )
    if used:
        raise CommandLineError(f"run_dir: {folder} is not empty; name a new folder")


def make_run_folder(run_dir: str | None, *, game_name: str, now: datetime) -> Path:
    """Creates the folder of a new run.

    Args:
        run_dir: the folder asked for, None for `runs/<game>-<date>-<time>`, made
            unique by a number.
        game_name: the game, for the name.
        now: the time, for the name.

    Returns:
        The folder, which nobody else was given.

    Raises:
        CommandLineError: if `run_dir` is in use or cannot be created.
    """
    try:
        if run_dir is None:
            return _make_dated_folder(f"{game_name}-{now:%Y%m%d-%H%M%S}")
        folder = Path(run_dir)
        check_unused(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandLineError(f"run_dir: {error.filename}: {error.strerror}") from None
    return folder


def check_is_run(folder: Path) -> None:
    """Checks that a folder is that of a run.

    Raises:
        CheckpointError: if it is missing or something else.
    """
    if not folder.exists():
        raise CheckpointError(f"{folder}: no such folder")
    if (folder / MANIFEST_FILE).exists():
        raise CheckpointError(f"{folder}: is a checkpoint; give its run, {folder.parent.parent}")
    if not (folder / CONFIG_FILE).is_file():
        raise CheckpointError(f"{folder}: is not a run, it has no {CONFIG_FILE}")


def _make_dated_folder(name: str) -> Path:
    RUNS.mkdir(exist_ok=True)
    for number in itertools.count(1):
        folder = RUNS / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise AssertionError("counting ended")
