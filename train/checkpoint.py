"""Checkpoints: folders that hold all a run needs to go on, there whole or not at all.

<run>/checkpoints/<step>/   weights.safetensors   the weights that play
                            best.safetensors      the best network at that time
                            positions.safetensors observations of recent games, to check precision
                            trainer.safetensors   weights in training, optimiser, running average
                            state.json            counters, random states, unfinished games
                            config.yaml           the run's configuration
                            manifest.json         what it is, sizes and checksums of the others
<run>/best                  name of the checkpoint whose network was promoted last
"""

import json
import logging
import math
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alphago.errors import CheckpointError
from alphago.files import (
    BEST_FILE,
    CHECKPOINTS_FOLDER,
    CONFIG_FILE,
    MANIFEST_FILE,
    read_text_file,
    reason,
    replace_file,
    set_aside,
    sync_folder,
)
from alphago.network.network import NetworkConfig
from alphago.network.weights import (
    POSITIONS_FILE,
    WEIGHTS_FILE,
    NetworkInfo,
    load_player_network,
    read_manifest,
    read_weights,
    save_positions,
    save_weights,
    sha256_of,
    write_manifest,
)
from alphago.types import UInt8Array, Weights

_STATE_FILE = "state.json"
_FILES = (  # beside them POSITIONS_FILE, which the first version did not write
    WEIGHTS_FILE,
    "best.safetensors",
    "trainer.safetensors",
    _STATE_FILE,
    CONFIG_FILE,
)
_TEMPORARY = ".tmp-"  # beginning of the name of a folder that is being written or removed
_REPLACED = ".replaced"  # end of the name of a checkpoint whose place another is about to take
_MOST_TEXT_BYTES = 2**28  # the state holds all unfinished games with their policies
_NUM_NEWEST = 3  # checkpoints that always stay
_NAME = re.compile(rf"(\d{{8,}})({re.escape(_REPLACED)})?")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """What a checkpoint holds.

    Attributes:
        game: the game, `NAME[:key=value,...]`.
        network: sizes of both networks.
        step: optimiser steps of the run.
        weights: the weights that play.
        best_weights: the best network's weights.
        positions: observations uint8 [M, C, H, W] of recent games, which the precision of the best
            network is checked on; None in a checkpoint that was written before this was done.
        trainer_tensors: arrays of `Trainer.state_dict`.
        state: data for JSON: counters, random states, the trainer's facts, unfinished games.
        config_text: the run's configuration as YAML.
    """

    game: str
    network: NetworkConfig
    step: int
    weights: Weights
    best_weights: Weights
    positions: UInt8Array | None
    trainer_tensors: Weights
    state: dict[str, Any]
    config_text: str


def save_checkpoint(run_folder: Path, checkpoint: Checkpoint) -> Path:
    """Writes a checkpoint; one of the same step is replaced once the new one is safely on disk.

    Returns:
        The checkpoint's folder.

    Raises:
        CheckpointError: if a weight or a number of the state is not finite, or the disk is full or
            cannot be written. All older checkpoints are as they were and nothing is left behind.
    """
    final = run_folder / CHECKPOINTS_FOLDER / f"{checkpoint.step:08d}"
    with _write_errors(final):
        final.parent.mkdir(parents=True, exist_ok=True)
        _clean(final.parent)
        temporary = final.with_name(f"{_TEMPORARY}{final.name}")
        try:
            temporary.mkdir()
            _write_files(temporary, checkpoint)
            _put_in_place(temporary, final)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return final


def load_checkpoint(folder: Path) -> Checkpoint:
    """Reads a checkpoint and checks every file against the manifest.

    Raises:
        CheckpointError: naming the file and what is wrong with it: missing, of another size or
            checksum, unreadable, of another schema version, or with weights that are not finite.
    """
    info, weights, positions = load_player_network(folder)
    verify_files(folder)
    best_weights, _ = read_weights(folder / "best.safetensors")
    trainer_tensors, _ = read_weights(folder / "trainer.safetensors")
    return Checkpoint(
        game=info.game,
        network=info.network,
        step=info.step,
        weights=weights,
        best_weights=best_weights,
        positions=positions,
        trainer_tensors=trainer_tensors,
        state=read_state(folder),
        config_text=_read_text(folder / CONFIG_FILE),
    )


def read_state(folder: Path) -> dict[str, Any]:
    """Reads what a checkpoint keeps beside weights and configuration, without checking the rest.

    Raises:
        CheckpointError: if the file is missing or holds something else.
    """
    path = folder / _STATE_FILE
    text = _read_text(path)
    try:
        state = json.loads(text)
    except (ValueError, RecursionError) as error:  # the latter where lists lie too deep
        raise CheckpointError(f"{path}: no JSON ({error})") from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path}: not the state of a run")
    return state


