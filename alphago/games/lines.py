"""The tests for a line of stones, and for a threat to make one, compiled."""

from alphago.kernels import kernel
from alphago.types import EMPTY, BoolArray, Int8Array, States


@kernel
def count_stones(
    board: Int8Array, player: int, row: int, column: int, row_step: int, column_step: int
) -> int:
    """Counts a player's stones next to each other, from a cell on in one direction.

    Args:
        board: int8 [H, W].
        player: whose stones.
        row: row of a cell, which is not counted itself.
        column: its column.
        row_step: -1, 0 or 1, the direction.
        column_step: likewise.

    Returns:
        The number of the player's stones beyond the cell.
    """
    height, width = board.shape
    count = 0
    row += row_step
    column += column_step
    while 0 <= row < height and 0 <= column < width and board[row, column] == player:
        count += 1
        row += row_step
        column += column_step
    return count


@kernel
def completes_line(board: Int8Array, player: int, row: int, column: int, line_length: int) -> bool:
    """Tells whether a player's stone on a cell is, or would be, in a line of at least so many.

    Only lines through this cell are looked at: no other can be new when its stone was the last.
    """
    for row_step, column_step in ((0, 1), (1, 0), (1, 1), (1, -1)):
        ahead = count_stones(board, player, row, column, row_step, column_step)
        behind = count_stones(board, player, row, column, -row_step, -column_step)
        if behind + 1 + ahead >= line_length:
            return True
    return False


@kernel
def is_threat(
    board: Int8Array, player: int, row: int, column: int, line_length: int, stones_fall: bool
) -> bool:
    """Tells whether a player could complete a line with the next stone, on this cell.

    Args:
        board: int8 [H, W].
        player: whose stone.
        row: row of the cell.
        column: its column.
        line_length: stones of a line.
        stones_fall: whether a stone needs another one, or the bottom, below.
    """
    if board[row, column] != EMPTY:
        return False
    if stones_fall and row < board.shape[0] - 1 and board[row + 1, column] == EMPTY:
        return False
    return bool(completes_line(board, player, row, column, line_length))


@kernel
def fill_threats_all(
    states: States, is_own: bool, line_length: int, stones_fall: bool, threats: BoolArray
) -> None:
    """Maps `is_threat` over states [B] and cells.

    Args:
        states: [B] states of a line game.
        is_own: whether the stones are those of the player to move, or the opponent's.
        line_length: as in `is_threat`.
        stones_fall: likewise.
        threats: bool [B, H, W], filled in place.
    """
    for b in range(len(states)):
        board, to_play = states[b]["board"], states[b]["to_play"]
        player = to_play if is_own else 1 - to_play
        for row in range(board.shape[0]):
            for column in range(board.shape[1]):
                threats[b, row, column] = is_threat(
                    board, player, row, column, line_length, stones_fall
                )
