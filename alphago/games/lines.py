"""The test for a line of stones, compiled."""

from alphago.kernels import kernel
from alphago.types import Int8Array


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
