"""The ratings of a run on disk: results as they come, and the list that follows from them.

<folder>/  settings.json    what all results were played with
           results.jsonl    one line per finished part of a match
           ratings.json     the ratings by these results, written anew each time

A line is added when a part has finished, and on the disk at once: whoever is stopped loses what was
being played, and no more. Results of different settings are never mixed.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from alphago.files import reason, replace_file
from eval.elo import PairResult
from eval.ladder_files import LadderError

RESULTS_FILE = "results.jsonl"
SETTINGS_FILE = "settings.json"
RATINGS_FILE = "ratings.json"


@dataclass(frozen=True, kw_only=True)
class RatingSettings:
    """What all results of a ladder have in common.

    Attributes:
        game: the game that is played, as text.
        simulations: of a checkpoint, per move; None where no checkpoint is rated.
        games: of a match.
        opening_plies: random moves before a game starts.
        seed: of openings and players.
        anchors: Elo by player, weakest first; None where it is not fixed.
    """

    game: str
    simulations: int | None
    games: int
    opening_plies: int
    seed: int
    anchors: dict[str, float | None]


class CheckpointFacts(NamedTuple):
    """What a run had done when it wrote a checkpoint."""

    step: int  # optimiser steps
    games: int  # finished games
    minutes: float  # wall time of the run


class PartResult(NamedTuple):
    """The result of a part of a match, from the side of the first player."""

    first: str
    second: str
    part: int  # its number, from 0
    num_parts: int  # of the match
    wins: int
    draws: int
    losses: int
    checkpoint: CheckpointFacts | None  # of the first player; None of an anchor


class RatingStore:
    """The folder of a ladder. One process at a time may write to it.

    Attributes:
        folder: where it is.
        parts: all results, oldest first.
    """

    def __init__(self, folder: Path) -> None:
        """Reads what is there. A last line that was broken off is removed.

        Args:
            folder: of the ladder; it exists.

        Raises:
            LadderError: if a file cannot be read or holds something else.
        """
        self.folder = folder
        self.parts = _read_results(folder / RESULTS_FILE)

    def settings(self) -> RatingSettings | None:
        """Returns what the results were played with, None while there are none.

        Raises:
            LadderError: if the file cannot be read or holds something else.
        """
        path = self.folder / SETTINGS_FILE
        if not self.parts:
            return None
        data = _read_json(path)
        names = {field.name for field in fields(RatingSettings)}
        if not isinstance(data, dict) or set(data) != names:
            raise LadderError(f"{path}: not the settings of a ladder")
        return RatingSettings(**data)

    def begin(self, settings: RatingSettings) -> None:
        """Notes what the results will be played with, before the first one.

        Raises:
            LadderError: if they were played with something else, or the file cannot be written.
        """
        stored = self.settings()
        if stored is None:
            self._write(SETTINGS_FILE, asdict(settings))
        elif stored != settings:
            raise LadderError(f"{self.folder}: {_what_differs(stored, settings)}")

    def add(self, part: PartResult) -> None:
        """Adds a result; it is on the disk when this returns.

        Raises:
            LadderError: if the file cannot be written.
        """
        path = self.folder / RESULTS_FILE
        facts = part.checkpoint
        line = {
            "players": [part.first, part.second],
            **{key: getattr(part, key) for key in ("part", "num_parts", "wins", "draws", "losses")},
            "checkpoint": None if facts is None else facts._asdict(),
        }
        try:
            with path.open("ab") as file:
                file.write(f"{json.dumps(line)}\n".encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise LadderError(f"{path}: cannot be written: {reason(error)}") from error
        self.parts.append(part)

    def write_ratings(self, ratings: Mapping[str, Any]) -> None:
        """Writes `ratings.json`.

        Raises:
            LadderError: if it cannot be written; the old one is as it was then.
        """
        self._write(RATINGS_FILE, ratings)

    def _write(self, name: str, data: object) -> None:
        path = self.folder / name
        try:
            with replace_file(path) as file:
                file.write((json.dumps(data, indent=2, allow_nan=False) + "\n").encode())
        except OSError as error:
            raise LadderError(f"{path}: cannot be written: {reason(error)}") from error


def pair_results(parts: Iterable[PartResult]) -> list[PairResult]:
    """Returns results as `fit_ratings` takes them."""
    return [
        PairResult(part.first, part.second, part.wins, part.draws, part.losses) for part in parts
    ]


def missing_parts(
    parts: Iterable[PartResult],
) -> dict[tuple[str, str], set[int]]:
    """Returns for each match that was begun which parts have not been played."""
    missing: dict[tuple[str, str], set[int]] = {}
    for part in parts:
        pair = (part.first, part.second)
        missing.setdefault(pair, set(range(part.num_parts))).discard(part.part)
    return missing


def _what_differs(stored: RatingSettings, wanted: RatingSettings) -> str:
    """Says which setting is not the one that the results were played with."""
    for field in fields(RatingSettings):
        old, new = getattr(stored, field.name), getattr(wanted, field.name)
        if old == new:
            continue
        if field.name == "anchors":
            return "was played with another ladder; without ladder= its own is used"
        if field.name == "game":
            return f"was played in the game {old}, got {new}; remove the folder to begin anew"
        return (
            f"was played with {field.name}={old}, got {new}; leave {field.name} out, or remove the"
            " folder to begin anew"
        )
    raise AssertionError("the settings are equal")


def _read_results(path: Path) -> list[PartResult]:
    """Reads all lines; the last one is cut off where it has no end."""
    try:
        content = path.read_bytes() if path.exists() else b""
        whole, _, broken = content.rpartition(b"\n")
        if broken:
            os.truncate(path, len(content) - len(broken))
    except OSError as error:
        raise LadderError(f"{path}: cannot be read: {reason(error)}") from error
    lines = whole.splitlines()
    return [_read_line(line, where=f"{path}, line {k}") for k, line in enumerate(lines, start=1)]


def _read_line(line: bytes, *, where: str) -> PartResult:
    try:
        data = json.loads(line)
        first, second = data["players"]
        facts = data["checkpoint"]
        counts = {key: data[key] for key in ("part", "num_parts", "wins", "draws", "losses")}
        if not all(isinstance(count, int) and count >= 0 for count in counts.values()):
            raise ValueError(f"got {counts}, allowed: counts")
        if not (isinstance(first, str) and isinstance(second, str)):
            raise ValueError(f"got players {data['players']!r}")
        checkpoint = None if facts is None else CheckpointFacts(**facts)
    except (KeyError, TypeError, ValueError) as error:
        raise LadderError(f"{where}: no result of a match ({error})") from error
    return PartResult(first, second, **counts, checkpoint=checkpoint)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LadderError(f"{path}: cannot be read: {reason(error)}") from error
    except ValueError as error:  # no JSON or no text
        raise LadderError(f"{path}: no JSON ({error})") from error
