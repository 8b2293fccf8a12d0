"""Checks the configuration of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from alphago.errors import AlphagoError, CheckpointError
from alphago.files import CONFIG_FILE, read_text_file, reason, set_aside
from alphago.yaml_files import MOST_BYTES
from scripts.checks.findings import FAULT, NOTE, Finding, Repair

if TYPE_CHECKING:
    from train.config import RunConfig

REFUSED = "`alphago resume` is refused"


def check_config(
    run: Path, checkpoints: Sequence[Path]
) -> tuple["RunConfig | None", list[Finding]]:
    """Checks `config.yaml`.

    Args:
        run: folder of the run.
        checkpoints: its checkpoints, oldest first.

    Returns:
        The configuration of the run, where it cannot be read that of its newest checkpoint, None
        where there is none either; and what was found.
    """
    try:
        config = read_config(run)
    except CheckpointError as error:
        what = str(error).removeprefix(f"{run / CONFIG_FILE}: ")
        for folder in reversed(checkpoints):
            try:
                config = _config_of(folder)
            except CheckpointError:
                continue
            follows = f"{REFUSED}; checkpoint {folder.name} has a copy"
            repair = _copy_from(folder, run)
            return config, [Finding(FAULT, CONFIG_FILE, what, follows, repair)]
        return None, [Finding(FAULT, CONFIG_FILE, what, REFUSED)]
    return config, _check_suite(config)


def read_config(folder: Path) -> "RunConfig":
    """Reads the configuration in the folder of a run or a checkpoint.

    Raises:
        CheckpointError: if it is none.
    """
    from scripts.composition import load_run_config, to_run_config

    return to_run_config(load_run_config(folder))


def _config_of(checkpoint: Path) -> "RunConfig":
    """Reads the configuration of a checkpoint that is whole."""
    from train.checkpoint import verify_files

    verify_files(checkpoint)
    return read_config(checkpoint)


def _copy_from(checkpoint: Path, run: Path) -> Repair:
    """Returns what takes the configuration from a checkpoint."""
    from train.run_folder import write_text

    def repair() -> str:
        path, done = run / CONFIG_FILE, f"taken from checkpoint {checkpoint.name}"
        try:
            text = read_text_file(checkpoint / CONFIG_FILE, at_most=MOST_BYTES)
            if path.exists():
                done += f"; the old one set aside as {set_aside(path).relative_to(run)}"
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be replaced: {reason(error)}") from error
        write_text(path, text)
        return done

    return repair


def _check_suite(config: "RunConfig") -> list[Finding]:
    """Looks for the position suite, which may have stayed behind when the folder was copied."""
    from alphago.games import make_game
    from eval.suites import load_suite

    if config.suite.file is None:
        return []
    try:
        load_suite(make_game(config.game.text), config.suite.file)
    except AlphagoError as error:
        follows = f"{REFUSED} here without `suite.file=FILE` or `suite.file=null`"
        return [Finding(NOTE, CONFIG_FILE, f"suite.file: {error}", follows)]
    return []
