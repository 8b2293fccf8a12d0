"""Who is ahead in a game of lines? Open windows, weighted by the stones in them, compiled.

A *window* is as many cells in a row as a line needs. One that holds stones of a single player can
still become a line of theirs, and is worth more the more stones it holds; a window with stones of
both is worth nothing. That cells near the middle are worth more follows: more windows hold them.
"""

import numpy as np

from alphago.kernels import kernel
from alphago.types import FloatArray, Int8Array, States

_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))  # of rows and columns, the directions of windows
_EVEN_BALANCE = 16  # at this balance the value is a half; only its order matters


@kernel
def stones_weight(num_stones: int) -> int:
    """Returns what a window with stones of one player only is worth: 0, 1, 4, 16, ..."""
    # A further stone counts as much as four windows do without it: it leaves half the work.
    return (1 << (2 * num_stones)) >> 2


@kernel
def window_weight(
    board: Int8Array,
    player: int,
    line_length: int,
    row: int,
    column: int,
    row_step: int,
    column_step: int,
) -> int:
    """Returns what the window from a cell on in one direction is worth to a player."""
    num_own = 0
    num_opposing = 0
    for i in range(line_length):
        stone = board[row + i * row_step, column + i * column_step]
        num_own += stone == player
        num_opposing += stone == 1 - player
    if num_opposing == 0:
        return stones_weight(num_own)
    if num_own == 0:
        return -stones_weight(num_opposing)
    return 0


@kernel
def window_balance(board: Int8Array, player: int, line_length: int) -> int:
    """Returns the sum of `window_weight` over all windows of a board, int8 [H, W]."""
    height, width = board.shape
    reach = line_length - 1
    balance = 0
    for row_step, column_step in _STEPS:
        first_column = reach if column_step < 0 else 0
        last_column = width - (reach if column_step > 0 else 0)
        for row in range(height - reach * row_step):
            for column in range(first_column, last_column):
                balance += window_weight(
                    board, player, line_length, row, column, row_step, column_step
                )
    return balance


@kernel
def fill_heuristic_values_all(states: States, line_length: int, values: FloatArray) -> None:
    """Writes the value of each state for its player to move. `values`, float32 [B], in place."""
    for b in range(len(states)):
        balance = window_balance(states[b]["board"], states[b]["to_play"], line_length)
        values[b] = balance / (abs(balance) + _EVEN_BALANCE)


def line_heuristic_values(states: States, line_length: int) -> FloatArray:
    """Returns float32 [B], see `heuristic.HeuristicGame`, for states with a board of stones."""
    values = np.empty(len(states), np.float32)
    fill_heuristic_values_all(states, line_length, values)
    return values
