"""One Go board, compiled: chains, liberties, captures, hash, and what a play would do.

Chains: a stone's entry in `heads` is the cell that stands for its chain, its entry in `nexts` leads
to the next stone around the chain. A chain counts its *pseudo-liberties*, each pair of a stone and
an empty cell beside it, so that placing and removing stones only adds and subtracts. One number
holds their count, their sum and their sum of squares; these tell whether all of them are one and
the same cell, that is, whether the chain is in atari.
"""

from typing import NamedTuple

import numpy as np

from alphago.games.go.layout import EMPTY, NO_CELL, Layout, Row
from alphago.games.go.vertices import MAX_SIZE
from alphago.kernels import kernel
from alphago.types import NUM_PLAYERS

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


class Removal(NamedTuple):
    """What taking a chain off the board has done."""

    num_stones: int
    hash_change: int  # by exclusive or


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
def chain_liberties(row: Row, layout: Layout, cell: int) -> int:
    """Returns the liberties of the chain of the stone on a cell, in the form of `liberty`."""
    return int(row.words[layout.liberties + row.shorts[layout.heads + cell]])


@kernel
def stone_status(stone: int, in_atari: int, player: int) -> int:
    """Returns what a cell is to a player's new stone beside it: AIR, OWN, CAPTURE or nothing.

    Args:
        stone: what is on the cell.
        in_atari: 1 if the stone's chain has one liberty, else 0; any where there is no stone.
        player: whose new stone.

    Returns:
        The bits.
    """
    # Products instead of branches: no processor can predict what the next cell holds.
    empty, own = int(stone == EMPTY), int(stone == player)
    return empty * AIR + own * (OWN + (1 - in_atari) * AIR) + (1 - empty - own) * in_atari * CAPTURE


@kernel
def neighbour_bits(row: Row, layout: Layout, player: int, cell: int) -> int:
    """Returns what a player finds around an empty cell: AIR, CAPTURE and OWN.

    A play with neither AIR nor CAPTURE is a suicide, of one stone if there is no OWN either.
    """
    bits = 0
    for side in range(4):
        beside = int(layout.neighbours[cell, side])
        if beside != layout.num_cells:
            in_atari = int(is_atari(chain_liberties(row, layout, beside)))
            bits |= stone_status(row.bytes_[layout.board + beside], in_atari, player)
    return bits


@kernel
def merge_chains(row: Row, layout: Layout, first: int, second: int) -> None:
    """Joins the chains of two heads; the one with more pseudo-liberties keeps its head. In place.

    That is nearly always the larger one, and the stones of the other have to be told.
    """
    words, shorts = row.words, row.shorts
    heads, nexts, liberties = layout.heads, layout.nexts, layout.liberties
    if (words[liberties + first] & _COUNT_MASK) < (words[liberties + second] & _COUNT_MASK):
        first, second = second, first
    cell = second
    while shorts[heads + cell] != first:
        shorts[heads + cell] = first
        cell = int(shorts[nexts + cell])
    behind = shorts[nexts + first]
    shorts[nexts + first] = shorts[nexts + second]
    shorts[nexts + second] = behind
    words[liberties + first] += words[liberties + second]
    words[liberties + second] = 0


@kernel
def remove_chain(row: Row, layout: Layout, head: int) -> Removal:
    """Takes the chain of a head off the board, in place."""
    board, liberties, heads = layout.board, layout.liberties, layout.heads
    player = row.bytes_[board + head]
    num_stones = 0
    hash_change = 0
    cell = head
    while row.bytes_[board + cell] == player:
        row.bytes_[board + cell] = EMPTY
        for side in range(4):
            beside = int(layout.neighbours[cell, side])
            if 0 <= row.bytes_[board + beside] < NUM_PLAYERS:
                row.words[liberties + row.shorts[heads + beside]] += liberty(cell)
        hash_change ^= KEYS[player, cell]
        num_stones += 1
        cell = int(row.shorts[layout.nexts + cell])
    row.words[liberties + head] = 0
    return Removal(num_stones, hash_change)


