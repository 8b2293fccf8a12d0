"""The checkpoints of a run that may be training: held, so that none disappears while it plays."""

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alphago.errors import CheckpointError
from alphago.files import BEST_FILE, reason
from eval.ladder import checkpoint_name
from eval.rating_store import CheckpointFacts

_HELD_FOLDER = "held"  # in the folder of the ratings

logger = logging.getLogger(__name__)


class HeldCheckpoints:
    """Checkpoints of a run as hard links, which stay when the run removes the checkpoint.

    Attributes:
        facts: of the checkpoints held, by player.
        broken: the steps of those that cannot be used.
    """

    def __init__(self, run: Path, folder: Path) -> None:
        """Holds none yet.

        Args:
            run: folder of the run.
            folder: where the links go; it exists.
        """
        self.facts: dict[str, CheckpointFacts] = {}
        self.broken: set[int] = set()
        self._run, self._folder = run, folder

    def hold(self, step: int) -> bool:
        """Holds the checkpoint of a step; a broken one is left out with a warning.

        Returns:
            Whether it was still there.

        Raises:
            CheckpointError: if it cannot be linked or copied.
        """
        from train.checkpoint import checkpoint_folders, verify_files

        target = self._folder / f"{step:08d}"
        source = checkpoint_folders(self._run).get(step)
        if source is None:
            return False
        try:
            shutil.copytree(source, target, copy_function=_link)
        except (OSError, shutil.Error) as error:
            shutil.rmtree(target, ignore_errors=True)
            if not source.exists():  # the run has just removed it
                return False
            raise CheckpointError(f"{target}: cannot be linked: {error}") from error
        try:
            verify_files(target)
            self.facts[checkpoint_name(step)] = _read_facts(target, step=step)
        except CheckpointError as error:
            shutil.rmtree(target, ignore_errors=True)
            self.broken.add(step)
            where = str(error).replace(str(target), str(source))
            logger.warning("checkpoint %d is broken and left out: %s", step, where)
        return True

    def text(self, player: str, *, simulations: int) -> str:
        """Returns the text that makes the player of a checkpoint held."""
        folder = self._folder / f"{self.facts[player].step:08d}"
        return f"{folder}:simulations={simulations}"


@contextmanager
def held_checkpoints(run: Path, ratings_folder: Path) -> Iterator[HeldCheckpoints]:
    """Makes room for checkpoints that are held while the block runs.

    Args:
        run: folder of the run.
        ratings_folder: the ladder's folder, on the same file system; nobody else uses it now.
    """
    # Not resolved itself: a link is not followed, and what it leads to stays as it is.
    folder = ratings_folder.resolve() / _HELD_FOLDER
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    try:
        folder.mkdir()
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be made: {reason(error)}") from error
    try:
        yield HeldCheckpoints(run, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def steps_of_run(run: Path) -> tuple[list[int], int | None]:
    """Returns the steps of a run's checkpoints, ascending, and that of the best one."""
    from train.checkpoint import checkpoint_folders, read_best

    folders = checkpoint_folders(run)
    best = read_best(run) if (run / BEST_FILE).exists() else None
    return list(folders), int(best) if best is not None and best.isdigit() else None


def game_of_run(run: Path) -> str:
    """Returns the game of a run that has a checkpoint, as text.

    Raises:
        CheckpointError: if it has none, or all are broken.
    """
    from alphago.network.weights import read_manifest
    from train.checkpoint import checkpoint_folders

    folders = checkpoint_folders(run)
    if not folders:
        raise CheckpointError(f"{run}: has no checkpoint yet")
    for folder in reversed(folders.values()):
        try:
            game: str = read_manifest(folder)["game"]
        except CheckpointError as error:
            fault = error
        else:
            return game
    raise fault


def _link(source: str, target: str) -> Any:
    """Links a file, or copies it where the file system has no links."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        return shutil.copy2(source, target)
    return target


def _read_facts(folder: Path, *, step: int) -> CheckpointFacts:
    from train.checkpoint import read_state
    from train.run_state import wrong_kind_errors

    state = read_state(folder)
    with wrong_kind_errors(f"{folder}: state"):
        minutes = round(float(state["counters"]["seconds"]) / 60, 3)
        return CheckpointFacts(step=step, games=int(state["num_games"]), minutes=minutes)
