"""One Go board, compiled: chains, liberties, captures, hash, and what a play would do.

All functions work on the fields of one position (`layout.Row`): `board`, `heads`, `nexts`,
`liberties`, and the `neighbours` of each cell. Code that plays random games without a history needs
`place_stone` and `neighbour_bits` only.

Chains: a stone's `heads` entry is the cell that stands for its chain, `nexts` leads from stone to
stone around the chain. A chain counts its *pseudo-liberties*, each pair of a stone and an empty
cell beside it, so that placing and removing stones only adds and subtracts. One number holds their
count, their sum and their sum of squares; the last two tell whether all of them are one and the
same cell, that is, whether the chain is in atari.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.games.go.layout import EMPTY, NO_CELL, Row
from alphago.games.go.vertices import MAX_SIZE
from alphago.kernels import kernel
from alphago.types import NUM_PLAYERS, Int8Array

Words = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int16]

# Zobrist keys by player and cell, the same for all board sizes. Source: Zobrist 1970, "A new
# hashing method with application for game playing". The numbers are fixed: states hold hashes.
KEYS = np.random.default_rng(19).integers(
    -(2**63), 2**63, size=(NUM_PLAYERS, MAX_SIZE * MAX_SIZE), dtype=np.int64
)

# Bits of `neighbour_bits`.
AIR = 1  # an empty cell, or an own chain that has another liberty
CAPTURE = 2  # a chain of the opponent whose only liberty this is
OWN = 4  # an own chain

# Count, sum and sum of squares of up to 4 * 625 cell numbers below 625 need 12, 21 and 30 bits.
_SUM_SHIFT = 12
_SQUARES_SHIFT = 33
_COUNT_MASK = (1 << _SUM_SHIFT) - 1
_SUM_MASK = (1 << (_SQUARES_SHIFT - _SUM_SHIFT)) - 1


class Placement(NamedTuple):
    """What placing a stone has done."""

    num_captured: int  # stones of the opponent
    num_suicide: int  # own stones that were removed, the new one included
    hash_change: int  # by exclusive or
    ko_cell: int  # where the opponent must not take back at once, or NO_CELL


@kernel
def liberty(cell: int) -> int:
    """Returns what one pseudo-liberty adds to a chain's liberties."""
    return 1 + (cell << _SUM_SHIFT) + ((cell * cell) << _SQUARES_SHIFT)


@kernel
def is_atari(liberties: int) -> bool:
    """Tells whether all pseudo-liberties are one cell (or there is none).

    Numbers are all equal exactly where their count times the sum of their squares is the square of
    their sum (Cauchy and Schwarz).
    """
    count = liberties & _COUNT_MASK
    total = (liberties >> _SUM_SHIFT) & _SUM_MASK
    return count * (liberties >> _SQUARES_SHIFT) == total * total


@kernel
def neighbour_bits(
    board: Int8Array,
    heads: Shorts,
    liberties: Words,
    neighbours: Shorts,
    player: int,
    cell: int,
) -> int:
    """Returns what a player finds around an empty cell: AIR, CAPTURE and OWN.

    A play with neither AIR nor CAPTURE is a suicide, of one stone if there is no OWN either.
    """
    bits = 0
    for side in range(4):
        beside = neighbours[cell, side]
        stone = board[beside]
        if stone == EMPTY:
            bits |= AIR
        elif stone == player:
            bits |= OWN if is_atari(liberties[heads[beside]]) else OWN | AIR
        elif stone == 1 - player and is_atari(liberties[heads[beside]]):
            bits |= CAPTURE
    return bits


@kernel
def merge_chains(heads: Shorts, nexts: Shorts, liberties: Words, first: int, second: int) -> None:
    """Joins the chains of two heads; the one with more pseudo-liberties keeps its head. In place.

    That is nearly always the larger one, and the stones of the other have to be told.
    """
    if (liberties[first] & _COUNT_MASK) < (liberties[second] & _COUNT_MASK):
        first, second = second, first
    cell = second
    while heads[cell] != first:
        heads[cell] = first
        cell = nexts[cell]
    nexts[first], nexts[second] = nexts[second], nexts[first]
    liberties[first] += liberties[second]
    liberties[second] = 0


