"""What a game of Go holds, and where: the structured dtype of a board size, and views for kernels.

A state is the whole game: the position it began with, the moves, and all that follows from them,
so that two states with the same beginning and the same moves are equal byte for byte.

Kernels must not be compiled anew for each board size (that costs ten seconds), hence they never see
the structured dtype. They get the same memory three times, as int64, uint16 and int8 (`Rows` of all
games, `Row` of one), and where in it each field starts (`Layout`). The stone on a cell is
`row.bytes_[layout.board + cell]`. A view for each field would read better, but making eleven of
them took 130 ns a position, a quarter of a step.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.types import Int8Array, States

Words = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.uint16]  # unsigned: an index that cannot be negative is faster

EMPTY = -1  # an empty cell; stones are player ids, 0 Black and 1 White
OFF_BOARD = 2  # what the cell behind the last one holds: the neighbour outside of every edge
NO_CELL = 65_535

# Places behind `Layout.facts`.
TO_PLAY = 0
NUM_MOVES = 1
NUM_PASSES = 2  # in a row, at the end
KO_CELL = 3  # where a true ko was just taken, or NO_CELL
CAPTURES = 4  # stones that Black has captured; behind it, those that White has
NUM_FACTS = 6

NUM_RECENT = 7  # earlier boards that a network sees

# Bits of `marks`.
MARK_TO_PLAY = 1  # shifted by a player id: that player has been to move in this position
MARK_MOVED = 4  # White made the move that led here, not Black

_WORD = 8  # bytes


class Layout(NamedTuple):
    """A board size: how many cells there are, which touch, and where each field starts.

    K is the number of cells, T the largest number of moves; position t is the one after t moves,
    position 0 the one the game began with.

    Attributes:
        num_cells: K.
        width: cells of a row.
        max_moves: T.
        neighbours: the four neighbours of each cell; beyond an edge K, the cell off the board.
        side_masks: -1 (all bits) where a cell has a neighbour to the left, and to the right, else
            0. For loops over all cells at once, which run on vectors where nothing is looked up.
        hashes: [T + 1] of `words`, Zobrist hash of the board in each position, zeros behind.
        liberties: [K] of `words`, of each chain at its head, see `board.liberty`; zeros elsewhere.
        facts: [6] of `shorts`, TO_PLAY and so on.
        actions: [T] of `shorts`, the moves, zeros behind.
        heads: [K] of `shorts`, the cell that stands for a stone's chain.
        nexts: [K] of `shorts`, the next stone of the same chain, in a ring.
        marks: [T + 1] of `bytes_`, who has been to move in each position, and who moved before;
            zeros behind.
        board: [K + 1] of `bytes_`, player id or EMPTY; the last entry is OFF_BOARD.
        setup: [K] of `bytes_`, the board of position 0.
        recent: [7, K] of `bytes_`, the boards before this one; that of position t in row t % 7.
        vacated: [K] of `bytes_`, 1 where a black stone was captured at any time, 2 a white, 3 both.
    """

    num_cells: int
    width: int
    max_moves: int
    neighbours: Shorts  # [K, 4]
    side_masks: Int8Array  # [2, K]
    hashes: int
    liberties: int
    facts: int
    actions: int
    heads: int
    nexts: int
    marks: int
    board: int
    setup: int
    recent: int
    vacated: int


class Rows(NamedTuple):
    """The memory of B states, seen three times."""

    words: Words  # [B, size of a state / 8]
    shorts: Shorts  # [B, size of a state / 2]
    bytes_: Int8Array  # [B, size of a state]


class Row(NamedTuple):
    """The memory of one state, seen three times."""

    words: Words  # [size of a state / 8]
    shorts: Shorts  # [size of a state / 2]
    bytes_: Int8Array  # [size of a state]


def go_dtype(num_cells: int, max_moves: int) -> np.dtype[np.void]:
    """Builds the dtype of a state, packed, its size a multiple of eight bytes; see `Layout`."""
    fields: list[tuple[str, type, tuple[int, ...]]] = [
        ("hashes", np.int64, (max_moves + 1,)),
        ("liberties", np.int64, (num_cells,)),
        ("facts", np.uint16, (NUM_FACTS,)),
        ("actions", np.uint16, (max_moves,)),
        ("heads", np.uint16, (num_cells,)),
        ("nexts", np.uint16, (num_cells,)),
        ("marks", np.int8, (max_moves + 1,)),
        ("board", np.int8, (num_cells + 1,)),
        ("setup", np.int8, (num_cells,)),
        ("recent", np.int8, (NUM_RECENT, num_cells)),
        ("vacated", np.int8, (num_cells,)),
    ]
    padding = -np.dtype(fields).itemsize % _WORD
    return np.dtype([*fields, ("padding", np.int8, (padding,))])


def go_layout(height: int, width: int, max_moves: int) -> Layout:
    """Finds the places of the fields of `go_dtype`, in the units of their own view."""
    dtype = go_dtype(height * width, max_moves)
    assert dtype.fields is not None
    places = {
        name: offset // field.base.itemsize for name, (field, offset, *_) in dtype.fields.items()
    }
    del places["padding"]
    return Layout(
        num_cells=height * width,
        width=width,
        max_moves=max_moves,
        neighbours=neighbour_table(height, width),
        side_masks=side_masks(height, width),
        **places,
    )


def go_rows(states: States) -> Rows:
    """Returns views of states [B] for kernels: the same memory, where kernels can take it as it is.

    Kernels are compiled for contiguous, aligned, writable memory only; other states are copied.
    """
    words = np.ascontiguousarray(states).view(np.int64)
    if not (words.flags.aligned and words.flags.writeable):
        words = words.copy()
    words = words.reshape(len(states), states.dtype.itemsize // _WORD)
    return Rows(words, words.view(np.uint16), words.view(np.int8))


def copy_states(states: States) -> States:
    """Copies states [B]; numpy takes three times as long to copy structured rows as numbers."""
    copied: States = np.ascontiguousarray(states).view(np.int64).copy().view(states.dtype)
    return copied


def neighbour_table(height: int, width: int) -> Shorts:
    """Returns uint16 [K, 4], the neighbours of each cell: above, left, right, below."""
    num_cells = height * width
    padded = np.full((height + 2, width + 2), num_cells, np.uint16)
    padded[1:-1, 1:-1] = np.arange(num_cells).reshape(height, width)
    sides = (padded[:-2, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:], padded[2:, 1:-1])
    return np.stack([side.reshape(-1) for side in sides], axis=1)


def side_masks(height: int, width: int) -> Int8Array:
    """Returns int8 [2, K], -1 where a cell has a left, and a right, neighbour, else 0."""
    masks = np.full((2, height, width), -1, np.int8)
    masks[0, :, 0] = 0
    masks[1, :, -1] = 0
    return masks.reshape(2, height * width)
