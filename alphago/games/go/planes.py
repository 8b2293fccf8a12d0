"""What a network sees of a game of Go, compiled: planes of zeros and ones.

"history", the 17 planes of AlphaGo Zero (Silver et al. 2017, "Mastering the game of Go without
human knowledge", methods): own stones now and 1 to 7 moves ago, then the opponent's, then all ones
if Black is to move. "extended" adds own chains with exactly 1, 2 and 3 liberties, the opponent's,
the empty points that ko or superko alone forbids, and the points that the mover gets as komi.
"""

import numpy as np
import numpy.typing as npt

from alphago.games.go.board import is_first_side
from alphago.games.go.layout import EMPTY, NUM_MOVES, NUM_RECENT, TO_PLAY, Layout, Row, Rows
from alphago.games.go.moves import (
    LegalRoom,
    breaks_ko,
    fact,
    fill_bits,
    game_row,
    is_finished,
    is_possible,
)
from alphago.kernels import kernel
from alphago.types import NUM_PLAYERS, Int8Array, UInt8Array

NUM_BOARDS = NUM_RECENT + 1
NUM_HISTORY_PLANES = 2 * NUM_BOARDS + 1
LIBERTY_PLANES = NUM_HISTORY_PLANES  # the first of them; own, then the opponent's
NUM_LIBERTY_STEPS = 3
KO_PLANE = LIBERTY_PLANES + 2 * NUM_LIBERTY_STEPS
KOMI_PLANES = KO_PLANE + 1  # the first of them

# All ones where the mover gets at least so many points; close together where komi usually is.
KOMI_STEPS = np.array([-10, -7, -6, -5, -3, -1, 1, 3, 5, 6, 7, 10], np.float64)
NUM_EXTENDED_PLANES = KOMI_PLANES + len(KOMI_STEPS)

NUM_PLANES = {"history": NUM_HISTORY_PLANES, "extended": NUM_EXTENDED_PLANES}


def liberty_counts(layout: Layout) -> npt.NDArray[np.int16]:
    """Allocates the memory that `fill_liberties` needs to work in; kernels allocate none."""
    return np.empty(layout.num_cells, np.int16)


@kernel
def fill_history(row: Row, layout: Layout, planes: UInt8Array) -> None:
    """Writes the history planes. `planes`, uint8 [C, K], is filled in place."""
    num_cells = layout.num_cells
    player = fact(row, layout, TO_PLAY)
    t = fact(row, layout, NUM_MOVES)
    for ago in range(NUM_BOARDS):
        # Boards from before the beginning are empty, and so is their place among the recent ones.
        place = layout.recent + ((t - ago) % NUM_RECENT) * num_cells
        start = layout.board if ago == 0 else place
        board = row.bytes_[start : start + num_cells]
        for cell in range(num_cells):
            planes[ago, cell] = board[cell] == player
            planes[NUM_BOARDS + ago, cell] = board[cell] == 1 - player
    planes[2 * NUM_BOARDS, :] = player == 0


@kernel
def count_liberties(row: Row, layout: Layout, counts: npt.NDArray[np.int16]) -> None:
    """Counts the liberties of each chain at its head. `counts`, int16 [K], is filled in place."""
    counts[:] = 0
    for cell in range(layout.num_cells):
        if row.bytes_[layout.board + cell] != EMPTY:
            continue
        for side in range(4):
            beside = int(layout.neighbours[cell, side])
            is_stone = 0 <= row.bytes_[layout.board + beside] < NUM_PLAYERS
            if is_stone and is_first_side(row, layout, cell, side):
                counts[row.shorts[layout.heads + beside]] += 1


@kernel
def fill_liberties(
    row: Row, layout: Layout, counts: npt.NDArray[np.int16], planes: UInt8Array
) -> None:
    """Writes the planes of liberties in place; `counts`, int16 [K], is room to work in."""
    count_liberties(row, layout, counts)
    player = fact(row, layout, TO_PLAY)
    planes[LIBERTY_PLANES:KO_PLANE, :] = 0
    for cell in range(layout.num_cells):
        stone = row.bytes_[layout.board + cell]
        if stone != EMPTY:
            count = counts[row.shorts[layout.heads + cell]]
            if count <= NUM_LIBERTY_STEPS:
                first = LIBERTY_PLANES + (0 if stone == player else NUM_LIBERTY_STEPS)
                planes[first + count - 1, cell] = 1


@kernel
def fill_ko(
    row: Row, layout: Layout, ko_rule: int, suicide: bool, bits: Int8Array, planes: UInt8Array
) -> None:
    """Writes the plane of points that only ko or superko forbids, in place.

    Args:
        row: the game; finished, it has no such points.
        layout: its layout.
        ko_rule: as in `moves.breaks_ko`.
        suicide: as in `moves.is_possible`.
        bits: int8 [K], what `moves.fill_bits` writes for the player to move.
        planes: uint8 [C, K], one plane of which is filled.
    """
    player = fact(row, layout, TO_PLAY)
    is_open = not is_finished(row, layout)
    for cell in range(layout.num_cells):
        around = int(bits[cell])
        planes[KO_PLANE, cell] = (
            is_open
            and is_possible(around, suicide)
            and breaks_ko(row, layout, player, cell, around, ko_rule)
        )


@kernel
def fill_history_all(rows: Rows, layout: Layout, observations: UInt8Array) -> None:
    """Maps `fill_history` over the games. `observations`, uint8 [B, C, K], is filled in place."""
    for b in range(len(observations)):
        fill_history(game_row(rows, b), layout, observations[b])


@kernel
def fill_extended_all(
    rows: Rows,
    layout: Layout,
    ko_rule: int,
    suicide: bool,
    komi: float,
    room: LegalRoom,
    counts: npt.NDArray[np.int16],
    observations: UInt8Array,
) -> None:
    """Writes all extended planes of every game.

    Args:
        rows: the games.
        layout: their layout.
        ko_rule: as in `moves.breaks_ko`.
        suicide: as in `moves.is_possible`.
        komi: points that White gets in all.
        room: to work in.
        counts: int16 [K], to work in.
        observations: uint8 [B, C, K], filled in place.
    """
    for b in range(len(observations)):
        row, planes = game_row(rows, b), observations[b]
        player = fact(row, layout, TO_PLAY)
        fill_history(row, layout, planes)
        fill_liberties(row, layout, counts, planes)
        fill_bits(row, layout, player, room.statuses, room.bits)
        fill_ko(row, layout, ko_rule, suicide, room.bits, planes)
        own_komi = -komi if player == 0 else komi
        for index in range(len(KOMI_STEPS)):
            planes[KOMI_PLANES + index, :] = own_komi >= KOMI_STEPS[index]
