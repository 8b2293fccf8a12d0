"""The folder that keeps every game of a run."""

import logging
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from alphago.errors import RecordError
from alphago.files import BROKEN_FOLDER, MIB, TEMPORARY_SUFFIX, reason, set_aside
from selfplay.records import (
    BrokenRecordFileError,
    GameRecord,
    bytes_of_record,
    is_held_out,
    read_sound_records,
    write_records,
)

_log = logging.getLogger(__name__)
BYTES_PER_FILE = 64 * MIB  # of arrays; far below what a reader takes for a record file
_FILE_NAME = re.compile(r"(\d{9,})-(\d+)\.npz")


class RecordFile(NamedTuple):
    """A file of games: the number of its first one, and how many."""

    path: Path
    first: int
    num_games: int


def record_files(folder: Path) -> list[RecordFile]:
    """Returns the files of games in a folder, oldest first, without touching any.

    Raises:
        RecordError: if the folder cannot be read.
    """
    return sorted(_named(folder, whole_name=True), key=lambda file: (file.first, file.path))


def numbers_given(folder: Path) -> list[tuple[int, int]]:
    """Returns the numbers that games of a folder have, those of files set aside included.

    Returns:
        Ranges (first, end) of numbers, ascending, with gaps between them.

    Raises:
        RecordError: if the folder cannot be read.
    """
    # Earlier versions set a file aside by an ending of its name.
    files = _named(folder, whole_name=False) + _named(folder / BROKEN_FOLDER, whole_name=False)
    ranges: list[tuple[int, int]] = []
    for first, end in sorted((file.first, file.first + file.num_games) for file in files):
        if ranges and ranges[-1][1] >= first:
            begin, before = ranges.pop()
            ranges.append((begin, max(before, end)))
        else:
            ranges.append((first, end))
    return ranges


def keep_only(file: RecordFile, records: Sequence[GameRecord]) -> Path:
    """Sets a file aside and, in its place, keeps some of its games.

    The new file is there before the old one goes: whenever this is stopped, no game is lost.

    Args:
        file: the file.
        records: its sound games. Where there are none, or their name is taken by another file,
            all of its games are set aside.

    Returns:
        Where the file is now.

    Raises:
        RecordError: if something cannot be written.
    """
    path = file.path.with_name(_file_name(file.first, len(records)))
    if records and not path.exists():
        write_records(path, records)
    return _set_aside(file.path)


def _file_name(first: int, num_games: int) -> str:
    return f"{first:09d}-{num_games}.npz"


def _parts(records: Sequence[GameRecord]) -> Iterator[list[GameRecord]]:
    """Yields games as they share files: at most `BYTES_PER_FILE` of arrays, or one larger game."""
    part: list[GameRecord] = []
    size = 0
    for record in records:
        if part and size + bytes_of_record(record) > BYTES_PER_FILE:
            yield part
            part, size = [], 0
        part.append(record)
        size += bytes_of_record(record)
    if part:
        yield part


def _named(folder: Path, *, whole_name: bool) -> list[RecordFile]:
    """Returns the files whose name says which games they hold; with other endings too, if asked."""
    try:
        paths = list(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordError(f"{folder}: cannot be read: {reason(error)}") from error
    match = _FILE_NAME.fullmatch if whole_name else _FILE_NAME.match
    named = [(path, name) for path in paths if (name := match(path.name))]
    return [RecordFile(path, int(name[1]), int(name[2])) for path, name in named]


def _set_aside(path: Path) -> Path:
    try:
        return set_aside(path)
    except OSError as error:
        raise RecordError(f"{path}: cannot be set aside: {reason(error)}") from error


class RecordStore:
    """The folder that keeps every game of a run; one process writes to it.

    A file is named after the number of its first game and how many it holds, so the games of a run
    are numbered without gaps and nothing has to be opened to count them.
    """

    def __init__(self, folder: Path, game_name: str) -> None:
        """Opens the folder, made if need be, and removes what a killed writer left unfinished.

        Raises:
            RecordError: if it cannot be made, read or written to, such as a file in its place.
        """
        self.folder, self.game_name = folder, game_name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for leftover in folder.glob(f"*{TEMPORARY_SUFFIX}"):
                _log.info("removed %s, left by a writer that was stopped", leftover)
                leftover.unlink()
        except OSError as error:
            raise RecordError(f"{folder}: cannot be used: {reason(error)}") from error
        given = numbers_given(folder)  # a number is never given to a second game
        self._num_games = given[-1][1] if given else 0
        self.num_found = sum(end - first for first, end in given)  # games that were there

    @property
    def num_games(self) -> int:
        """Games stored so far, which is the number of the next one."""
        return self._num_games

    def skip_to(self, num_games: int) -> None:
        """Gives no new game a number below this: games had it whose files are gone."""
        self._num_games = max(self._num_games, num_games)

    def append(self, records: Sequence[GameRecord]) -> None:
        """Stores games under the next numbers; they are safe on the disk when this returns.

        Many large games are spread over several files, each of which can be read again.

        Raises:
            RecordError: if a record is unsound or of another game.
        """
        self._check_game({record.game for record in records}, "a record")
        for part in _parts(records):
            write_records(self.folder / _file_name(self._num_games, len(part)), part)
            self._num_games += len(part)

    def newest(
        self, num_positions: int, *, end: int | None = None, holdout_fraction: float = 0.0
    ) -> Iterator[GameRecord]:
        """Goes through the newest games, oldest first.

        Broken files are set aside and unsound records left out, both with a warning.

        Args:
            num_positions: whole files are taken until they hold at least this many positions to
                learn from, and held-out ones in proportion, or until there are no more.
            end: only files of games with numbers below this; None for all.
            holdout_fraction: as in `is_held_out`.

        Raises:
            RecordError: if a file is of another game or schema version.
        """
        needed = np.array([num_positions, math.ceil(num_positions * holdout_fraction)])
        chosen: list[list[GameRecord]] = []
        for path in reversed(self._files(0, end)):
            if (needed <= 0).all():
                break
            chosen.append(self._read_sound(path))
            for record in chosen[-1]:
                num_targets = np.count_nonzero(record.is_target)
                needed[int(is_held_out(record, holdout_fraction))] -= num_targets
        while chosen:
            yield from chosen.pop()

    def since(self, first: int) -> Iterator[GameRecord]:
        """Goes through the games of all files that begin at number `first` or later."""
        for path in self._files(first, None):
            yield from self._read_sound(path)

    def _files(self, begin: int, end: int | None) -> list[Path]:
        """Returns the files whose games are numbered from `begin` to before `end`, oldest first."""
        return [
            file.path
            for file in record_files(self.folder)
            if file.first >= begin and (end is None or file.first + file.num_games <= end)
        ]

    def _read_sound(self, path: Path) -> list[GameRecord]:
        """Reads the sound records of a file; a broken file is set aside and gives none."""
        try:
            records, faults = read_sound_records(path)
        except BrokenRecordFileError as error:
            aside = _set_aside(path)
            _log.warning("%s; set aside as %s, its games are not learnt from", error, aside)
            return []
        self._check_game({record.game for record in records}, str(path))
        if faults:
            _log.warning("%s: refused %d games, first %s", path, len(faults), faults[0])
        return records

    def _check_game(self, names: set[str], what: str) -> None:
        """Raises RecordError if games of another name are among those of this store."""
        foreign = names - {self.game_name}
        if foreign:
            raise RecordError(f"{what} is of {', '.join(sorted(foreign))}, not of {self.game_name}")
