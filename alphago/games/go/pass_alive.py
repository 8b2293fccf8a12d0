"""Stones that live though their owner passes for ever, compiled.

Source: Benson 1976, "Life in the game of Go". An eye is a region that the opponent cannot
fill: where suicide is illegal each empty cell of it has to be a liberty of the chain; where it is
legal, so has each cell with an opponent's stone, since a suicide may empty it again.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.games.go.layout import EMPTY, Layout, Rows, Shorts
from alphago.games.go.moves import game_row
from alphago.kernels import kernel
from alphago.types import NUM_PLAYERS, BoolArray, Int8Array

Cells = npt.NDArray[np.int16]  # numbers of cells, or -1

_NO_CHAIN = -1


class LifeRoom(NamedTuple):
    """Memory for `fill_pass_alive` to work in; kernels allocate none. A board has K cells."""

    regions: Cells  # [K], number of each cell's region
    cells: Cells  # [K], as `find_regions` fills it
    starts: Cells  # [K + 1], as `find_regions` fills it
    vital: Cells  # [K, 4], of each region, as `find_vital_chains` fills it
    num_eyes: Cells  # [K], of each chain at its head
    is_alive: BoolArray  # [K], of each chain at its head


def life_room(num_cells: int) -> LifeRoom:
    """Allocates the memory that finding life needs."""
    return LifeRoom(
        regions=np.empty(num_cells, np.int16),
        cells=np.empty(num_cells, np.int16),
        starts=np.empty(num_cells + 1, np.int16),
        vital=np.empty((num_cells, 4), np.int16),
        num_eyes=np.empty(num_cells, np.int16),
        is_alive=np.empty(num_cells, np.bool_),
    )


class Border(NamedTuple):
    """How many cells of a region touch chains."""

    num_living: int  # cells beside a chain that is alive
    num_other: int  # cells beside another own chain


@kernel
def fill_region(
    board: Int8Array,
    neighbours: Shorts,
    start: int,
    player: int,
    regions: Cells,
    region: int,
    stack: Cells,
) -> int:
    """Marks the region around a cell, in place: all cells reached past no stone of a player.

    Args:
        board: int8 [K + 1].
        neighbours: uint16 [K, 4].
        start: a cell of the region.
        player: whose stones bound the region.
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
            if (stone == EMPTY or stone == 1 - player) and regions[beside] != region:
                regions[beside] = region
                stack[num_found] = beside
                num_found += 1
    return num_found


@kernel
def find_regions(board: Int8Array, neighbours: Shorts, player: int, room: LifeRoom) -> int:
    """Finds the regions that a player's stones bound: all that is connected without them.

    Args:
        board: int8 [K + 1].
        neighbours: uint16 [K, 4].
        player: whose stones bound.
        room: its `cells` are filled with the cells, region by region, its `starts` with the place
            in there where each region starts, and, one further, where the last one ends.

    Returns:
        The number of regions.
    """
    regions, starts = room.regions, room.starts
    regions[:] = -1
    num_regions = 0
    starts[0] = 0
    for cell in range(len(neighbours)):
        if board[cell] != player and regions[cell] == -1:
            stack = room.cells[starts[num_regions] :]
            size = fill_region(board, neighbours, cell, player, regions, cell, stack)
            starts[num_regions + 1] = starts[num_regions] + size
            num_regions += 1
    return num_regions


@kernel
def touches_chain(
    board: Int8Array, heads: Shorts, neighbours: Shorts, cell: int, head: int
) -> bool:
    """Tells whether a cell is beside a stone of the chain with a head."""
    player = board[head]
    for side in range(4):
        beside = neighbours[cell, side]
        if board[beside] == player and heads[beside] == head:
            return True
    return False


@kernel
def find_vital_chains(
    board: Int8Array,
    heads: Shorts,
    neighbours: Shorts,
    player: int,
    suicide: bool,
    region: Cells,
    vital: Cells,
) -> None:
    """Finds the chains to which a region is an eye.

    `vital`, int16 [4], is filled with their heads, `_NO_CHAIN` behind. There are at most four,
    since all of them touch the first empty cell.
    """
    vital[:] = _NO_CHAIN
    first = region[0]
    for cell in region:
        if board[cell] == EMPTY:
            first = cell
            break
    num_vital = 0
    for side in range(4):
        beside = neighbours[first, side]
        if board[beside] != player:
            continue
        is_vital = True
        for known in vital[:num_vital]:
            is_vital &= known != heads[beside]
        for cell in region:
            must_touch = suicide or board[cell] == EMPTY
            if must_touch and not touches_chain(board, heads, neighbours, cell, heads[beside]):
                is_vital = False
        if is_vital:
            vital[num_vital] = heads[beside]
            num_vital += 1


