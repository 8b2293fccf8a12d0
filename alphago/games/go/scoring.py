"""Who owns which point: area, territory, and stones no opponent can ever take, compiled.

Area scoring (Tromp and Taylor): a player owns the own stones and each empty region that touches
own stones only. Territory scoring (Japanese counting of a finished position): a player owns the
empty points of such regions, and every captured stone counts one point more; stones named dead are
taken off first and count as captured. All stones left are taken as alive. A region that touches
both colours is nobody's, so that the shared liberties of a seki count for nobody; but eyes inside
a seki do count, since no rule of counting alone can tell that they stand in one.
"""

import numpy as np
import numpy.typing as npt

from alphago.games.go.layout import EMPTY, OFF_BOARD
from alphago.kernels import kernel
from alphago.types import Int8Array

Shorts = npt.NDArray[np.int16]


@kernel
def fill_region(
    board: Int8Array,
    neighbours: Shorts,
    start: int,
    blocker: int,
    regions: Shorts,
    region: int,
    stack: Shorts,
) -> int:
    """Marks the region around a cell, in place: all cells reached without a `blocker` cell.

    Args:
        board: int8 [K + 1].
        neighbours: int16 [K, 4].
        start: a cell of the region.
        blocker: a player id: their stones bound the region. Or EMPTY: all stones do.
        regions: int16 [K], where the region's cells get its number.
        region: its number, which no cell has yet.
        stack: int16 [K], room to work in; afterwards the first cells of it are the region.

    Returns:
        The number of cells.
    """
    stack[0] = start
    regions[start] = region
    num_found = 1
    num_done = 0
    while num_done < num_found:
        cell = stack[num_done]
        num_done += 1
        for side in range(4):
            beside = neighbours[cell, side]
            stone = board[beside]
            is_inside = stone == EMPTY or (blocker != EMPTY and stone == 1 - blocker)
            if is_inside and regions[beside] != region:
                regions[beside] = region
                stack[num_found] = beside
                num_found += 1
    return num_found


@kernel
def fill_owners(board: Int8Array, neighbours: Shorts, regions: Shorts, stack: Shorts) -> None:
    """Gives every empty region that touches one colour only to that colour, in place.

    Args:
        board: int8 [K + 1], stones; afterwards the owner of each cell, EMPTY for nobody.
        neighbours: int16 [K, 4].
        regions: int16 [K], room to work in.
        stack: int16 [K], room to work in.
    """
    num_cells = len(regions)
    regions[:] = -1
    for start in range(num_cells):
        if board[start] != EMPTY or regions[start] != -1:
            continue
        size = fill_region(board, neighbours, start, EMPTY, regions, start, stack)
        touches = 0
        for index in range(size):
            for side in range(4):
                stone = board[neighbours[stack[index], side]]
                # A region filled before is no stone: it touches no other empty cell.
                if stone != EMPTY and stone != OFF_BOARD:
                    touches |= 1 << stone
        if touches == 1 or touches == 2:
            for index in range(size):
                board[stack[index]] = touches - 1


@kernel
def fill_owners_all(boards: Int8Array, neighbours: Shorts) -> None:
    """Maps `fill_owners` over boards [B, K + 1], in place."""
    regions = np.empty(len(neighbours), np.int16)
    stack = np.empty(len(neighbours), np.int16)
    for b in range(len(boards)):
        fill_owners(boards[b], neighbours, regions, stack)
