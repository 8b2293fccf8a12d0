"""The folder that keeps every game of a run."""

import logging
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from alphago.errors import RecordError
from alphago.files import BROKEN_FOLDER, TEMPORARY_SUFFIX, reason, set_aside
from selfplay.records import (
    BrokenRecordFileError,
    GameRecord,
    is_held_out,
    read_sound_records,
    write_records,
)

_log = logging.getLogger(__name__)
_FILE_NAME = re.compile(r"(\d{9,})-(\d+)\.npz")


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
        self.num_refused = 0  # unsound records met by `newest`
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for leftover in folder.glob(f"*{TEMPORARY_SUFFIX}"):
                _log.info("removed %s, left by a writer that was stopped", leftover)
                leftover.unlink()
            # Files set aside count: a number is never given to a second game.
            paths = [*folder.iterdir(), *folder.glob(f"{BROKEN_FOLDER}/*")]
        except OSError as error:
            raise RecordError(f"{folder}: cannot be used: {reason(error)}") from error
        names = [name for path in paths if (name := _FILE_NAME.match(path.name))]
        self.num_found = self._num_games = 0
        for first, count in sorted((int(name[1]), int(name[2])) for name in names):
            end = max(first + count, self._num_games)
            self.num_found += end - max(first, self._num_games)  # games that were there
            self._num_games = end

    @property
    def num_games(self) -> int:
        """Games stored so far, which is the number of the next one."""
        return self._num_games

    def skip_to(self, num_games: int) -> None:
        """Gives no new game a number below this: games had it whose files are gone."""
        self._num_games = max(self._num_games, num_games)

    def append(self, records: Sequence[GameRecord]) -> None:
        """Stores games under the next numbers; they are safe on the disk when this returns.

        Raises:
            RecordError: if a record is unsound or of another game.
        """
        self._check_game({record.game for record in records}, "a record")
        write_records(self.folder / f"{self._num_games:09d}-{len(records)}.npz", records)
        self._num_games += len(records)

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
        numbered = []
        for path in self.folder.iterdir():
            name = _FILE_NAME.fullmatch(path.name)
            if (
                name
                and int(name[1]) >= begin
                and (end is None or int(name[1]) + int(name[2]) <= end)
            ):
                numbered.append((int(name[1]), path))
        return [path for _, path in sorted(numbered)]

    def _read_sound(self, path: Path) -> list[GameRecord]:
        """Reads the sound records of a file; a broken file is set aside and gives none."""
        try:
            records, faults = read_sound_records(path)
        except BrokenRecordFileError as error:
            aside = self._set_aside(path)
            _log.warning("%s; set aside as %s, its games are not learnt from", error, aside)
            return []
        self._check_game({record.game for record in records}, str(path))
        if faults:
            self.num_refused += len(faults)
            _log.warning("%s: refused %d games, first %s", path, len(faults), faults[0])
        return records

    def _set_aside(self, path: Path) -> Path:
        try:
            return set_aside(path)
        except OSError as error:
            raise RecordError(f"{path}: cannot be set aside: {reason(error)}") from error

    def _check_game(self, names: set[str], what: str) -> None:
        """Raises RecordError if games of another name are among those of this store."""
        foreign = names - {self.game_name}
        if foreign:
            raise RecordError(f"{what} is of {', '.join(sorted(foreign))}, not of {self.game_name}")
