"""Whole games, compiled: which plays are legal, playing them, replaying a game transformed.

A play is checked against the game's earlier boards only where it can recreate one: where it
captures, is a suicide, or stands where a stone of its colour was captured before. Any other play
leaves a board with a stone where none of that colour has been.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.games.go.board import (
    AIR,
    CAPTURE,
    KEYS,
    OWN,
    connect_stone,
    hash_change_of_play,
    is_atari,
    neighbour_bits,
    place_stone,
    stone_status,
)
from alphago.games.go.layout import (
    CAPTURES,
    EMPTY,
    KO_CELL,
    MARK_MOVED,
    MARK_TO_PLAY,
    NO_CELL,
    NUM_MOVES,
    NUM_PASSES,
    NUM_RECENT,
    OFF_BOARD,
    TO_PLAY,
    Layout,
    Row,
    Rows,
    Shorts,
)
from alphago.kernels import kernel
from alphago.types import BoolArray, Int8Array, IntArray

SIMPLE, POSITIONAL, SITUATIONAL = range(3)  # ko rules, in the order of `rules.KO_RULES`
SEEN_MASK = 2**11 - 1


class LegalRoom(NamedTuple):
    """Memory for `fill_legal_actions` to work in; kernels allocate none."""

    statuses: Int8Array  # [K + 2 * width], zeros in the first and the last row
    bits: Int8Array  # [K], of `neighbour_bits`
    doubtful: Shorts  # [K], cells that the ko rule may forbid
    seen: BoolArray  # [SEEN_MASK + 1], see `fill_seen`


def legal_room(layout: Layout) -> LegalRoom:
    """Allocates the memory that finding legal actions needs."""
    return LegalRoom(
        statuses=np.zeros(layout.num_cells + 2 * layout.width, np.int8),
        bits=np.empty(layout.num_cells, np.int8),
        doubtful=np.empty(layout.num_cells, np.uint16),
        seen=np.empty(SEEN_MASK + 1, np.bool_),
    )


@kernel
def game_row(rows: Rows, b: int) -> Row:
    """Returns views of one game's memory."""
    return Row(rows.words[b], rows.shorts[b], rows.bytes_[b])


@kernel
def fact(row: Row, layout: Layout, place: int) -> int:
    """Returns one of the game's facts, such as NUM_MOVES."""
    return int(row.shorts[layout.facts + place])


@kernel
def is_finished(row: Row, layout: Layout) -> bool:
    """Tells whether a game has ended, by two passes or by the largest number of moves."""
    num_moves = fact(row, layout, NUM_MOVES)
    return fact(row, layout, NUM_PASSES) >= 2 or num_moves >= layout.max_moves


@kernel
def is_earlier_position(
    row: Row, layout: Layout, board_hash: int, to_play: int, ko_rule: int
) -> bool:
    """Tells whether a position is one of the game's; `to_play` matters under SITUATIONAL only."""
    num_positions = fact(row, layout, NUM_MOVES) + 1
    hashes = row.words[layout.hashes : layout.hashes + num_positions]
    found = False
    for known in hashes:  # without an early exit, so that it runs on vectors
        found |= known == board_hash
    if not found or ko_rule == POSITIONAL:
        return found
    for t in range(num_positions):
        mark = row.bytes_[layout.marks + t]
        if hashes[t] == board_hash and mark & (MARK_TO_PLAY << to_play):
            return True
    return False


@kernel
def is_possible(bits: int, suicide: bool) -> bool:
    """Tells whether a play on an empty cell with `neighbour_bits` is legal but for ko.

    A suicide needs the rules to allow it, and an own stone beside: that of one stone alone, which
    changes nothing, is never legal.
    """
    return (bits & (AIR | CAPTURE) != 0) | (suicide & (bits & OWN != 0))


@kernel
def may_repeat(bits: int, vacated: int, player: int) -> bool:
    """Tells whether a play can recreate an earlier board; `vacated` is that of its cell."""
    return (bits & CAPTURE != 0) | (bits & AIR == 0) | ((vacated >> player) & 1 != 0)


@kernel
def breaks_ko(row: Row, layout: Layout, player: int, cell: int, bits: int, ko_rule: int) -> bool:
    """Tells whether the ko rule forbids a play that is possible.

    Args:
        row: the game, not over.
        layout: its layout.
        player: whose stone.
        cell: an empty cell.
        bits: its `neighbour_bits`.
        ko_rule: SIMPLE, POSITIONAL or SITUATIONAL.

    Returns:
        Whether it is forbidden.
    """
    if ko_rule == SIMPLE:
        # The ban is on taking back; nothing is taken where the other player fills the ko.
        return cell == fact(row, layout, KO_CELL) and bits & CAPTURE != 0
    if not may_repeat(bits, int(row.bytes_[layout.vacated + cell]), player):
        return False
    before = row.words[layout.hashes + fact(row, layout, NUM_MOVES)]
    after = before ^ hash_change_of_play(row, layout, player, cell, bits)
    return is_earlier_position(row, layout, after, 1 - player, ko_rule)


