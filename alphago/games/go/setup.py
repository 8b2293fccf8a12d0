"""Beginnings of games: positions set up by hand, and the symmetries of a board."""

from collections.abc import Iterable

import numpy as np

from alphago.errors import RulesError
from alphago.games.game import Symmetry
from alphago.games.go.layout import EMPTY
from alphago.games.go.naming import go_name
from alphago.games.go.vertices import action_to_vertex
from alphago.games.symmetry import board_symmetries, is_same
from alphago.types import Int8Array, States


def setup_board(
    black: Iterable[int], white: Iterable[int], *, height: int, width: int
) -> Int8Array:
    """Puts stones on an empty board.

    Args:
        black: black stones, as actions.
        white: white stones, as actions.
        height: rows of the board.
        width: columns of the board.

    Returns:
        int8 [K].

    Raises:
        RulesError: if a stone is off the board, or two are on one point.
    """
    name, num_cells = go_name(height, width), height * width
    board = np.full(num_cells, EMPTY, np.int8)
    for player, stones in enumerate((black, white)):
        for action in stones:
            if not 0 <= action < num_cells:
                raise RulesError(f"{name}: got a stone at {action}, allowed: 0 to {num_cells - 1}")
            if board[action] != EMPTY:
                vertex = action_to_vertex(action, height=height, width=width)
                raise RulesError(f"{name}: got two stones at {vertex}, allowed: one")
            board[action] = player
    return board


def check_liberties(states: States, *, height: int, width: int) -> None:
    """Raises unless every chain of a position has a liberty.

    Args:
        states: [1] the position, all its fields in place.
        height: rows of the board.
        width: columns of the board.

    Raises:
        RulesError: if one has none; it names a point of it.
    """
    stones = np.flatnonzero(states["setup"][0] != EMPTY)
    airless = stones[states["liberties"][0][states["heads"][0][stones]] == 0]
    if len(airless) > 0:
        vertex = action_to_vertex(int(airless[0]), height=height, width=width)
        raise RulesError(
            f"{go_name(height, width)}: got a chain without liberty at {vertex},"
            " allowed: chains with liberties"
        )


def go_symmetries(height: int, width: int) -> tuple[Symmetry, ...]:
    """Returns the symmetries of a board, each once: on one row, a mirror may do nothing."""
    found: list[Symmetry] = []
    for symmetry in board_symmetries(height, width, num_extra_actions=1):
        if not any(is_same(symmetry, earlier) for earlier in found):
            found.append(symmetry)
    return tuple(found)