def verify_files(folder: Path) -> None:
    """Checks the files of a checkpoint.

    Raises:
        CheckpointError: unless all are there, as the manifest describes them.
    """
    manifest = read_manifest(folder)
    missing = [name for name in _FILES if name not in manifest["files"]]
    if missing:
        raise CheckpointError(f"{folder / MANIFEST_FILE}: lacks {', '.join(missing)}")
    for name, expected in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            raise CheckpointError(f"{path}: missing")
        size = path.stat().st_size
        if size != expected.get("bytes"):
            raise CheckpointError(f"{path}: has {size} bytes, expected {expected.get('bytes')}")
        if sha256_of(path) != expected.get("sha256"):
            raise CheckpointError(f"{path}: broken, its checksum is not the one in {MANIFEST_FILE}")


def newest_checkpoint(
    run_folder: Path, *, check: Callable[[Checkpoint], object] | None = None
) -> tuple[Path, Checkpoint] | None:
    """Reads the newest checkpoint that is whole; broken ones are passed over with a warning.

    Args:
        run_folder: folder of the run.
        check: raises CheckpointError for a checkpoint that is of no use, and so counts as broken.

    Returns:
        Its folder and content, or None if the run has not written any checkpoint yet.

    Raises:
        CheckpointError: if there are checkpoints, and all are broken.
    """
    folders = find_checkpoints(run_folder / CHECKPOINTS_FOLDER)
    for folder in reversed(folders):
        try:
            checkpoint = load_checkpoint(folder)
            if check is not None:
                check(checkpoint)
            return folder, checkpoint
        except CheckpointError as error:
            _log.warning("checkpoint %s is broken, trying the one before: %s", folder.name, error)
    if folders:
        raise CheckpointError(f"{run_folder}: all {len(folders)} checkpoints are broken")
    return None


def checkpoint_folders(run_folder: Path) -> dict[int, Path]:
    """Returns the folders of a run's checkpoints by optimiser step, oldest first."""
    folders = find_checkpoints(run_folder / CHECKPOINTS_FOLDER)
    return {step_of(folder): folder for folder in folders if not folder.name.endswith(_REPLACED)}


def set_aside_newer(folder: Path) -> None:
    """Moves the checkpoints newer than one into the folder `broken` beside it.

    A run that goes on from a checkpoint has found the newer ones broken. Left as they are, they
    would be the newest to keep, and the sound ones be removed.

    Raises:
        CheckpointError: if one cannot be moved.
    """
    folders = find_checkpoints(folder.parent)
    for newer in folders[folders.index(folder) + 1 :]:
        try:
            set_aside(newer)
        except OSError as error:
            raise CheckpointError(f"{newer}: cannot be set aside: {reason(error)}") from error


def prune(run_folder: Path, *, keep: int) -> None:
    """Removes old checkpoints, so that those that stay are spread over the whole run.

    Args:
        run_folder: folder of the run.
        keep: how many stay, see `folders_to_keep`.

    Raises:
        CheckpointError: if one cannot be removed.
    """
    folders = find_checkpoints(run_folder / CHECKPOINTS_FOLDER)
    kept = folders_to_keep(folders, best=read_best(run_folder), num_kept=keep)
    for folder in folders:
        if folder not in kept:
            try:
                # Renamed first, so that no half removed folder passes for a broken checkpoint.
                shutil.rmtree(folder.rename(folder.with_name(f"{_TEMPORARY}{folder.name}")))
            except OSError as error:
                raise CheckpointError(f"{folder}: cannot be removed: {reason(error)}") from error


def folders_to_keep(folders: Sequence[Path], *, best: str | None, num_kept: int) -> list[Path]:
    """Chooses the checkpoints of a run that stay: the curve of its strength needs all times.

    The newest few stay, so that a broken one has others to go back to, and the best one. Of the
    others that one goes, again and again, whose two neighbours are closest in steps. So the first
    stays as well. The newest three and an old best one take places that the others do not have: in
    a run of equal steps no gap grows to twice the run's length over the `num_kept` - 4 left.

    Args:
        folders: the checkpoints, oldest first.
        best: name of the best one, None before there is one.
        num_kept: how many stay, at least 1; one more where the best is none of the newest and there
            would be no room for it.

    Returns:
        Those that stay, oldest first.
    """
    assert num_kept >= 1, "a run always keeps a checkpoint"
    kept = list(folders)
    num_newest = min(num_kept, _NUM_NEWEST)
    while len(kept) > num_kept:
        older = [place for place, folder in enumerate(kept[:-num_newest]) if folder.name != best]
        if not older:
            break
        del kept[min(older, key=lambda place: _steps_between_neighbours(kept, place))]
    return kept