@kernel
def is_legal(row: Row, layout: Layout, action: int, ko_rule: int, suicide: bool) -> bool:
    """Tells whether the player to move may play an action; any integer may be asked about."""
    num_cells = layout.num_cells
    if is_finished(row, layout) or not 0 <= action <= num_cells:
        return False
    if action == num_cells:
        return True
    if row.bytes_[layout.board + action] != EMPTY:
        return False
    player = fact(row, layout, TO_PLAY)
    bits = neighbour_bits(row, layout, player, action)
    if not is_possible(bits, suicide):
        return False
    return not breaks_ko(row, layout, player, action, bits, ko_rule)


@kernel
def fill_statuses(
    row: Row, layout: Layout, player: int, in_atari: Int8Array, statuses: Int8Array
) -> None:
    """Writes what each cell is to a player's new stone beside it, see `board.stone_status`.

    Args:
        row: the game.
        layout: its layout.
        player: whose new stone.
        in_atari: int8 [K], room to work in.
        statuses: int8 [K], filled in place.
    """
    num_cells = layout.num_cells
    board = row.bytes_[layout.board : layout.board + num_cells]
    heads = row.shorts[layout.heads : layout.heads + num_cells]
    liberties = row.words[layout.liberties : layout.liberties + num_cells]
    # One thing in each loop, so that most of them run on vectors: a sixth of the time.
    for cell in range(num_cells):
        in_atari[cell] = is_atari(liberties[cell])  # of chains, at their heads
    for cell in range(num_cells):
        statuses[cell] = in_atari[heads[cell]]
    for cell in range(num_cells):
        statuses[cell] = stone_status(board[cell], statuses[cell], player)


@kernel
def fill_bits(row: Row, layout: Layout, player: int, statuses: Int8Array, bits: Int8Array) -> None:
    """Writes the `neighbour_bits` of all empty cells, 0 for others.

    Args:
        row: the game.
        layout: its layout.
        player: for whom.
        statuses: int8 [K + 2 * width], room to work in, zeros in the first and the last row.
        bits: int8 [K], filled in place.
    """
    num_cells, width = layout.num_cells, layout.width
    fill_statuses(row, layout, player, bits, statuses[width : width + num_cells])
    above, below = statuses[:num_cells], statuses[2 * width :]
    left, right = statuses[width - 1 :], statuses[width + 1 :]
    has_left, has_right = layout.side_masks[0], layout.side_masks[1]
    board = row.bytes_[layout.board : layout.board + num_cells]
    for cell in range(num_cells):
        beside = (left[cell] & has_left[cell]) | (right[cell] & has_right[cell])
        bits[cell] = (above[cell] | below[cell] | beside) * (board[cell] == EMPTY)


@kernel
def fill_seen(row: Row, layout: Layout, seen: BoolArray) -> None:
    """Writes which remainders the hashes of the game's positions have. `seen` is filled in place.

    What is not seen has not been there. A game has too many positions to go through all of them
    for each of a hundred points where stones were captured.
    """
    seen[:] = False
    for t in range(fact(row, layout, NUM_MOVES) + 1):
        seen[row.words[layout.hashes + t] & SEEN_MASK] = True


@kernel
def fill_legal_actions(
    row: Row, layout: Layout, ko_rule: int, suicide: bool, room: LegalRoom, legal: BoolArray
) -> None:
    """Writes the legal actions of a game that goes on.

    Args:
        row: the game.
        layout: its layout.
        ko_rule: SIMPLE, POSITIONAL or SITUATIONAL.
        suicide: whether suicide of more than one stone is legal.
        room: to work in.
        legal: bool [A], filled in place.
    """
    player, num_cells = fact(row, layout, TO_PLAY), layout.num_cells
    bits, doubtful = room.bits, room.doubtful
    fill_bits(row, layout, player, room.statuses, bits)
    for cell in range(num_cells):
        legal[cell] = is_possible(int(bits[cell]), suicide)
    legal[num_cells] = True
    # Few cells need more. Which ones, no processor can predict, so they are gathered first.
    vacated = row.bytes_[layout.vacated : layout.vacated + num_cells]
    num_doubtful = 0
    for cell in range(num_cells):
        doubtful[num_doubtful] = cell
        num_doubtful += legal[cell] & may_repeat(int(bits[cell]), int(vacated[cell]), player)
    if ko_rule != SIMPLE and num_doubtful > 0:
        fill_seen(row, layout, room.seen)
    board_hash = row.words[layout.hashes + fact(row, layout, NUM_MOVES)]
    for place in range(num_doubtful):
        cell = int(doubtful[place])
        around = int(bits[cell])
        if ko_rule != SIMPLE:
            change = hash_change_of_play(row, layout, player, cell, around)
            if not room.seen[(board_hash ^ change) & SEEN_MASK]:
                continue
        legal[cell] = not breaks_ko(row, layout, player, cell, around, ko_rule)


