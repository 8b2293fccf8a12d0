"""A Go position as text for a terminal."""

import numpy as np

from alphago.games.go.rules import format_points
from alphago.games.go.vertices import COLUMN_LETTERS, star_points
from alphago.types import Int8Array, IntArray

STONES = "XO"  # by player id
COLOURS = ("Black", "White")


def draw_board(board: Int8Array, last_action: int) -> list[str]:
    """Draws a board: X Black, O White, the last stone in brackets, + star points.

    Args:
        board: int8 [H, W].
        last_action: where the last stone stands; -1, or the pass, for none.

    Returns:
        The lines, with coordinates around.
    """
    height, width = board.shape
    stars = star_points(height=height, width=width)
    letters = "   " + " ".join(COLUMN_LETTERS[:width])
    lines = [letters]
    for row in range(height):
        line = ""
        for column in range(width):
            action = row * width + column
            empty = "+" if action in stars else "."
            mark = STONES[board[row, column]] if board[row, column] >= 0 else empty
            before = "(" if action == last_action else ")" if line.endswith("!") else " "
            line = line.removesuffix("!") + before + mark + "!" * (action == last_action)
        line = line.removesuffix("!") + (")" if line.endswith("!") else " ")
        lines.append(f"{height - row:>2}{line}{height - row}")
    return [*lines, letters]


def draw_game(
    board: Int8Array,
    *,
    last_action: int,
    to_play: int,
    captures: IntArray,
    komi: float,
    end: str,
) -> str:
    """Draws a board and says whose turn it is.

    Args:
        board: int8 [H, W].
        last_action: as in `draw_board`.
        to_play: the player to move.
        captures: [2], stones that each player has captured.
        komi: points that White gets in all.
        end: how the game ended, "" if it goes on.

    Returns:
        The drawing, without a final newline.
    """
    turn = end or f"{COLOURS[to_play]} ({STONES[to_play]}) to play"
    taken = np.asarray(captures).tolist()
    facts = f"{turn}; captured by Black {taken[0]}, by White {taken[1]}; komi {format_points(komi)}"
    return "\n".join([*draw_board(board, last_action), facts])


def format_result(score: float) -> str:
    """Writes a score in Black's view as people do: "B+2.5", "W+10", "0" for a draw."""
    if score == 0:
        return "0"
    return f"{'B' if score > 0 else 'W'}+{format_points(abs(score))}"
