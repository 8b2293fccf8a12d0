"""Finished games once they are replayed: what the targets of their positions are made from."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.types import FloatArray, Int8Array, States, signs_for
from selfplay.records import GameRecord


class ReplayedGames(NamedTuple):
    """G games of up to T moves, and the R positions of them that become rows."""

    game: Game  # the rules
    records: Sequence[GameRecord]  # [G]
    to_play: Int8Array  # [G, T], who moved; 0 behind a game's end
    ends: States  # [G], the final positions
    game_of_row: npt.NDArray[np.int64]  # [R]
    ply_of_row: npt.NDArray[np.int64]  # [R]

    def at_rows(self, lines: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Returns the entries [R] of an array [G, T] that belong to the rows."""
        return lines[self.game_of_row, self.ply_of_row]


def in_lines(records: Sequence[GameRecord], name: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Returns a field [T] of all records as [G, longest T], filled up with zeros."""
    longest = max((len(record.actions) for record in records), default=0)
    lines = np.zeros((len(records), longest), dtype)
    for line, record in zip(lines, records, strict=True):
        line[: len(record.actions)] = getattr(record, name)
    return lines


def searched_values(replayed: ReplayedGames, *, horizon: float) -> FloatArray:
    """Averages what the search said of each row's position and of those after it.

    The mean is exponential: with f = 1 / horizon the position itself counts f, the one k moves
    later f (1 - f)^k, and the result of the game what is left (KataGoMethods, "Short-term value
    and score targets").

    Args:
        replayed: the games.
        horizon: mean number of moves ahead, counted from 1; 1 for the position's own value alone.

    Returns:
        float32 [R], in [-1, 1], view of the player to move.
    """
    records = replayed.records
    share = np.float32(1 / horizon)
    signs = signs_for(replayed.to_play)
    own = signs * in_lines(records, "root_values", np.float32)
    lengths = np.array([len(record.actions) for record in records])
    mean = np.array([record.returns[0] for record in records], np.float32)  # [G]
    values = np.zeros(own.shape, np.float32)
    for ply in reversed(range(own.shape[1])):
        mean = np.where(lengths > ply, share * own[:, ply] + (1 - share) * mean, mean)
        values[:, ply] = mean
    return replayed.at_rows(values * signs)
