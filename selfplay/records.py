"""What is kept of a finished game, and the files that keep it.

A record holds the moves, not the states: states are rebuilt by replaying, which is smaller and
tests the rules at each load. A file holds several games, one array per field, all games one after
the other; `move_offsets` says where each game begins among the moves, `target_offsets` where each
move begins among the policy targets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from alphago.errors import RecordError
from alphago.files import read_file, reason, replace_file
from alphago.types import NUM_PLAYERS, BoolArray, FloatArray
from selfplay.npz import MOST_BYTES, read_arrays
from selfplay.policy_targets import PolicyTarget

SCHEMA_VERSION = 1
ROUNDING = 1e-5  # by which sums and means of float32 numbers may be off


Columns: TypeAlias = dict[str, npt.NDArray[Any]]  # the arrays of one file by name


class BrokenRecordFileError(RecordError):
    """A record file is truncated, corrupted or not a record file at all."""


class GameName(NamedTuple):
    """What tells one game of a run from all others, and the root of its random stream."""

    run_seed: int
    actor: int
    number: int  # of the game, among those of its actor


@dataclass(frozen=True, kw_only=True, eq=False)
class GameRecord:
    """One finished game.

    Attributes:
        game: name of the game.
        rules: variant of the rules, "" for a game that has only one.
        schema_version: version of this list of fields.
        network_version: version of the weights that began the game.
        name: which game it is.
        actions: int16 [T], all moves, those of a random opening included.
        target_actions: int16 [K], actions that have a share in a policy target, move after move.
        target_shares: float32 [K], their shares, all above 0; those of one move sum to 1.
        target_offsets: int32 [T + 1], move t has the entries target_offsets[t] to [t + 1].
        root_values: float32 [T], what the search found, view of the player to move; 0 without one.
        is_target: bool [T], whether the position before the move is learnt from.
        returns: float32 [P], the result by player id; of truncated games that of the position.
        truncated: whether the game was stopped before its end.
    """

    game: str
    rules: str = ""
    schema_version: int = SCHEMA_VERSION
    network_version: int
    name: GameName
    actions: npt.NDArray[np.int16]
    target_actions: npt.NDArray[np.int16]
    target_shares: FloatArray
    target_offsets: npt.NDArray[np.int32]
    root_values: FloatArray
    is_target: BoolArray
    returns: FloatArray
    truncated: bool

    def policy_target(self, ply: int) -> PolicyTarget:
        """Returns the policy target of one move, without any action where it is none."""
        entries = slice(self.target_offsets[ply], self.target_offsets[ply + 1])
        return PolicyTarget(self.target_actions[entries], self.target_shares[entries])

    def __str__(self) -> str:
        """Names the game for messages."""
        run_seed, actor, number = self.name
        return f"{self.game} game {number} of actor {actor} (run seed {run_seed})"


def bytes_of_record(record: GameRecord) -> int:
    """Returns about how much memory the arrays of a game take."""
    arrays = (getattr(record, field.name) for field in fields(record))
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def is_held_out(record: GameRecord, holdout_fraction: float) -> bool:
    """Tells whether a game is kept for validation: the last of every 1/fraction games of its actor.

    1/fraction is rounded: 0.3 holds back every third game, 0.4 every second. The answer depends on
    the game's own number, so it is the same after a resume.
    """
    if holdout_fraction == 0.0:
        return False
    every = round(1.0 / holdout_fraction)
    return record.name.number % every == every - 1


def check_record(record: GameRecord) -> None:
    """Checks everything that needs no knowledge of the game's rules.

    Raises:
        RecordError: if shapes do not fit, a number is not finite or out of range, or a policy
            target does not sum to 1.
    """
    fault = _find_fault(record)
    if fault is not None:
        raise RecordError(f"{record}: {fault}")


def _find_fault(record: GameRecord) -> str | None:
    """Returns what is wrong with a record, None if nothing is."""
    num_moves, num_entries = len(record.actions), len(record.target_actions)
    offsets = record.target_offsets
    if len(offsets) != num_moves + 1 or offsets[0] != 0 or offsets[-1] != num_entries:
        return f"target_offsets do not span {num_moves} moves and {num_entries} entries"
    if (np.diff(offsets) < 0).any():
        return "target_offsets fall"
    lengths = (len(record.root_values), len(record.is_target), len(record.target_shares))
    if lengths != (num_moves, num_moves, num_entries) or record.returns.shape != (NUM_PLAYERS,):
        return "its arrays differ in length"
    for name in ("root_values", "returns"):
        numbers = getattr(record, name)
        if not (np.abs(numbers) <= 1.0 + ROUNDING).all():  # also False for NaN
            return f"{name} are not finite numbers from -1 to 1"
    if not ((record.target_shares > 0.0) & (record.target_shares <= 1.0)).all():
        return "policy shares are not finite numbers above 0, at most 1"
    running = np.concatenate([[0.0], np.cumsum(record.target_shares, dtype=np.float64)])
    sums = running[offsets[1:]] - running[offsets[:-1]]
    if (np.abs(sums[record.is_target] - 1.0) > ROUNDING).any():
        return "a policy target does not sum to 1"
    return None


def write_records(path: Path, records: Sequence[GameRecord]) -> None:
    """Writes games of one kind into one file, which appears whole or not at all.

    Args:
        path: name of the file, replaced if it is there.
        records: at least one game, all of the same name and rules.

    Raises:
        RecordError: if a record is unsound, the games differ, or the file cannot be written.
    """
    for record in records:
        check_record(record)
    if len({(record.game, record.rules, record.schema_version) for record in records}) != 1:
        raise RecordError(f"{path}: one file holds games of one kind, at least one")
    try:
        with replace_file(path) as file:
            np.savez_compressed(file, allow_pickle=False, **_to_columns(records))
    except OSError as error:
        raise RecordError(f"{path}: cannot be written: {reason(error)}") from error


def read_records(path: Path) -> list[GameRecord]:
    """Reads all games of a file, in the order they were written.

    Raises:
        RecordError: if the file is missing, broken, of an unknown schema version, or holds an
            unsound record.
    """
    records, faults = read_sound_records(path)
    if faults:
        raise RecordError(f"{path}: {faults[0]}")
    return records


def read_sound_records(path: Path) -> tuple[list[GameRecord], list[str]]:
    """Reads the games of a file; what is wrong with one does not keep the others from being read.

    Returns:
        The sound records, in the order they were written, and what is wrong with each other one.

    Raises:
        BrokenRecordFileError: if it is not a whole record file.
        RecordError: if it is missing, or of an unknown schema version.
    """
    records, faults = [], []
    for record in _to_records(_read_columns(path)):
        fault = _find_fault(record)
        if fault is None:
            records.append(record)
        else:
            faults.append(f"{record}: {fault}")
    return records, faults


# Every array of a file: single values, then dtype and shape of the columns. "games", "moves" of all
# games and "entries" of all policy targets are counts; offsets have one more.
_HEADER = {"schema_version": "iu", "game": "U", "rules": "U"}  # with the kinds of their dtypes
_COLUMNS: dict[str, tuple[type[np.generic], tuple[str | int, ...]]] = {
    "network_versions": (np.int64, ("games",)),
    "seeds": (np.int64, ("games", 3)),
    "returns": (np.float32, ("games", NUM_PLAYERS)),
    "truncated": (np.bool_, ("games",)),
    "move_offsets": (np.int64, ("games+1",)),
    "actions": (np.int16, ("moves",)),
    "root_values": (np.float32, ("moves",)),
    "is_target": (np.bool_, ("moves",)),
    "target_offsets": (np.int64, ("moves+1",)),
    "target_actions": (np.int16, ("entries",)),
    "target_shares": (np.float32, ("entries",)),
}


def _to_columns(records: Sequence[GameRecord]) -> Columns:
    """Lays the games one after the other."""

    def joined(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(record, name) for record in records])

    def stacked(name: str) -> npt.NDArray[Any]:
        return np.stack([getattr(record, name) for record in records])

    targets_per_move = np.concatenate([np.diff(record.target_offsets) for record in records])
    columns = {
        "network_versions": stacked("network_version"),
        "seeds": stacked("name"),
        "returns": stacked("returns"),
        "truncated": stacked("truncated"),
        "move_offsets": _offsets([len(record.actions) for record in records]),
        "target_offsets": _offsets(targets_per_move),
    }
    for name in ("actions", "root_values", "is_target", "target_actions", "target_shares"):
        columns[name] = joined(name)
    columns = {name: array.astype(_COLUMNS[name][0]) for name, array in columns.items()}
    return columns | {name: np.array(getattr(records[0], name)) for name in _HEADER}


def _offsets(lengths: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Returns where each of the parts begins, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _read_columns(path: Path) -> Columns:
    """Reads and checks the arrays of a file.

    Raises:
        BrokenRecordFileError: if it is not a whole record file.
        RecordError: if it is one of a schema version this program does not know.
    """
    try:
        content = read_file(path, at_most=MOST_BYTES)
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {reason(error)}") from error
    try:
        columns = read_arrays(content, [*_HEADER, *_COLUMNS])
    except (ValueError, MemoryError) as error:
        raise BrokenRecordFileError(f"{path}: broken: {error}") from error
    version = columns["schema_version"].tolist() if "schema_version" in columns else SCHEMA_VERSION
    if version != SCHEMA_VERSION:
        raise RecordError(
            f"{path}: schema version {version!r}, this program reads {SCHEMA_VERSION}"
        )
    fault = _find_column_fault(columns)
    if fault is not None:
        raise BrokenRecordFileError(f"{path}: {fault}")
    return columns


def _find_column_fault(columns: Columns) -> str | None:
    """Returns what is wrong with the arrays of a file, None if nothing is."""
    missing = [name for name in (*_HEADER, *_COLUMNS) if name not in columns]
    if missing:
        return f"lacks {', '.join(missing)}"
    for name, kinds in _HEADER.items():
        if columns[name].dtype.kind not in kinds or columns[name].shape != ():
            return (
                f"{name} is {columns[name].dtype} {list(columns[name].shape)}, expected one value"
            )
    sizes: dict[str | int, int] = {
        "games": columns["truncated"].size,
        "moves": columns["actions"].size,
        "entries": columns["target_actions"].size,
    }
    sizes |= {"games+1": sizes["games"] + 1, "moves+1": sizes["moves"] + 1}
    for name, (dtype, dimensions) in _COLUMNS.items():
        shape = tuple(sizes.get(dimension, dimension) for dimension in dimensions)
        if columns[name].dtype != dtype or columns[name].shape != shape:
            got = f"{columns[name].dtype} {list(columns[name].shape)}"
            return f"{name} is {got}, expected {np.dtype(dtype)} {list(shape)}"
    for name, end in (("move_offsets", sizes["moves"]), ("target_offsets", sizes["entries"])):
        offsets = columns[name]
        # Not by their differences alone, which overflow.
        if offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
            return f"{name} do not rise from 0 to {end}"
    return None


def _to_records(columns: Columns) -> Iterator[GameRecord]:
    """Cuts the arrays of a file into its games."""
    bounds = columns["move_offsets"]
    for index, (begin, end) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
        offsets = columns["target_offsets"][begin : end + 1]
        entries = slice(offsets[0], offsets[-1])
        yield GameRecord(
            game=str(columns["game"]),
            rules=str(columns["rules"]),
            network_version=int(columns["network_versions"][index]),
            name=GameName(*columns["seeds"][index].tolist()),
            actions=columns["actions"][begin:end],
            target_actions=columns["target_actions"][entries],
            target_shares=columns["target_shares"][entries],
            target_offsets=(offsets - offsets[0]).astype(np.int32),
            root_values=columns["root_values"][begin:end],
            is_target=columns["is_target"][begin:end],
            returns=columns["returns"][index],
            truncated=bool(columns["truncated"][index]),
        )