@kernel
def fill_legal_actions_all(
    rows: Rows, layout: Layout, ko_rule: int, suicide: bool, room: LegalRoom, legal: BoolArray
) -> None:
    """Writes the legal actions of every game. `legal`, bool [B, A], is filled in place."""
    for b in range(len(legal)):
        row = game_row(rows, b)
        if is_finished(row, layout):
            legal[b, :] = False
        else:
            fill_legal_actions(row, layout, ko_rule, suicide, room, legal[b])


@kernel
def record_removals(row: Row, layout: Layout, before: int) -> None:
    """Marks the cells that a play has emptied; `before` is where the board before it starts."""
    for cell in range(layout.num_cells):
        stone = row.bytes_[before + cell]
        if stone != EMPTY and row.bytes_[layout.board + cell] == EMPTY:
            row.bytes_[layout.vacated + cell] |= 1 << stone


@kernel
def play(row: Row, layout: Layout, player: int, action: int) -> None:
    """Plays a legal action, in place; `player` moves, whoever was to."""
    data, shorts, facts = row.bytes_, row.shorts, layout.facts
    num_cells = layout.num_cells
    t = fact(row, layout, NUM_MOVES)
    before = layout.recent + (t % NUM_RECENT) * num_cells
    for cell in range(num_cells):
        data[before + cell] = data[layout.board + cell]
    board_hash = row.words[layout.hashes + t]
    num_passes = fact(row, layout, NUM_PASSES) + 1
    ko_cell = NO_CELL
    if action != num_cells:
        placed = place_stone(row, layout, player, action)
        board_hash ^= placed.hash_change
        num_passes = 0
        ko_cell = placed.ko_cell
        shorts[facts + CAPTURES + player] += placed.num_captured
        shorts[facts + CAPTURES + 1 - player] += placed.num_suicide
        if placed.num_captured + placed.num_suicide > 0:
            record_removals(row, layout, before)
    row.words[layout.hashes + t + 1] = board_hash
    shorts[layout.actions + t] = action
    data[layout.marks + t + 1] = MARK_MOVED * player + (MARK_TO_PLAY << (1 - player))
    shorts[facts + TO_PLAY] = 1 - player
    shorts[facts + NUM_MOVES] = t + 1
    shorts[facts + NUM_PASSES] = num_passes
    shorts[facts + KO_CELL] = ko_cell


@kernel
def play_all(
    rows: Rows,
    layout: Layout,
    ko_rule: int,
    suicide: bool,
    actions: npt.NDArray[np.int64],
    games: npt.NDArray[np.int64],
) -> int:
    """Plays actions [K] in games [K], numbers of `rows`, in place.

    Returns:
        The place of the first illegal action, or -1; the games from there on are as they were.
    """
    for k in range(len(actions)):
        row = game_row(rows, games[k])
        if not is_legal(row, layout, actions[k], ko_rule, suicide):
            return k
        play(row, layout, fact(row, layout, TO_PLAY), actions[k])
    return -1


@kernel
def set_up(row: Row, layout: Layout, to_play: int) -> None:
    """Makes the beginning of a game out of its `setup`, in place; all else in the row is zero."""
    num_cells = layout.num_cells
    for cell in range(num_cells):
        row.bytes_[layout.board + cell] = EMPTY
    row.bytes_[layout.board + num_cells] = OFF_BOARD
    for place in range(NUM_RECENT * num_cells):
        row.bytes_[layout.recent + place] = EMPTY
    row.shorts[layout.facts + TO_PLAY] = to_play
    row.shorts[layout.facts + KO_CELL] = NO_CELL
    row.bytes_[layout.marks] = MARK_TO_PLAY << to_play
    for cell in range(num_cells):
        player = int(row.bytes_[layout.setup + cell])
        if player != EMPTY:
            connect_stone(row, layout, player, cell)
            row.words[layout.hashes] ^= KEYS[player, cell]


@kernel
def set_up_all(rows: Rows, layout: Layout, to_play: int) -> None:
    """Maps `set_up` over the games, in place."""
    for b in range(len(rows.words)):
        set_up(game_row(rows, b), layout, to_play)


@kernel
def replay_all(rows: Rows, layout: Layout, images: IntArray, replayed: Rows) -> None:
    """Plays every game again with each action replaced by its image.

    Args:
        rows: the games.
        layout: of both.
        images: [A], the image of each action.
        replayed: the games as they shall be; `setup` is in place already, all else is zero. The
            rest is filled in place.
    """
    for b in range(len(rows.words)):
        row, image = game_row(rows, b), game_row(replayed, b)
        set_up(image, layout, fact(row, layout, TO_PLAY))
        for t in range(fact(row, layout, NUM_MOVES)):
            player = int(row.bytes_[layout.marks + t + 1]) // MARK_MOVED
            play(image, layout, player, images[row.shorts[layout.actions + t]])
        # What a change of the side to move has left does not follow from the moves.
        for t in range(layout.max_moves + 1):
            image.bytes_[layout.marks + t] = row.bytes_[layout.marks + t]
        for place in (TO_PLAY, NUM_PASSES):
            image.shorts[layout.facts + place] = row.shorts[layout.facts + place]
