"""A match's results as a file: a line that says which match it is, then one for each finished part.

Every line is a JSON object. A part is on the disk before the next one is counted, so a match that
was stopped, however, goes on with the parts that are missing.
"""

import errno
import fcntl
import json
import logging
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from alphago.errors import ResultsError
from alphago.files import MIB, reason
from alphago.players.game_follower import Forfeit, ForfeitKind
from eval.endings import GameEnding
from eval.match_plan import MatchPart
from eval.matches import MatchResult, Thinking

VERSION = 1

_VERSION_KEY = "match_results"  # begins the first line, and tells these files from others
_SHOWN = 60  # characters of a value in a message
_MOST_BYTES = 1024 * MIB  # of a file

logger = logging.getLogger(__name__)


class ResultsFile:
    """An open file of results, of one process alone. A context manager: leaving it closes it.

    Attributes:
        is_new: whether no match has begun in it.
        parts: the finished parts by number.
    """

    is_new: bool
    parts: dict[int, MatchResult]

    def __init__(
        self, path: Path, header: Mapping[str, Any], *, planned: Sequence[MatchPart]
    ) -> None:
        """Opens the file of a match, or makes an empty one.

        A broken last line, as when the machine stopped, is dropped with a warning.

        Args:
            path: the file.
            header: what makes this match another one than others, ready for JSON.
            planned: the parts of the match.

        Raises:
            ResultsError: if the file cannot be read or written, is no file of results, is of
                another match or in use, or has a broken line before its last one or a part that is
                none of these.
        """
        self._path = path
        self._header = _line({_VERSION_KEY: VERSION, **header})
        try:
            if path.exists() and not path.is_file():
                raise ValueError("it is a folder or a device")
            # Unbuffered: what a full disk did not take would be tried again at the end.
            self._file = path.open("a+b", buffering=0)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path as well
            raise self._unusable(error) from error
        try:
            self._lock()
            self._file.seek(0)
            content = self._read_file()
            # A machine that stopped while the first line was written has begun nothing.
            self.is_new = content != self._header and self._header.startswith(content)
            self.parts = {} if self.is_new else self._read(content, planned)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the file."""
        self._file.close()

    def begin(self) -> None:
        """Writes which match it is, if the file is new.

        Raises:
            ResultsError: if it cannot be written.
        """
        if self.is_new:
            self._file.truncate(0)
            self._write(self._header)
            self.is_new = False

    def add(self, number: int, result: MatchResult) -> None:
        """Writes a finished part and waits until it is on the disk, after `begin`.

        Raises:
            ResultsError: if it cannot be written.
        """
        self.begin()
        self._write(_line({"part": number, **_plain(result)}))
        self.parts[number] = result

    def _write(self, line: bytes) -> None:
        try:
            if self._file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unusable(error) from error

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ResultsError(f"{self._path}: another match is writing it") from error

    def _read_file(self) -> bytes:
        content = self._file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise self._unusable(ValueError(f"it is larger than {_MOST_BYTES // MIB} MiB"))
        return content

    def _read(self, content: bytes, planned: Sequence[MatchPart]) -> dict[int, MatchResult]:
        """Returns the parts in the file, and cuts off a broken last line."""
        first, *lines = content.splitlines(keepends=True)
        self._check_header(first, json.loads(self._header))
        parts: dict[int, MatchResult] = {}
        end = len(first)
        for number, line in enumerate(lines, start=2):
            where = f"{self._path}, line {number}"
            try:
                part, result = _from_line(line)
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
                if number <= len(lines):
                    raise ResultsError(f"{where}: no part of a match ({error})") from error
                logger.warning("%s: is broken and dropped (%s)", where, error)
                break
            if part in parts or not 0 <= part < len(planned):
                raise ResultsError(f"{where}: part {part} is none of this match, or there twice")
            if not _is_of(result, planned[part]):
                raise ResultsError(f"{where}: part {part} has other games than it is planned to")
            parts[part] = result
            end += len(line)
        self._file.truncate(end)
        return parts

    def _check_header(self, line: bytes, wanted: Mapping[str, Any]) -> None:
        """Raises unless the first line is that of this match."""
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or _VERSION_KEY not in found:
            raise ResultsError(f"{self._path}: holds something else than results of a match")
        for key in wanted:
            if found.get(key) != wanted[key]:
                raise ResultsError(
                    f"{self._path}: is of another match, {key}: got {_shown(wanted[key])},"
                    f" the file has {_shown(found.get(key))}; choose another file"
                )

    def _unusable(self, error: OSError | ValueError) -> ResultsError:
        why = reason(error) if isinstance(error, OSError) else str(error)
        return ResultsError(f"{self._path}: no file for results ({why})")


def _line(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content) + "\n").encode()


def _is_of(result: MatchResult, part: MatchPart) -> bool:
    """Whether the games of a result are as many as those of a part, from the same openings."""
    openings = [opening for opening in part.openings for _ in range(2)][: part.num_games]
    return len(result.games) == part.num_games and all(
        actions[: len(opening)] == opening
        for actions, opening in zip(result.games, openings, strict=True)
    )


def _shown(value: object) -> str:
    """Returns a value for a message, cut where it is long."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _plain(result: MatchResult) -> dict[str, Any]:
    """Returns a result ready for JSON."""
    return {
        "first": result.first,
        "second": result.second,
        "games": result.games,
        "first_seats": result.first_seats,
        "outcomes": result.outcomes,
        "endings": [ending._asdict() for ending in result.endings],
        "thinking": result.thinking,
    }


def _from_line(line: bytes) -> tuple[int, MatchResult]:
    """Reads a part: its number and its result.

    Raises:
        ValueError, KeyError, TypeError, OverflowError: if the line is something else.
    """
    if not line.endswith(b"\n"):
        raise ValueError("incomplete")
    content = json.loads(line)
    first, second = content["thinking"]
    result = MatchResult(
        first=content["first"],
        second=content["second"],
        games=[[int(action) for action in actions] for actions in content["games"]],
        first_seats=content["first_seats"],
        outcomes=content["outcomes"],
        endings=[_ending(ending) for ending in content["endings"]],
        thinking=(Thinking(*first), Thinking(*second)),
    )
    _check_games(result)
    return int(content["part"]), result


def _check_games(result: MatchResult) -> None:
    """Raises ValueError unless every game has a seat, an outcome and an ending."""
    num_games = len(result.games)
    lengths = {len(each) for each in (result.first_seats, result.outcomes, result.endings)}
    if lengths != {num_games} or not all(isinstance(n, str) for n in (result.first, result.second)):
        raise ValueError("names, or as many seats, outcomes and endings as games, are missing")
    if not (set(result.first_seats) <= {0, 1} and set(result.outcomes) <= {-1, 0, 1}):
        raise ValueError("a seat or an outcome is none")
    for player in result.thinking:
        if not (0 <= player.seconds < math.inf and 0 <= player.num_moves < 2**63):
            raise ValueError(f"got {player}")


def _ending(content: dict[str, Any]) -> GameEnding:
    """Reads how a game ended."""
    forfeit, claims = content["forfeit"], tuple(content["claims"])
    if forfeit is not None:
        kind, why = forfeit
        forfeit = Forfeit(ForfeitKind(kind), why)
    return GameEnding(**content | {"forfeit": forfeit, "claims": claims})
