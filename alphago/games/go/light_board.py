"""A bare Go board for random playouts: chains and counts of liberties, no history, no hash.

It plays more than twice as many random games a second as `board.py` and `moves.py`, the rules,
would; tests hold the two against each other. Only the simple ko is known, and suicide is never
legal.

Points are numbered on a board with a border, so that no neighbour is ever off the array: rows of
`stride = width + 1` points, the first of which is the border on the left and, seen from the row
before, on the right; a row of border above and below. `stride` is the way to the next row.

Each chain counts its *pseudo-liberties*: every pair of a stone and an empty point beside it counts,
so that placing and removing stones only adds and subtracts. It is zero exactly when the chain has
no liberty.
"""

import numpy as np

from alphago.games.go.layout import EMPTY, OFF_BOARD
from alphago.games.go.vertices import MAX_SIZE
from alphago.kernels import kernel
from alphago.types import Int8Array

BORDER = OFF_BOARD  # the colour of the border; others are player ids and EMPTY
NO_POINT = 0  # a corner of the border, never a point that can be played

MAX_POINTS = (MAX_SIZE + 2) * (MAX_SIZE + 1) + 1

# One row, whatever the size of the board: kernels are compiled once. Smaller boards use the first
# points of each field. A structured row is one pointer, where a tuple of arrays is counted
# reference by reference at every call, which made playouts twice as slow.
LIGHT_BOARD = np.dtype(
    [
        ("colours", np.int8, MAX_POINTS),  # player id, EMPTY or BORDER
        ("chains", np.int16, MAX_POINTS),  # the point that stands for the stone's chain, its head
        ("next_stones", np.int16, MAX_POINTS),  # the next stone of the same chain, in a ring
        ("pseudo_liberties", np.int16, MAX_POINTS),  # of a chain, at its head
        ("sizes", np.int16, MAX_POINTS),  # stones of a chain, at its head
        ("empty_points", np.int16, MAX_POINTS),  # in any order; the first `num_empty` count
        ("places", np.int16, MAX_POINTS),  # of an empty point in that list
        ("num_empty", np.int32),
        ("ko_point", np.int32),  # where the player to move must not play, or NO_POINT
    ]
)


