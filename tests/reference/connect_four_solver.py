"""Solves Connect Four positions with few empty cells: negamax over all of them, with a memory.

The board is two whole numbers, a bit for each cell: seven bits a column, the lowest cell first, and
the seventh always free, so that no line leads from one column's top to the next one's bottom.
"""

import numpy as np

from alphago.types import EMPTY

COLUMN_BITS = 7
NUM_ROWS, NUM_COLUMNS = 6, 7


def solve(board: np.ndarray, to_play: int) -> int:
    """Solves an unfinished position.

    Args:
        board: [6, 7], player ids or EMPTY, row 0 on top.
        to_play: the player to move.

    Returns:
        0 for a draw; n where the player to move wins with the n-th move from here on; -n where they
        lose with it.
    """
    own = stones = 0
    for row in range(NUM_ROWS):
        for column in range(NUM_COLUMNS):
            bit = 1 << (column * COLUMN_BITS + NUM_ROWS - 1 - row)
            own |= bit * int(board[row, column] == to_play)
            stones |= bit * int(board[row, column] != EMPTY)
    return _solve(own, stones, {})


def has_line(stones: int) -> bool:
    """Tells whether four of a player's stones are in a line."""
    for step in (1, COLUMN_BITS - 1, COLUMN_BITS, COLUMN_BITS + 1):
        pairs = stones & (stones >> step)
        if pairs & (pairs >> (2 * step)):
            return True
    return False


def _solve(own: int, stones: int, known: dict[tuple[int, int], int]) -> int:
    key = (own, stones)
    if key in known:
        return known[key]
    results = []
    for column in range(NUM_COLUMNS):
        bottom = 1 << (column * COLUMN_BITS)
        cell = (stones + bottom) & ~stones & (bottom * (2**NUM_ROWS - 1))
        if not cell:
            continue
        if has_line(own | cell):
            results.append(1)
        else:
            later = _solve(stones & ~own, stones | cell, known)
            results.append(_as_ours(later))
    known[key] = _best(results)
    return known[key]


def _as_ours(theirs: int) -> int:
    """Returns the opponent's result after our move as ours before it."""
    if theirs == 0:
        return 0
    return -(theirs + 1) if theirs > 0 else -theirs + 1


def _best(results: list[int]) -> int:
    """Returns the fastest win, else a draw, else the slowest loss; a full board is a draw."""
    wins = [result for result in results if result > 0]
    if wins:
        return min(wins)
    if 0 in results or not results:
        return 0
    return min(results)
