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

from alphago.games.go.layout import EMPTY, OFF_BOARD, Shorts
from alphago.kernels import kernel
from alphago.types import NUM_PLAYERS, BoolArray, Int8Array

BLACK, WHITE = 1, 2  # bits: whose stones a cell reaches through empty cells


@kernel
def spread(board: Int8Array, neighbours: Shorts, reached: Int8Array, cell: int) -> bool:
    """Lets an empty cell reach what its neighbours reach, in place; returns whether that is new."""
    if board[cell] != EMPTY:
        return False
    bits = (
        reached[neighbours[cell, 0]]
        | reached[neighbours[cell, 1]]
        | reached[neighbours[cell, 2]]
        | reached[neighbours[cell, 3]]
    )
    is_new = bool(bits != reached[cell])
    reached[cell] = bits
    return is_new


@kernel
def fill_owners(board: Int8Array, neighbours: Shorts, reached: Int8Array) -> None:
    """Gives every empty region that touches one colour only to that colour, in place.

    What is reached spreads in sweeps over the board, down and up, until nothing changes. That takes
    two or three of them, more only where regions wind.

    Args:
        board: int8 [K + 1], stones; afterwards the owner of each cell, EMPTY for nobody.
        neighbours: uint16 [K, 4].
        reached: int8 [K + 1], room to work in.
    """
    num_cells = len(neighbours)
    for cell in range(num_cells + 1):
        is_stone = board[cell] != EMPTY and board[cell] != OFF_BOARD
        reached[cell] = BLACK << board[cell] if is_stone else 0
    changed = True
    while changed:
        changed = False
        for cell in range(num_cells):
            changed |= spread(board, neighbours, reached, cell)
        for cell in range(num_cells - 1, -1, -1):
            changed |= spread(board, neighbours, reached, cell)
    for cell in range(num_cells):
        if reached[cell] == BLACK or reached[cell] == WHITE:
            board[cell] = reached[cell] - BLACK


@kernel
def fill_owners_all(boards: Int8Array, neighbours: Shorts, reached: Int8Array) -> None:
    """Maps `fill_owners` over boards [B, K + 1], in place; `reached` as there."""
    for b in range(len(boards)):
        fill_owners(boards[b], neighbours, reached)


@kernel
def count_points_all(owners: Int8Array, counts: npt.NDArray[np.int32]) -> None:
    """Adds the points of each player on maps [B, K] to `counts`, int32 [B, P], in place."""
    for b in range(len(owners)):
        for cell in range(owners.shape[1]):
            if owners[b, cell] != EMPTY:
                counts[b, owners[b, cell]] += 1


def count_points(owners: Int8Array) -> npt.NDArray[np.int32]:
    """Returns int32 [B, P], how many points of a map [B, H, W] each player has."""
    counts = np.zeros((len(owners), NUM_PLAYERS), np.int32)
    num_cells = owners.shape[1] * owners.shape[2]
    count_points_all(np.ascontiguousarray(owners).reshape(len(owners), num_cells), counts)
    return counts


def count_territory(owners: Int8Array, board: Int8Array, dead: BoolArray) -> npt.NDArray[np.int32]:
    """Counts empty points, and dead stones as prisoners of the other player.

    Args:
        owners: int8 [B, H, W], who owns each point once the dead stones are taken off.
        board: int8 [B, H, W], with the dead stones.
        dead: bool [B, H, W]; where there is no stone it means nothing.

    Returns:
        int32 [B, P], the points of each player, without stones captured in the game.
    """
    is_stone = board != EMPTY
    territory = np.where(is_stone & ~dead, EMPTY, owners)
    prisoners = np.where(is_stone & dead, 1 - board, EMPTY)
    return count_points(territory) + count_points(prisoners)