@kernel
def point_of(cell: int, width: int) -> int:
    """Returns the point of a cell, which is numbered without the border."""
    return (cell // width + 1) * (width + 1) + cell % width + 1


@kernel
def count_points(height: int, width: int) -> int:
    """Returns P, the number of points with the border."""
    return (height + 2) * (width + 1) + 1


@kernel
def clear_board(board: np.void, height: int, width: int) -> None:
    """Takes all stones off. In place."""
    for point in range(count_points(height, width)):
        board["colours"][point] = BORDER
    board["num_empty"] = 0
    board["ko_point"] = NO_POINT
    for cell in range(height * width):
        add_empty_point(board, point_of(cell, width))


@kernel
def copy_board(source: np.void, target: np.void, num_points: int) -> None:
    """Makes `target` the same position as `source`, of P = `num_points` points. In place."""
    for point in range(num_points):
        target["colours"][point] = source["colours"][point]
    for point in range(num_points):
        target["chains"][point] = source["chains"][point]
        target["next_stones"][point] = source["next_stones"][point]
        target["pseudo_liberties"][point] = source["pseudo_liberties"][point]
        target["sizes"][point] = source["sizes"][point]
        target["empty_points"][point] = source["empty_points"][point]
        target["places"][point] = source["places"][point]
    target["num_empty"] = source["num_empty"]
    target["ko_point"] = source["ko_point"]


@kernel
def set_stones(board: np.void, stones: Int8Array) -> None:
    """Puts the stones of a position on an empty board.

    Args:
        board: the empty board.
        stones: int8 [H, W], player id or EMPTY, every chain with a liberty. While it is set up one
            point after the other, a chain touches a liberty or a point that is still to come: no
            stone is captured on the way.
    """
    height, width = stones.shape
    for row in range(height):
        for column in range(width):
            if stones[row, column] != EMPTY:
                point = point_of(row * width + column, width)
                put_stone(board, point, stones[row, column], width + 1)
    board["ko_point"] = NO_POINT


@kernel
def set_colours(board: np.void, stones: Int8Array) -> None:
    """Makes the colours those of a position, int8 [H, W], and nothing else. Enough for eyes."""
    height, width = stones.shape
    for row in range(height):
        # As `point_of`, whose division takes longer than all else here.
        first = (row + 1) * (width + 1) + 1
        for column in range(width):
            board["colours"][first + column] = stones[row, column]


@kernel
def add_empty_point(board: np.void, point: int) -> None:
    """Makes a point empty and puts it on the list."""
    last = board["num_empty"]
    board["colours"][point] = EMPTY
    board["empty_points"][last] = point
    board["places"][point] = last
    board["num_empty"] = last + 1


@kernel
def drop_empty_point(board: np.void, point: int) -> None:
    """Takes a point off the list of empty ones."""
    last = board["num_empty"] - 1
    swap_places(board, board["places"][point], last)
    board["num_empty"] = last


@kernel
def swap_places(board: np.void, first: int, second: int) -> None:
    """Swaps two entries of the list of empty points."""
    one = board["empty_points"][first]
    other = board["empty_points"][second]
    board["empty_points"][first] = other
    board["places"][other] = first
    board["empty_points"][second] = one
    board["places"][one] = second


@kernel
def put_stone(board: np.void, point: int, player: int, stride: int) -> None:
    """Plays a stone on an empty point where it is legal, and sets the ko point for the answer."""
    drop_empty_point(board, point)
    board["colours"][point] = player
    board["chains"][point] = point
    board["next_stones"][point] = point
    board["sizes"][point] = 1
    board["pseudo_liberties"][point] = 0
    for step in (1, -1, stride, -stride):
        colour = board["colours"][point + step]
        if colour == EMPTY:
            board["pseudo_liberties"][point] += 1
        elif colour != BORDER:
            board["pseudo_liberties"][board["chains"][point + step]] -= 1
    num_captured = 0
    captured = NO_POINT
    for step in (1, -1, stride, -stride):
        colour = board["colours"][point + step]
        if colour == player:
            join_chains(board, board["chains"][point + step], board["chains"][point])
        elif colour == 1 - player:
            head = board["chains"][point + step]
            if board["pseudo_liberties"][head] == 0:
                captured = point + step
                num_captured += board["sizes"][head]
                remove_chain(board, head, stride)
    board["ko_point"] = NO_POINT
    head = board["chains"][point]
    if num_captured == 1 and board["sizes"][head] == 1 and board["pseudo_liberties"][head] == 1:
        board["ko_point"] = captured


@kernel
def join_chains(board: np.void, one: int, other: int) -> None:
    """Makes one chain of the two with these heads, which may be the same."""
    if one == other:
        return
    if board["sizes"][one] < board["sizes"][other]:
        one, other = other, one
    board["pseudo_liberties"][one] += board["pseudo_liberties"][other]
    board["sizes"][one] += board["sizes"][other]
    stone = other
    while True:
        board["chains"][stone] = one
        stone = board["next_stones"][stone]
        if stone == other:
            break
    # Two rings become one when one stone of each swaps its successor with the other.
    after = board["next_stones"][one]
    board["next_stones"][one] = board["next_stones"][other]
    board["next_stones"][other] = after


@kernel
def remove_chain(board: np.void, head: int, stride: int) -> None:
    """Takes a chain off the board."""
    stone = head
    while True:
        add_empty_point(board, stone)
        for step in (1, -1, stride, -stride):
            colour = board["colours"][stone + step]
            if colour != EMPTY and colour != BORDER:
                # The removed chain's own count changes too and means nothing any more.
                board["pseudo_liberties"][board["chains"][stone + step]] += 1
        stone = board["next_stones"][stone]
        if stone == head:
            break


@kernel
def is_own_eye(board: np.void, point: int, player: int, stride: int) -> bool:
    """Tells whether an empty point is an eye of a player, and not a false one.

    All neighbours are the player's, and of the four points that touch it at a corner the opponent
    holds at most one, at the edge of the board none.
    """
    colours = board["colours"]
    for step in (1, -1, stride, -stride):
        if colours[point + step] != player and colours[point + step] != BORDER:
            return False
    num_opponents = 0
    at_edge = 0
    for step in (1 + stride, 1 - stride, -1 + stride, -1 - stride):
        if colours[point + step] == BORDER:
            at_edge = 1
        elif colours[point + step] == 1 - player:
            num_opponents += 1
    return num_opponents + at_edge < 2


@kernel
def is_legal(board: np.void, point: int, player: int, stride: int) -> bool:
    """Tells whether a stone may be played on an empty point."""
    if point == board["ko_point"]:
        return False
    for step in (1, -1, stride, -stride):
        if board["colours"][point + step] == EMPTY:
            return True
    return not is_suicide(board, point, player, stride)


@kernel
def is_suicide(board: np.void, point: int, player: int, stride: int) -> bool:
    """Tells whether a stone on a point without empty neighbours would have no liberty.

    The point is filled for a moment: it takes one pseudo-liberty of each stone beside it.
    """
    for step in (1, -1, stride, -stride):
        if board["colours"][point + step] != BORDER:
            board["pseudo_liberties"][board["chains"][point + step]] -= 1
    suicide = True
    for step in (1, -1, stride, -stride):
        colour = board["colours"][point + step]
        if colour != BORDER:
            lives = board["pseudo_liberties"][board["chains"][point + step]] > 0
            if lives == (colour == player):
                suicide = False  # an own chain lives on, or one of the opponent's is captured
    for step in (1, -1, stride, -stride):
        if board["colours"][point + step] != BORDER:
            board["pseudo_liberties"][board["chains"][point + step]] += 1
    return suicide