@kernel
def remove_chain(
    board: Int8Array,
    heads: Shorts,
    nexts: Shorts,
    liberties: Words,
    neighbours: Shorts,
    head: int,
) -> tuple[int, int]:
    """Takes a chain off the board, in place.

    Returns:
        The number of its stones, and the change of the board's hash.
    """
    player = board[head]
    num_stones = 0
    hash_change = 0
    cell = head
    while board[cell] == player:
        board[cell] = EMPTY
        for side in range(4):
            beside = neighbours[cell, side]
            if 0 <= board[beside] < NUM_PLAYERS:
                liberties[heads[beside]] += liberty(cell)
        hash_change ^= KEYS[player, cell]
        num_stones += 1
        cell = nexts[cell]
    liberties[head] = 0
    return num_stones, hash_change


@kernel
def connect_stone(
    board: Int8Array,
    heads: Shorts,
    nexts: Shorts,
    liberties: Words,
    neighbours: Shorts,
    player: int,
    cell: int,
) -> None:
    """Puts a stone on an empty cell and joins it with own chains; captures nothing. In place."""
    board[cell] = player
    heads[cell] = cell
    nexts[cell] = cell
    liberties[cell] = 0
    own = liberty(cell)
    for side in range(4):
        beside = neighbours[cell, side]
        stone = board[beside]
        if stone == EMPTY:
            liberties[cell] += liberty(int(beside))
        elif 0 <= stone < NUM_PLAYERS:
            liberties[heads[beside]] -= own
    for side in range(4):
        beside = neighbours[cell, side]
        if board[beside] == player and heads[beside] != heads[cell]:
            merge_chains(heads, nexts, liberties, heads[beside], heads[cell])


@kernel
def place_stone(
    board: Int8Array,
    heads: Shorts,
    nexts: Shorts,
    liberties: Words,
    neighbours: Shorts,
    player: int,
    cell: int,
) -> Placement:
    """Plays a stone on an empty cell, legal or not: captures, or else suicide. In place."""
    connect_stone(board, heads, nexts, liberties, neighbours, player, cell)
    hash_change = KEYS[player, cell]
    num_captured = 0
    ko_cell = NO_CELL
    for side in range(4):
        beside = int(neighbours[cell, side])
        if board[beside] == 1 - player and liberties[heads[beside]] == 0:
            num_stones, change = remove_chain(
                board, heads, nexts, liberties, neighbours, heads[beside]
            )
            num_captured += num_stones
            hash_change ^= change
            ko_cell = beside
    num_suicide = 0
    if liberties[heads[cell]] == 0:
        num_suicide, change = remove_chain(board, heads, nexts, liberties, neighbours, heads[cell])
        hash_change ^= change
    # A ko: one stone took one stone, and its only liberty is where that one was.
    is_ko = num_captured == 1 and nexts[cell] == cell and liberties[cell] == liberty(ko_cell)
    return Placement(num_captured, num_suicide, hash_change, ko_cell if is_ko else NO_CELL)


@kernel
def chain_hash(nexts: Shorts, player: int, head: int) -> int:
    """Returns the hash of a chain's stones."""
    result = KEYS[player, head]
    cell = nexts[head]
    while cell != head:
        result ^= KEYS[player, cell]
        cell = nexts[cell]
    return result


@kernel
def hash_change_of_play(row: Row, neighbours: Shorts, player: int, cell: int, bits: int) -> int:
    """Returns how a play would change the hash, without playing it. `bits`: `neighbour_bits`."""
    board = row.board
    loser = player
    change = 0
    if bits & (AIR | CAPTURE):
        loser = 1 - player
        change = KEYS[player, cell]
    # Otherwise a suicide: the new stone goes with its neighbours, nothing is left of it.
    if bits & AIR and not bits & CAPTURE:
        return change
    for side in range(4):
        beside = neighbours[cell, side]
        if board[beside] == loser and is_atari(row.liberties[row.heads[beside]]):
            head = row.heads[beside]
            is_new = True
            for earlier in range(side):
                other = neighbours[cell, earlier]
                if board[other] == loser and row.heads[other] == head:
                    is_new = False
            if is_new:
                change ^= chain_hash(row.nexts, loser, head)
    return change
