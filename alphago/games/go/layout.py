"""What a game of Go holds, and where: the structured dtype of a board size, and views for kernels.

A state is the whole game: the position it began with, the moves, and all that follows from them,
so that two states with the same beginning and the same moves are equal byte for byte. Kernels must
not be compiled anew for each board size (that costs ten seconds), hence they never see the
structured dtype. They get the same memory three times, as rows of int64, int16 and int8 (`Rows`),
and the places of the fields in them (`Layout`). One game's fields are views of its row (`Row`).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.types import Int8Array, States

EMPTY = -1  # an empty cell; stones are player ids, 0 Black and 1 White
OFF_BOARD = 2  # what the cell behind the last one holds: the neighbour outside of every edge
NO_CELL = -1

# Places in `Row.facts`.
TO_PLAY = 0
NUM_MOVES = 1
NUM_PASSES = 2  # in a row, at the end
KO_CELL = 3  # where a true ko was just taken, or NO_CELL
CAPTURES = 4  # stones that Black has captured; behind it, those that White has
NUM_FACTS = 6

NUM_RECENT = 7  # earlier boards that a network sees

# Bits of `Row.marks`.
MARK_TO_PLAY = 1  # shifted by a player id: that player has been to move in this position
MARK_MOVED = 4  # White made the move that led here, not Black

_WORD = 8  # bytes


class Layout(NamedTuple):
    """Board size and places of the fields; `words`, `shorts`, `bytes` as in `Rows`.

    K is the number of cells, T the largest number of moves.
    """

    num_cells: int  # K
    max_moves: int  # T
    hashes: int  # in words
    liberties: int  # in words
    facts: int  # in shorts
    actions: int  # in shorts
    heads: int  # in shorts
    nexts: int  # in shorts
    marks: int  # in bytes
    board: int  # in bytes
    setup: int  # in bytes
    recent: int  # in bytes
    vacated: int  # in bytes


class Rows(NamedTuple):
    """The memory of B states, seen three times."""

    words: npt.NDArray[np.int64]  # [B, size of a state / 8]
    shorts: npt.NDArray[np.int16]  # [B, size of a state / 2]
    bytes_: Int8Array  # [B, size of a state]


class Row(NamedTuple):
    """One game. Position t is the one after t moves, position 0 the one it began with.

    Attributes:
        hashes: Zobrist hash of the board in each position so far, zeros behind.
        liberties: of each chain, at its head: see `board.liberty`; zeros elsewhere.
        facts: TO_PLAY, NUM_MOVES, NUM_PASSES, KO_CELL, and CAPTURES twice.
        actions: the moves so far, zeros behind.
        heads: the cell that stands for a stone's chain.
        nexts: the next stone of the same chain, in a ring.
        marks: who has been to move in each position so far, and who moved before; zeros behind.
        board: player id or EMPTY; the last entry is OFF_BOARD.
        setup: the board of position 0.
        recent: the last boards before this one; that of position t is in row t % 7.
        vacated: 1 where a black stone was captured at any time, 2 a white one, 3 both.
    """

    hashes: npt.NDArray[np.int64]  # [T + 1]
    liberties: npt.NDArray[np.int64]  # [K]
    facts: npt.NDArray[np.int16]  # [6]
    actions: npt.NDArray[np.int16]  # [T]
    heads: npt.NDArray[np.int16]  # [K]
    nexts: npt.NDArray[np.int16]  # [K]
    marks: Int8Array  # [T + 1]
    board: Int8Array  # [K + 1]
    setup: Int8Array  # [K]
    recent: Int8Array  # [7, K], flat
    vacated: Int8Array  # [K]


def go_dtype(num_cells: int, max_moves: int) -> np.dtype[np.void]:
    """Builds the dtype of a state, packed, its size a multiple of eight bytes."""
    fields: list[tuple[str, type, tuple[int, ...]]] = [
        ("hashes", np.int64, (max_moves + 1,)),
        ("liberties", np.int64, (num_cells,)),
        ("facts", np.int16, (NUM_FACTS,)),
        ("actions", np.int16, (max_moves,)),
        ("heads", np.int16, (num_cells,)),
        ("nexts", np.int16, (num_cells,)),
        ("marks", np.int8, (max_moves + 1,)),
        ("board", np.int8, (num_cells + 1,)),
        ("setup", np.int8, (num_cells,)),
        ("recent", np.int8, (NUM_RECENT * num_cells,)),
        ("vacated", np.int8, (num_cells,)),
    ]
    padding = -np.dtype(fields).itemsize % _WORD
    return np.dtype([*fields, ("padding", np.int8, (padding,))])


def go_layout(dtype: np.dtype[np.void]) -> Layout:
    """Finds the places of the fields in a dtype made by `go_dtype`."""
    assert dtype.fields is not None
    places = {
        name: offset // field.base.itemsize for name, (field, offset, *_) in dtype.fields.items()
    }
    num_cells, max_moves = dtype["setup"].shape[0], dtype["actions"].shape[0]
    return Layout(
        num_cells, max_moves, *(places[name] for name in Layout._fields if name in places)
    )


def go_rows(states: States) -> Rows:
    """Returns views of states [B] for kernels: the same memory, where kernels can take it as it is.

    Kernels are compiled for contiguous, aligned, writable memory only; other states are copied.
    """
    words = np.ascontiguousarray(states).view(np.int64)
    if not (words.flags.aligned and words.flags.writeable):
        words = words.copy()
    words = words.reshape(len(states), states.dtype.itemsize // _WORD)
    return Rows(words, words.view(np.int16), words.view(np.int8))


def neighbour_table(height: int, width: int) -> npt.NDArray[np.int16]:
    """Returns int16 [K, 4], the neighbours of each cell; beyond an edge K, the cell off board."""
    num_cells = height * width
    padded = np.full((height + 2, width + 2), num_cells, np.int16)
    padded[1:-1, 1:-1] = np.arange(num_cells).reshape(height, width)
    sides = (padded[:-2, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:], padded[2:, 1:-1])
    return np.stack([side.reshape(-1) for side in sides], axis=1)