@kernel
def connect_stone(row: Row, layout: Layout, player: int, cell: int) -> None:
    """Puts a stone on an empty cell and joins it with own chains; captures nothing. In place."""
    board, liberties, heads = layout.board, layout.liberties, layout.heads
    row.bytes_[board + cell] = player
    row.shorts[heads + cell] = cell
    row.shorts[layout.nexts + cell] = cell
    own_liberties = 0
    for side in range(4):
        beside = int(layout.neighbours[cell, side])
        stone = row.bytes_[board + beside]
        if stone == EMPTY:
            own_liberties += liberty(beside)
        elif stone < NUM_PLAYERS:
            row.words[liberties + row.shorts[heads + beside]] -= liberty(cell)
    row.words[liberties + cell] = own_liberties
    for side in range(4):
        beside = int(layout.neighbours[cell, side])
        if row.bytes_[board + beside] == player:
            head, own_head = int(row.shorts[heads + beside]), int(row.shorts[heads + cell])
            if head != own_head:
                merge_chains(row, layout, head, own_head)


@kernel
def place_stone(row: Row, layout: Layout, player: int, cell: int) -> Placement:
    """Plays a stone on an empty cell, legal or not: captures, or else suicide. In place."""
    connect_stone(row, layout, player, cell)
    hash_change = KEYS[player, cell]
    num_captured = 0
    ko_cell = NO_CELL
    for side in range(4):
        beside = int(layout.neighbours[cell, side])
        if row.bytes_[layout.board + beside] != 1 - player:
            continue
        if chain_liberties(row, layout, beside) == 0:
            captured = remove_chain(row, layout, int(row.shorts[layout.heads + beside]))
            num_captured += captured.num_stones
            hash_change ^= captured.hash_change
            ko_cell = beside
    num_suicide = 0
    if chain_liberties(row, layout, cell) == 0:
        removed = remove_chain(row, layout, int(row.shorts[layout.heads + cell]))
        num_suicide = removed.num_stones
        hash_change ^= removed.hash_change
    # A ko: one stone took one stone, and its only liberty is where that one was.
    is_single = row.shorts[layout.nexts + cell] == cell
    own_liberties = row.words[layout.liberties + cell]
    if not (num_captured == 1 and is_single and own_liberties == liberty(ko_cell)):
        ko_cell = NO_CELL
    return Placement(num_captured, num_suicide, hash_change, ko_cell)


@kernel
def chain_hash(row: Row, layout: Layout, head: int) -> int:
    """Returns the hash of a chain's stones."""
    player = row.bytes_[layout.board + head]
    result = int(KEYS[player, head])
    cell = int(row.shorts[layout.nexts + head])
    while cell != head:
        result ^= KEYS[player, cell]
        cell = int(row.shorts[layout.nexts + cell])
    return result


@kernel
def is_first_side(row: Row, layout: Layout, cell: int, side: int) -> bool:
    """Tells whether no earlier neighbour of a cell is a stone of the same chain."""
    beside = int(layout.neighbours[cell, side])
    head = row.shorts[layout.heads + beside]
    for earlier in range(side):
        other = int(layout.neighbours[cell, earlier])
        is_stone = 0 <= row.bytes_[layout.board + other] < NUM_PLAYERS
        if is_stone and row.shorts[layout.heads + other] == head:
            return False
    return True


@kernel
def hash_change_of_play(row: Row, layout: Layout, player: int, cell: int, bits: int) -> int:
    """Returns how a play would change the hash, without playing it. `bits`: `neighbour_bits`."""
    if bits & CAPTURE:
        loser, change = 1 - player, int(KEYS[player, cell])
    elif bits & AIR:
        return int(KEYS[player, cell])
    else:  # a suicide: the new stone goes with its neighbours, nothing is left of it
        loser, change = player, 0
    for side in range(4):
        beside = int(layout.neighbours[cell, side])
        if (
            row.bytes_[layout.board + beside] == loser
            and is_atari(chain_liberties(row, layout, beside))
            and is_first_side(row, layout, cell, side)
        ):
            change ^= chain_hash(row, layout, int(row.shorts[layout.heads + beside]))
    return change
