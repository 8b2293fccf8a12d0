"""Opening candidates on large boards: a few key points, as long as no two stones touch.

On an empty board of 19x19 random playouts tell hardly one of 361 moves from another, and a search
without knowledge spreads its playouts over all of them. So the classical players choose there
among the points of the corners (3-3, 3-4, 4-3 and 4-4), the star points of the sides and the
centre. This is no rule: it is only which moves they look at, and only for the move to be made. It
ends when stones touch, for then there is something to read.
"""

import functools
from typing import TYPE_CHECKING

import numpy as np

from alphago.games.go.layout import EMPTY
from alphago.games.go.vertices import star_points
from alphago.types import BoolArray, States

if TYPE_CHECKING:
    from alphago.games.go.game import Go

SHORTEST_SIDE = 13  # of a large board
FEWEST_POINTS = 4  # with fewer key points left the choice would be none
_CORNER_LINES = (2, 3)  # distances from the edge, 0 on it: the third line and the fourth


def opening_actions(game: "Go", states: States, actions: BoolArray) -> BoolArray:
    """Leaves the key points alone among actions, where a position still is an opening.

    That is on a board whose shorter side has at least 13 points, without stones side by side, of
    either colour, and with at least four key points that are among the actions and beside no stone.
    No chain is in atari then: a stone that touches no other has two free neighbours or more.

    Args:
        game: the rules; only the size of the board matters.
        states: [B] positions.
        actions: bool [B, A], the actions to choose from.

    Returns:
        bool [B, A].
    """
    if min(game.height, game.width) < SHORTEST_SIDE:
        return actions
    stones = game.board(states) != EMPTY
    candidates = actions & key_points(game.height, game.width)
    candidates[:, :-1] &= ~_beside(stones).reshape(len(states), game.height * game.width)
    is_opening = ~_any_touching(stones) & (candidates.sum(axis=1) >= FEWEST_POINTS)
    return np.where(is_opening[:, np.newaxis], candidates, actions)


@functools.cache
def key_points(height: int, width: int) -> BoolArray:
    """Returns bool [A], True at the key points of a large board; its sides may differ."""
    board = np.zeros((height, width), np.bool_)
    for row in _CORNER_LINES:
        for column in _CORNER_LINES:
            board[[row, row, -1 - row, -1 - row], [column, -1 - column] * 2] = True
    points = np.append(board.reshape(-1), False)
    points[star_points(height=height, width=width)] = True
    points.setflags(write=False)  # one array for all
    return points


def _any_touching(stones: BoolArray) -> BoolArray:
    """Returns bool [B], whether any two stones of boards [B, H, W] are side by side."""
    in_columns = (stones[:, 1:] & stones[:, :-1]).any(axis=(1, 2))
    in_rows = (stones[:, :, 1:] & stones[:, :, :-1]).any(axis=(1, 2))
    touching: BoolArray = np.logical_or(in_columns, in_rows)
    return touching


def _beside(stones: BoolArray) -> BoolArray:
    """Returns bool [B, H, W], the points with a stone on one of their four neighbours."""
    beside = np.zeros_like(stones)
    beside[:, 1:] |= stones[:, :-1]
    beside[:, :-1] |= stones[:, 1:]
    beside[:, :, 1:] |= stones[:, :, :-1]
    beside[:, :, :-1] |= stones[:, :, 1:]
    return beside
