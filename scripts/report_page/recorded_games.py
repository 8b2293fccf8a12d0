"""The finished games of a run, read without touching its folder: the run may be going on."""

import functools
import itertools
import logging
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from alphago.errors import IllegalActionError, RecordError
from alphago.games.game import Game
from alphago.games.notation import replay
from selfplay.record_store import RecordFile
from selfplay.records import GameRecord, read_records

_log = logging.getLogger(__name__)
_NUM_CANDIDATES = 16  # games next to each other, of which one is shown


class NumberedRecord(NamedTuple):
    """A game and its number in the run, from 0."""

    number: int
    record: GameRecord


def newest_records(game: Game, files: Sequence[RecordFile], num_games: int) -> list[GameRecord]:
    """Returns the newest games, whole files until there are enough of them.

    Args:
        game: the rules of the run.
        files: those of the run.
        num_games: at least so many, where there are.
    """
    chosen: list[GameRecord] = []
    for file in reversed(files):
        if len(chosen) >= num_games:
            break
        records = [numbered.record for numbered in _read(file)]
        chosen = [record for record in records if _replays(game, record)] + chosen
    return chosen


def spread_records(game: Game, files: Sequence[RecordFile], num_games: int) -> list[NumberedRecord]:
    """Returns games from the first to the newest, evenly spread over the run.

    Of the games around each place, one with the fewest random opening moves is taken: in those
    nobody thought.

    Args:
        game: the rules of the run.
        files: those of the run.
        num_games: how many, at most.
    """
    end = files[-1].first + files[-1].num_games if files else 0
    read = functools.cache(_read)  # neighbouring windows may lie in the same file
    chosen: list[NumberedRecord] = []
    for window in _windows(end, num_games):
        near = [f for f in files if f.first < window.stop and window.start < f.first + f.num_games]
        inside = [each for file in near for each in read(file) if each.number in window]
        best_first = sorted(reversed(inside), key=lambda each: num_random_moves(each.record))
        replaying = (each for each in best_first if _replays(game, each.record))
        chosen += itertools.islice(replaying, 1)
    return chosen


def num_random_moves(record: GameRecord) -> int:
    """Returns how many moves of the opening were random: nothing was searched for them."""
    searched = record.is_target | (record.root_values != 0.0)
    return int(np.argmax(searched)) if searched.any() else len(record.actions)


def _windows(end: int, num_games: int) -> list[range]:
    """Returns up to `num_games` stretches of game numbers below `end`; the last ends there."""
    num_windows = min(num_games, end)
    if num_windows == 0:
        return []
    # The first window begins the run, the last one ends it; all have the same length.
    length = min(_NUM_CANDIDATES, end // num_windows)
    starts = np.linspace(0 if num_windows > 1 else end - length, end - length, num_windows)
    return [range(int(start), int(start) + length) for start in starts]


def _read(file: RecordFile) -> list[NumberedRecord]:
    """Reads a file; a broken one is left out with a warning, as where the run reads it."""
    try:
        records = read_records(file.path)
    except RecordError as error:
        _log.warning("%s; its games are left out", error)
        return []
    return [NumberedRecord(file.first + at, record) for at, record in enumerate(records)]


def _replays(game: Game, record: GameRecord) -> bool:
    """Tells whether a game can be played again by the rules of the run."""
    if record.game != game.spec.name:
        _log.warning("%s is left out: the run is of %s", record, game.spec.name)
        return False
    try:
        replay(game, record.actions.tolist())
    except IllegalActionError as error:
        _log.warning("%s is left out: %s", record, error)
        return False
    return True
