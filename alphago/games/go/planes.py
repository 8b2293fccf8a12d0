"""What a network sees of a game of Go, compiled: planes of zeros and ones.

"history", the 17 planes of AlphaGo Zero (Silver et al. 2017, "Mastering the game of Go without
human knowledge", methods): own stones now and 1 to 7 moves ago, then the opponent's, then all ones
if Black is to move. "extended" adds own chains with exactly 1, 2 and 3 liberties, the opponent's,
the empty points that ko or superko alone forbids, and the points that the mover gets as komi.
"""

import numpy as np
import numpy.typing as npt

from alphago.games.go.board import AIR, CAPTURE, OWN
from alphago.games.go.layout import EMPTY, NUM_MOVES, NUM_RECENT, TO_PLAY, Layout, Row, Rows
from alphago.games.go.moves import fill_statuses, game_row, is_allowed, is_finished
from alphago.kernels import kernel
from alphago.types import UInt8Array

Shorts = npt.NDArray[np.int16]

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


@kernel
def fill_history(row: Row, planes: UInt8Array) -> None:
    """Writes the history planes. `planes`, uint8 [C, K], is filled in place."""
    num_cells = len(row.heads)
    player = row.facts[TO_PLAY]
    t = row.facts[NUM_MOVES]
    for ago in range(NUM_BOARDS):
        # Boards from before the beginning are empty, and so is their place among the recent ones.
        start = ((t - ago) % NUM_RECENT) * num_cells
        board = row.board if ago == 0 else row.recent[start : start + num_cells]
        for cell in range(num_cells):
            planes[ago, cell] = board[cell] == player
            planes[NUM_BOARDS + ago, cell] = board[cell] == 1 - player
    planes[2 * NUM_BOARDS, :] = player == 0


@kernel
def count_liberties(row: Row, neighbours: Shorts, counts: Shorts) -> None:
    """Counts the liberties of each chain at its head. `counts`, int16 [K], is filled in place."""
    counts[:] = 0
    for cell in range(len(row.heads)):
        if row.board[cell] != EMPTY:
            continue
        for side in range(4):
            beside = neighbours[cell, side]
            if not 0 <= row.board[beside] <= 1:
                continue
            head = row.heads[beside]
            is_new = True
            for earlier in range(side):
                other = neighbours[cell, earlier]
                if 0 <= row.board[other] <= 1 and row.heads[other] == head:
                    is_new = False
            counts[head] += is_new


@kernel
def fill_liberties(row: Row, neighbours: Shorts, counts: Shorts, planes: UInt8Array) -> None:
    """Writes the planes of liberties in place; `counts`, int16 [K], is room to work in."""
    count_liberties(row, neighbours, counts)
    planes[LIBERTY_PLANES:KO_PLANE, :] = 0
    for cell in range(len(row.heads)):
        stone = row.board[cell]
        if stone != EMPTY:
            count = counts[row.heads[cell]]
            if count <= NUM_LIBERTY_STEPS:
                first = LIBERTY_PLANES + (0 if stone == row.facts[TO_PLAY] else NUM_LIBERTY_STEPS)
                planes[first + count - 1, cell] = 1


@kernel
def fill_ko(
    row: Row,
    neighbours: Shorts,
    ko_rule: int,
    suicide: bool,
    planes: UInt8Array,
) -> None:
    """Writes the plane of points that only ko or superko forbids, in place."""
    num_cells = len(row.heads)
    player = row.facts[TO_PLAY]
    statuses = np.empty(num_cells + 1, np.int8)
    fill_statuses(row, player, statuses)
    planes[KO_PLANE, :] = 0
    if is_finished(row):
        return
    for cell in range(num_cells):
        if row.board[cell] != EMPTY:
            continue
        bits = 0
        for side in range(4):
            bits |= statuses[neighbours[cell, side]]
        is_possible = bits & (AIR | CAPTURE) or (suicide and bits & OWN)
        if is_possible and not is_allowed(row, neighbours, player, cell, bits, ko_rule, suicide):
            planes[KO_PLANE, cell] = 1


@kernel
def fill_history_all(rows: Rows, layout: Layout, observations: UInt8Array) -> None:
    """Maps `fill_history` over the games. `observations`, uint8 [B, C, K], is filled in place."""
    for b in range(len(observations)):
        fill_history(game_row(rows, layout, b), observations[b])


@kernel
def fill_extended_all(
    rows: Rows,
    layout: Layout,
    neighbours: Shorts,
    ko_rule: int,
    suicide: bool,
    komi: float,
    observations: UInt8Array,
) -> None:
    """Writes all extended planes of every game.

    Args:
        rows: the games.
        layout: their layout.
        neighbours: int16 [K, 4].
        ko_rule: as in `moves.is_allowed`.
        suicide: as there.
        komi: points that White gets in all.
        observations: uint8 [B, C, K], filled in place.
    """
    counts = np.empty(layout.num_cells, np.int16)
    for b in range(len(observations)):
        row = game_row(rows, layout, b)
        planes = observations[b]
        fill_history(row, planes)
        fill_liberties(row, neighbours, counts, planes)
        fill_ko(row, neighbours, ko_rule, suicide, planes)
        own_komi = -komi if row.facts[TO_PLAY] == 0 else komi
        for index in range(len(KOMI_STEPS)):
            planes[KOMI_PLANES + index, :] = own_komi >= KOMI_STEPS[index]
