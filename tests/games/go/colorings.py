"""Every way to put stones on a board, and which of them the engine's chains allow."""

import numpy as np
import numpy.typing as npt

from alphago.games.go.layout import EMPTY, go_dtype, go_layout, go_rows
from alphago.games.go.moves import set_up_all
from alphago.types import BoolArray, Int8Array

MAX_CELLS_AT_ONCE = 10  # 59,049 boards


def all_colorings(num_cells: int) -> npt.NDArray[np.int8]:
    """Returns [3 ** num_cells, num_cells], each cell -1, 0 or 1."""
    digits = np.arange(3**num_cells)[:, None] // 3 ** np.arange(num_cells) % 3
    return (digits - 1).astype(np.int8)


def chains_have_liberties(boards: Int8Array) -> BoolArray:
    """Returns bool [B]: whether no chain of the boards [B, H, W] lacks a liberty.

    The stones are put on the boards by the engine's own kernel, which keeps chains and liberties.
    """
    num_boards, height, width = boards.shape
    states = np.zeros(num_boards, go_dtype(height * width, 1))
    states["setup"] = boards.reshape(num_boards, -1)
    set_up_all(go_rows(states), go_layout(height, width, 1), 0)
    liberties = np.take_along_axis(states["liberties"], states["heads"].astype(np.int64), axis=1)
    return np.all((liberties != 0) | (states["setup"] == EMPTY), axis=1)


def count_legal(height: int, width: int) -> int:
    """Returns the number of boards on which every chain has a liberty."""
    num_cells = height * width
    num_last = min(num_cells, MAX_CELLS_AT_ONCE)
    boards = np.empty((3**num_last, num_cells), dtype=np.int8)
    boards[:, num_cells - num_last :] = all_colorings(num_last)
    count = 0
    for first_cells in all_colorings(num_cells - num_last):
        boards[:, : num_cells - num_last] = first_cells
        count += int(chains_have_liberties(boards.reshape(-1, height, width)).sum())
    return count