@kernel
def count_border(
    board: Int8Array,
    heads: Shorts,
    neighbours: Shorts,
    player: int,
    region: Cells,
    is_alive: BoolArray,
) -> Border:
    """Counts the cells of a region that are beside a player's chains, living ones and others."""
    num_living = 0
    num_other = 0
    for cell in region:
        beside_living, beside_other = False, False
        for side in range(4):
            beside = neighbours[cell, side]
            if board[beside] == player:
                beside_living |= is_alive[heads[beside]]
                beside_other |= not is_alive[heads[beside]]
        num_living += beside_living
        num_other += beside_other
    return Border(num_living, num_other)


@kernel
def drop_chains_without_eyes(
    board: Int8Array,
    heads: Shorts,
    neighbours: Shorts,
    player: int,
    num_regions: int,
    room: LifeRoom,
) -> bool:
    """Takes the life of chains with fewer than two eyes; one round of Benson's algorithm.

    Args:
        board: int8 [K + 1].
        heads: uint16 [K].
        neighbours: uint16 [K, 4].
        player: whose stones.
        num_regions: how many `find_regions` has found.
        room: what it has found; `is_alive` is changed in place.

    Returns:
        Whether any chain had been thought alive.
    """
    num_eyes, is_alive = room.num_eyes, room.is_alive
    num_eyes[:] = 0
    for index in range(num_regions):
        region = room.cells[room.starts[index] : room.starts[index + 1]]
        if count_border(board, heads, neighbours, player, region, is_alive).num_other == 0:
            for head in room.vital[index]:
                if head != _NO_CHAIN:
                    num_eyes[head] += 1
    changed = False
    for head in range(len(is_alive)):
        if is_alive[head] and num_eyes[head] < 2:
            is_alive[head] = False
            changed = True
    return changed


@kernel
def fill_pass_alive(
    board: Int8Array,
    heads: Shorts,
    neighbours: Shorts,
    player: int,
    suicide: bool,
    room: LifeRoom,
    owners: Int8Array,
) -> None:
    """Writes a player's pass-alive stones and their territory.

    Territory is a region which only pass-alive chains bound, and in which at most one cell is not
    beside them: the opponent cannot make two eyes there.

    Args:
        board: int8 [K + 1].
        heads: uint16 [K].
        neighbours: uint16 [K, 4].
        player: whose stones.
        suicide: whether suicide is legal.
        room: to work in.
        owners: int8 [K], filled in place where the player owns a cell.
    """
    num_cells = len(neighbours)
    starts, is_alive = room.starts, room.is_alive
    num_regions = find_regions(board, neighbours, player, room)
    for index in range(num_regions):
        region = room.cells[starts[index] : starts[index + 1]]
        find_vital_chains(board, heads, neighbours, player, suicide, region, room.vital[index])
    for cell in range(num_cells):
        is_alive[cell] = board[cell] == player and heads[cell] == cell
    while drop_chains_without_eyes(board, heads, neighbours, player, num_regions, room):
        pass
    for cell in range(num_cells):
        if board[cell] == player and is_alive[heads[cell]]:
            owners[cell] = player
    for index in range(num_regions):
        region = room.cells[starts[index] : starts[index + 1]]
        border = count_border(board, heads, neighbours, player, region, is_alive)
        is_small = len(region) - border.num_living <= 1
        if border.num_living > 0 and border.num_other == 0 and is_small:
            for cell in region:
                owners[cell] = player


@kernel
def fill_pass_alive_all(
    rows: Rows, layout: Layout, suicide: bool, room: LifeRoom, owners: Int8Array
) -> None:
    """Writes who owns which cell for ever. `owners`, int8 [B, K], is filled in place."""
    for b in range(len(owners)):
        row = game_row(rows, b)
        board = row.bytes_[layout.board : layout.board + layout.num_cells + 1]
        heads = row.shorts[layout.heads : layout.heads + layout.num_cells]
        owners[b, :] = EMPTY
        for player in range(NUM_PLAYERS):
            fill_pass_alive(board, heads, layout.neighbours, player, suicide, room, owners[b])
