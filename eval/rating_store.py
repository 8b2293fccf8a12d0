"""The ratings of a run on disk: results as they come, and the list that follows from them.

<folder>/  settings.json    what all results were played with
           results.jsonl    one line per finished part of a match
           ratings.json     the ratings by these results, written anew each time

A line is added when a part has finished, and on the disk at once: whoever is stopped loses what was
being played, and no more. Results of different settings are never mixed.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from alphago.files import MIB, read_file, read_text_file, reason, refuse_links, replace_file
from alphago.players.game_follower import ForfeitKind
from eval.elo import PairResult
from eval.endings import count_forfeits
from eval.ladder_files import LadderError, fixed_ratings, read_ladder
from eval.match_plan import plan_match
from eval.matches import MatchResult

RESULTS_FILE = "results.jsonl"
SETTINGS_FILE = "settings.json"
RATINGS_FILE = "ratings.json"
_MOST_BYTES = 256 * MIB  # of a file

# How often a player forfeited, by kind.
Forfeits: TypeAlias = Mapping[ForfeitKind, int]


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
    """The result of a part of a match, from the side of the first player.

    A game that a program forfeited other than by resignation says nothing of strength, least of all
    on a machine that is busy: it is none of the wins, draws and losses.
    """

    first: str
    second: str
    part: int  # its number, from 0
    num_parts: int  # of the match
    wins: int
    draws: int
    losses: int
    checkpoint: CheckpointFacts | None  # of the first player; None of an anchor
    forfeits: tuple[Forfeits, Forfeits] = ({}, {})  # of the first and of the second player

    @property
    def num_games(self) -> int:
        """How many games were played."""
        return self.wins + self.draws + self.losses + sum(map(num_unrated, self.forfeits))


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
        read_ladder(data, where=str(path))
        counts = [data["games"], data["seed"]]
        counts += [] if data["simulations"] is None else [data["simulations"]]
        if not all(map(_is_count, counts)) or data["games"] < 2:
            raise LadderError(f"{path}: games, seed or simulations is no number, or too small")
        return RatingSettings(**data)

    def begin(self, settings: RatingSettings) -> None:
        """Notes what the results will be played with.

        Anchors without results may be others than before.

        Raises:
            LadderError: if results were played with something else, or the file cannot be written.
        """
        stored = self.settings()
        if stored is None:
            self._write(SETTINGS_FILE, asdict(settings))
            return
        playing = {player for part in self.parts for player in part[:2]}
        if what := _what_differs(stored, settings, playing=playing):
            raise LadderError(f"{self.folder}: {what}")
        self._check_division(settings)
        self._write(SETTINGS_FILE, asdict(settings))

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
            "forfeits": part.forfeits,
            "checkpoint": None if facts is None else facts._asdict(),
        }
        try:
            with open(path, "ab", opener=refuse_links) as file:
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

    def _check_division(self, settings: RatingSettings) -> None:
        """Checks that the matches were divided into parts as they would be now."""
        sizes = [part.num_games for part in plan_match([[]] * (settings.games // 2), seed=0)]
        for part in self.parts:
            if part.num_parts != len(sizes) or part.num_games != sizes[part.part]:
                raise LadderError(
                    f"{self.folder / RESULTS_FILE}: part {part.part} of {part.num_parts} of"
                    f" {part.first} against {part.second} has {part.num_games} games, expected"
                    f" parts of {sizes}; remove the folder to begin anew"
                )

    def _write(self, name: str, data: object) -> None:
        path = self.folder / name
        try:
            with replace_file(path) as file:
                file.write((json.dumps(data, indent=2, allow_nan=False) + "\n").encode())
        except OSError as error:
            raise LadderError(f"{path}: cannot be written: {reason(error)}") from error


def part_result(
    first: str,
    second: str,
    result: MatchResult,
    *,
    part: int,
    num_parts: int,
    checkpoint: CheckpointFacts | None,
) -> PartResult:
    """Counts what happened in a part.

    Args:
        first: name of the first player in the ladder.
        second: name of the second.
        result: the games.
        part: the part's number.
        num_parts: of the match.
        checkpoint: what is known of the first player, if it is one.
    """
    rated = [
        outcome
        for outcome, ending in zip(result.outcomes, result.endings, strict=True)
        if ending.forfeit is None or ending.forfeit.kind == ForfeitKind.RESIGNATION
    ]
    wins, draws, losses = (rated.count(outcome) for outcome in (1, 0, -1))
    by_first, by_second = (count_forfeits(result.endings, player=player) for player in (0, 1))
    forfeits = by_first, by_second
    return PartResult(first, second, part, num_parts, wins, draws, losses, checkpoint, forfeits)


def num_unrated(forfeits: Forfeits) -> int:
    """Returns how many forfeited games do not count: all but those that were resigned."""
    return sum(num for kind, num in forfeits.items() if kind != ForfeitKind.RESIGNATION)


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


def _what_differs(
    stored: RatingSettings, wanted: RatingSettings, *, playing: set[str]
) -> str | None:
    """Says which setting is not the one that the results of some players were played with."""
    for field in fields(RatingSettings):
        old, new = getattr(stored, field.name), getattr(wanted, field.name)
        if field.name == "anchors":
            old, new = _binding(old, playing), _binding(new, playing)
        if old == new:
            continue
        if field.name in ("anchors", "opening_plies"):
            return (
                "was played with another ladder; without ladder= its own is used, and in another"
                " one the anchors that have results must be the same"
            )
        if field.name == "game":
            return f"was played in the game {old}, got {new}; remove the folder to begin anew"
        return (
            f"was played with {field.name}={old}, got {new}; leave {field.name} out, or remove the"
            " folder to begin anew"
        )
    return None


def _binding(
    anchors: Mapping[str, float | None], playing: set[str]
) -> list[tuple[str, float | None]]:
    """Returns what may not change: order and fixed rating of the anchors that have played."""
    fixed = fixed_ratings(anchors)
    return [(player, fixed.get(player)) for player in anchors if player in playing]


def _read_results(path: Path) -> list[PartResult]:
    """Reads all lines; the last one is cut off where it has no end."""
    try:
        content = read_file(path, at_most=_MOST_BYTES) if path.exists() else b""
    except OSError as error:
        raise LadderError(f"{path}: cannot be read: {reason(error)}") from error
    whole, _, broken = content.rpartition(b"\n")
    parts: dict[tuple[str, str, int], PartResult] = {}
    for number, line in enumerate(whole.splitlines(), start=1):
        part = _read_line(line, where=f"{path}, line {number}")
        if part[:3] in parts:
            raise LadderError(f"{path}, line {number}: this part is there twice")
        parts[part[:3]] = part
    if broken:
        try:
            with open(path, "r+b", opener=refuse_links) as file:
                file.truncate(len(content) - len(broken))
        except OSError as error:
            raise LadderError(f"{path}: cannot be written: {reason(error)}") from error
    return list(parts.values())


def _read_line(line: bytes, *, where: str) -> PartResult:
    """Reads a result.

    Raises:
        LadderError: if it is none.
    """
    try:
        return _from_data(json.loads(line))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise LadderError(f"{where}: no result of a match ({error})") from error


def _from_data(data: Any) -> PartResult:
    """Makes a result of what a line holds; raises all kinds of errors where it holds none."""
    first, second = data["players"]
    if not (isinstance(first, str) and isinstance(second, str)):
        raise ValueError(f"got players {data['players']!r}")
    counts = {key: data[key] for key in ("part", "num_parts", "wins", "draws", "losses")}
    by_first, by_second = (
        {ForfeitKind(kind): num for kind, num in each.items()}
        for each in data.get("forfeits", ({}, {}))
    )
    numbers = [*counts.values(), *by_first.values(), *by_second.values()]
    if not all(map(_is_count, numbers)):
        raise ValueError(f"got {numbers}, allowed: counts")
    if counts["part"] >= counts["num_parts"] or not any(list(counts.values())[2:]):
        raise ValueError(f"got {counts}, allowed: a part of the match and at least one game")
    checkpoint = None if data["checkpoint"] is None else CheckpointFacts(**data["checkpoint"])
    if checkpoint is not None:
        is_sound = all(map(_is_count, checkpoint[:2])) and 0 <= checkpoint.minutes < math.inf
        if not is_sound:
            raise ValueError(f"got {checkpoint}")
    return PartResult(
        first, second, **counts, checkpoint=checkpoint, forfeits=(by_first, by_second)
    )


def _is_count(number: object) -> bool:
    """Tells whether a value from JSON is an integer of at least 0, and fits into 64 bits."""
    return type(number) is int and 0 <= number < 2**63


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_text_file(path, at_most=_MOST_BYTES))
    except OSError as error:
        raise LadderError(f"{path}: cannot be read: {reason(error)}") from error
    except (ValueError, RecursionError) as error:  # no JSON or no text
        raise LadderError(f"{path}: no JSON ({error})") from error
