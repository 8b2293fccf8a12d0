"""Who is ahead in a game of lines? Open windows, weighted by the stones in them, compiled.

A *window* is as many cells in a row as a line needs. One that holds stones of a single player can
still become a line of theirs, and is worth more the more stones it holds; a window with stones of
both is worth nothing. That cells near the middle are worth more follows: more windows hold them.

Windows do not tell what the next stone does. So it is looked at apart: whoever is to move and can
complete a line wins, and loses if the opponent threatens to complete lines on two cells.
"""

import numpy as np

from alphago.games.lines import is_threat
from alphago.kernels import kernel
from alphago.types import FloatArray, Int8Array, States

_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))  # of rows and columns, the directions of windows
_LINE_BALANCE = 10_000  # of a line that nobody can prevent, more than all windows
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
def count_threats(board: Int8Array, player: int, line_length: int, stones_fall: bool) -> int:
    """Returns on how many cells a player could complete a line with the next stone.

    Args:
        board: int8 [H, W].
        player: whose stone.
        line_length: stones of a line.
        stones_fall: whether a stone needs another one, or the bottom, below.

    Returns:
        The number of cells.
    """
    height, width = board.shape
    num_threats = 0
    for column in range(width):
        for row in range(height):
            num_threats += is_threat(board, player, row, column, line_length, stones_fall)
    return num_threats


@kernel
def position_balance(board: Int8Array, player: int, line_length: int, stones_fall: bool) -> int:
    """Returns what a position is worth to the player, who is to move."""
    if count_threats(board, player, line_length, stones_fall) > 0:
        return _LINE_BALANCE
    if count_threats(board, 1 - player, line_length, stones_fall) > 1:
        return -_LINE_BALANCE
    return window_balance(board, player, line_length)


@kernel
def fill_heuristic_values_all(
    states: States, line_length: int, stones_fall: bool, values: FloatArray
) -> None:
    """Writes the value of each state for its player to move. `values`, float32 [B], in place."""
    for b in range(len(states)):
        board, player = states[b]["board"], states[b]["to_play"]
        balance = position_balance(board, player, line_length, stones_fall)
        values[b] = balance / (abs(balance) + _EVEN_BALANCE)


def line_heuristic_values(states: States, line_length: int, *, stones_fall: bool) -> FloatArray:
    """Returns float32 [B], see `heuristic.HeuristicGame`, for states with a board of stones.

    Args:
        states: [B] states of a line game.
        line_length: stones of a line.
        stones_fall: whether a stone needs another one, or the bottom, below.
    """
    values = np.empty(len(states), np.float32)
    fill_heuristic_values_all(states, line_length, stones_fall, values)
    return values