def _steps_between_neighbours(folders: Sequence[Path], place: int) -> float:
    """Returns how far apart the checkpoints before and after one are; the first has none before."""
    return step_of(folders[place + 1]) - step_of(folders[place - 1]) if place else math.inf


def write_best(run_folder: Path, name: str) -> None:
    """Notes the name of the checkpoint whose network was promoted, in one step.

    Raises:
        CheckpointError: if the file cannot be written; it is as it was then.
    """
    with _write_errors(run_folder / BEST_FILE), replace_file(run_folder / BEST_FILE) as file:
        file.write(f"{name}\n".encode())


def read_best(run_folder: Path) -> str | None:
    """Returns the name of the checkpoint whose network was promoted last, None before the first.

    Raises:
        CheckpointError: if the file that tells it cannot be read.
    """
    path = run_folder / BEST_FILE
    return _read_text(path).strip() if path.exists() else None


def _write_files(folder: Path, checkpoint: Checkpoint) -> None:
    """Writes all files of a checkpoint, each flushed to the disk, the manifest last."""
    state_text = json.dumps(checkpoint.state, allow_nan=False)
    _check_readable(folder / _STATE_FILE, state_text)
    metadata = {"game": checkpoint.game, "step": str(checkpoint.step)}
    save_weights(folder / WEIGHTS_FILE, checkpoint.weights, metadata)
    save_weights(folder / "best.safetensors", checkpoint.best_weights, metadata)
    save_weights(folder / "trainer.safetensors", checkpoint.trainer_tensors, metadata)
    names = list(_FILES)
    if checkpoint.positions is not None:
        save_positions(folder / POSITIONS_FILE, checkpoint.positions)
        names.append(POSITIONS_FILE)
    for name, text in ((_STATE_FILE, state_text), (CONFIG_FILE, checkpoint.config_text)):
        with replace_file(folder / name) as file:
            file.write(text.encode())
    info = NetworkInfo(game=checkpoint.game, network=checkpoint.network, step=checkpoint.step)
    write_manifest(folder, info, names)


def _check_readable(path: Path, text: str) -> None:
    """Checks that a state of this text can be read: it is to replace one that can.

    Raises:
        CheckpointError: if it is too large.
    """
    size = len(text.encode())
    if size > _MOST_TEXT_BYTES:
        raise CheckpointError(
            f"{path}: not saved: got {size} bytes, allowed: at most {_MOST_TEXT_BYTES}; the"
            " unfinished games are too many, lower selfplay.num_games"
        )


def _put_in_place(temporary: Path, final: Path) -> None:
    """Gives a finished folder its name; whenever it is stopped, the old or the new one is there."""
    replaced = final.with_name(final.name + _REPLACED)
    if final.exists():
        final.rename(replaced)
    temporary.rename(final)
    sync_folder(final.parent)
    shutil.rmtree(replaced, ignore_errors=True)


def _clean(folder: Path) -> None:
    """Removes what a killed process left, and finishes or takes back its replacement."""
    for leftover in folder.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(leftover)
    for replaced in folder.glob(f"*{_REPLACED}"):
        final = replaced.with_name(replaced.name.removesuffix(_REPLACED))
        if final.exists():
            shutil.rmtree(replaced)
        else:
            replaced.rename(final)


def step_of(folder: Path) -> int:
    """Returns the optimiser steps of a checkpoint by its name."""
    match = _NAME.fullmatch(folder.name)
    assert match is not None, "not the name of a checkpoint"
    return int(match[1])


def find_checkpoints(folder: Path) -> list[Path]:
    """Returns a run's checkpoints, oldest first, also one whose replacement was stopped midway.

    Raises:
        CheckpointError: if the folder cannot be read.
    """
    try:
        found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be read: {reason(error)}") from error
    return sorted(found, key=lambda path: (step_of(path), not path.name.endswith(_REPLACED)))


def _read_text(path: Path) -> str:
    """Reads a text file."""
    try:
        return read_text_file(path, at_most=_MOST_TEXT_BYTES)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({reason(error)})") from error
    except ValueError as error:
        raise CheckpointError(f"{path}: no text ({error})") from error


@contextmanager
def _write_errors(target: Path) -> Iterator[None]:
    """Turns whatever keeps a file or folder from being written into a `CheckpointError`."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"{target}: not saved: {reason(error)}") from error
    except ValueError as error:  # a weight or a number of the state is not finite
        cause = error.__cause__
        why = reason(cause) if isinstance(cause, OSError) else error
        raise CheckpointError(f"{target}: not saved: {why}") from error
