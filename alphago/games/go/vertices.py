"""Points of a board as people write them (GTP vertices), and where handicap stones go.

"A1" is the lower left corner; columns are letters without I, rows count from below. An action is
`row * width + column` with row 0 on top, and `height * width` is the pass. Source: GTP 2 draft 2,
sections 2.11 and 4.1.1, https://www.lysator.liu.se/~gunnar/gtp/gtp2-spec-draft2.pdf.
"""

import re

from alphago.errors import NotationError, RulesError

COLUMN_LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
MAX_SIZE = len(COLUMN_LETTERS)
PASS_TEXT = "pass"

_MIN_SIZE_FOR_HANDICAP = 7


def vertex_to_action(text: str, *, height: int, width: int) -> int:
    """Reads a vertex, upper or lower case, spaces around it ignored.

    Args:
        text: such as "D4" or "pass".
        height: rows of the board.
        width: columns of the board.

    Returns:
        The action.

    Raises:
        NotationError: if the text names no point of the board.
    """
    vertex = text.strip().upper() if text.isascii() else ""  # "ſ" becomes an S
    if vertex == PASS_TEXT.upper():
        return height * width
    match = re.fullmatch(r"([A-HJ-Z])([1-9][0-9]?)", vertex)
    if match:
        column, number = COLUMN_LETTERS.index(match[1]), int(match[2])
        if column < width and number <= height:
            return (height - number) * width + column
    last = f"{COLUMN_LETTERS[width - 1]}{height}"
    raise NotationError(
        f"go_{width}x{height}: got {text!r}, allowed: {PASS_TEXT} and A1 to {last}, without I"
    )


def action_to_vertex(action: int, *, height: int, width: int) -> str:
    """Writes an action in 0 .. height * width as a vertex."""
    if action == height * width:
        return PASS_TEXT
    row, column = divmod(action, width)
    return f"{COLUMN_LETTERS[column]}{height - row}"


def handicap_actions(num_stones: int, *, height: int, width: int) -> list[int]:
    """Returns the points of fixed handicap stones, in the order in which they are added.

    Stones stand on the third line, on the fourth from 13 rows or columns on. Where a side is even
    or shorter than nine there are only the four corners.

    Args:
        num_stones: how many.
        height: rows of the board.
        width: columns of the board.

    Returns:
        The points as actions.

    Raises:
        RulesError: if there is no such handicap on this board.
    """
    most = _max_handicap(height, width)
    if not 2 <= num_stones <= most:
        allowed = f"0, or 2 to {most}" if most else "0 on this board"
        raise RulesError(f"handicap: got {num_stones} on go_{width}x{height}, allowed: {allowed}")
    top, left = _edge_distance(height), _edge_distance(width)
    middle_row, bottom = height // 2, height - 1 - top
    middle_column, right = width // 2, width - 1 - left
    corners = [(bottom, left), (top, right), (top, left), (bottom, right)]
    sides = [(middle_row, left), (middle_row, right), (top, middle_column), (bottom, middle_column)]
    num_pairs = num_stones if num_stones < 5 else num_stones - num_stones % 2
    points = (corners + sides)[:num_pairs]
    if num_stones >= 5 and num_stones % 2 == 1:
        points.append((middle_row, middle_column))
    return [row * width + column for row, column in points]


def star_points(*, height: int, width: int) -> list[int]:
    """Returns the points that boards mark, as actions: those of the largest fixed handicap."""
    most = _max_handicap(height, width)
    return handicap_actions(most, height=height, width=width) if most else []


def _max_handicap(height: int, width: int) -> int:
    if min(height, width) < _MIN_SIZE_FOR_HANDICAP:
        return 0
    has_middle = height % 2 == 1 and width % 2 == 1 and min(height, width) >= 9
    return 9 if has_middle else 4


def _edge_distance(size: int) -> int:
    return 3 if size >= 13 else 2
