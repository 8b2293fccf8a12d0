"""Whole games, compiled: which plays are legal, playing them, replaying a game transformed.

A play is checked against the game's earlier boards only where it can recreate one: where it
captures, is a suicide, or stands where a stone of its colour was captured before. Any other play
leaves a board with a stone where none of that colour has been.
"""

import numpy as np
import numpy.typing as npt

from alphago.games.go.board import (
    AIR,
    CAPTURE,
    KEYS,
    OWN,
    Shorts,
    connect_stone,
    hash_change_of_play,
    is_atari,
    neighbour_bits,
    place_stone,
)
from alphago.games.go.layout import (
    CAPTURES,
    EMPTY,
    KO_CELL,
    MARK_MOVED,
    MARK_TO_PLAY,
    NO_CELL,
    NUM_FACTS,
    NUM_MOVES,
    NUM_PASSES,
    NUM_RECENT,
    OFF_BOARD,
    TO_PLAY,
    Layout,
    Row,
    Rows,
)
from alphago.kernels import kernel
from alphago.types import BoolArray, Int8Array

SIMPLE, POSITIONAL, SITUATIONAL = range(3)  # ko rules, in the order of `rules.KO_RULES`


@kernel
def game_row(rows: Rows, layout: Layout, b: int) -> Row:
    """Returns views of the fields of one game."""
    words, shorts, data = rows.words[b], rows.shorts[b], rows.bytes_[b]
    num_cells, max_moves = layout.num_cells, layout.max_moves
    return Row(
        words[layout.hashes : layout.hashes + max_moves + 1],
        words[layout.liberties : layout.liberties + num_cells],
        shorts[layout.facts : layout.facts + NUM_FACTS],
        shorts[layout.actions : layout.actions + max_moves],
        shorts[layout.heads : layout.heads + num_cells],
        shorts[layout.nexts : layout.nexts + num_cells],
        data[layout.marks : layout.marks + max_moves + 1],
        data[layout.board : layout.board + num_cells + 1],
        data[layout.setup : layout.setup + num_cells],
        data[layout.recent : layout.recent + NUM_RECENT * num_cells],
        data[layout.vacated : layout.vacated + num_cells],
    )


@kernel
def is_finished(row: Row) -> bool:
    """Tells whether a game has ended, by two passes or by the largest number of moves."""
    return row.facts[NUM_PASSES] >= 2 or row.facts[NUM_MOVES] >= len(row.actions)


@kernel
def is_earlier_position(row: Row, board_hash: int, to_play: int, ko_rule: int) -> bool:
    """Tells whether a position is one of the game's; `to_play` matters under SITUATIONAL only."""
    num_positions = row.facts[NUM_MOVES] + 1
    found = False
    for t in range(num_positions):  # without an early exit, so that it runs on vectors
        found |= row.hashes[t] == board_hash
    if not found or ko_rule == POSITIONAL:
        return found
    for t in range(num_positions):
        if row.hashes[t] == board_hash and row.marks[t] & (MARK_TO_PLAY << to_play):
            return True
    return False


@kernel
def is_allowed(
    row: Row,
    neighbours: Shorts,
    player: int,
    cell: int,
    bits: int,
    ko_rule: int,
    suicide: bool,
) -> bool:
    """Tells whether a player may play on an empty cell: the one function that knows legality.

    Args:
        row: the game, not over.
        neighbours: int16 [K, 4].
        player: whose stone.
        cell: an empty cell.
        bits: its `neighbour_bits`.
        ko_rule: SIMPLE, POSITIONAL or SITUATIONAL.
        suicide: whether suicide of more than one stone is legal.

    Returns:
        Whether it is legal.
    """
    if not bits & (AIR | CAPTURE) and not (suicide and bits & OWN):
        return False
    if ko_rule == SIMPLE:
        # The ban is on taking back; nothing is taken where the other player fills the ko.
        return not (cell == row.facts[KO_CELL] and bits & CAPTURE)
    if bits & AIR and not bits & CAPTURE and not (row.vacated[cell] >> player) & 1:
        return True
    change = hash_change_of_play(row, neighbours, player, cell, bits)
    board_hash = row.hashes[row.facts[NUM_MOVES]] ^ change
    return not is_earlier_position(row, board_hash, 1 - player, ko_rule)


@kernel
def is_legal(row: Row, neighbours: Shorts, action: int, ko_rule: int, suicide: bool) -> bool:
    """Tells whether the player to move may play an action; any integer may be asked about."""
    num_cells = len(row.heads)
    if is_finished(row) or not 0 <= action <= num_cells:
        return False
    if action == num_cells:
        return True
    if row.board[action] != EMPTY:
        return False
    player = row.facts[TO_PLAY]
    bits = neighbour_bits(row.board, row.heads, row.liberties, neighbours, player, action)
    return is_allowed(row, neighbours, player, action, bits, ko_rule, suicide)


@kernel
def fill_statuses(row: Row, player: int, statuses: Int8Array) -> None:
    """Writes what each cell is to a stone beside it: AIR, CAPTURE, OWN, or nothing.

    `statuses`, int8 [K + 1], is filled in place; the `neighbour_bits` of a cell are those of its
    neighbours together.
    """
    for cell in range(len(row.heads)):
        stone = row.board[cell]
        if stone == EMPTY:
            statuses[cell] = AIR
        elif is_atari(row.liberties[row.heads[cell]]):
            statuses[cell] = OWN if stone == player else CAPTURE
        else:
            statuses[cell] = OWN | AIR if stone == player else 0
    statuses[len(row.heads)] = 0


@kernel
def fill_legal_actions_all(
    rows: Rows,
    layout: Layout,
    neighbours: Shorts,
    ko_rule: int,
    suicide: bool,
    legal: BoolArray,
) -> None:
    """Writes the legal actions of every game. `legal`, bool [B, A], is filled in place."""
    num_cells = layout.num_cells
    statuses = np.empty(num_cells + 1, np.int8)
    for b in range(len(legal)):
        row = game_row(rows, layout, b)
        if is_finished(row):
            legal[b, :] = False
            continue
        player = row.facts[TO_PLAY]
        fill_statuses(row, player, statuses)
        for cell in range(num_cells):
            if row.board[cell] != EMPTY:
                legal[b, cell] = False
                continue
            bits = (
                statuses[neighbours[cell, 0]]
                | statuses[neighbours[cell, 1]]
                | statuses[neighbours[cell, 2]]
                | statuses[neighbours[cell, 3]]
            )
            legal[b, cell] = is_allowed(row, neighbours, player, cell, bits, ko_rule, suicide)
        legal[b, num_cells] = True


@kernel
def record_removals(before: Int8Array, row: Row) -> None:
    """Marks the cells that a play has emptied; `before` [K] is the board before it. In place."""
    for cell in range(len(row.vacated)):
        if row.board[cell] == EMPTY and before[cell] != EMPTY:
            row.vacated[cell] |= 1 << before[cell]


@kernel
def play(row: Row, neighbours: Shorts, player: int, action: int) -> None:
    """Plays a legal action, in place; `player` moves, whoever was to."""
    facts = row.facts
    num_cells = len(row.heads)
    t = facts[NUM_MOVES]
    start = (t % NUM_RECENT) * num_cells
    before = row.recent[start : start + num_cells]
    before[:] = row.board[:num_cells]
    board_hash = row.hashes[t]
    facts[KO_CELL] = NO_CELL
    if action == num_cells:
        facts[NUM_PASSES] += 1
    else:
        placement = place_stone(
            row.board, row.heads, row.nexts, row.liberties, neighbours, player, action
        )
        board_hash ^= placement.hash_change
        facts[NUM_PASSES] = 0
        facts[KO_CELL] = placement.ko_cell
        facts[CAPTURES + player] += placement.num_captured
        facts[CAPTURES + 1 - player] += placement.num_suicide
        if placement.num_captured + placement.num_suicide > 0:
            record_removals(before, row)
    row.actions[t] = action
    row.hashes[t + 1] = board_hash
    row.marks[t + 1] = (MARK_MOVED * player) | (MARK_TO_PLAY << (1 - player))
    facts[NUM_MOVES] = t + 1
    facts[TO_PLAY] = 1 - player


@kernel
def play_all(
    rows: Rows,
    layout: Layout,
    neighbours: Shorts,
    ko_rule: int,
    suicide: bool,
    actions: npt.NDArray[np.int64],
) -> int:
    """Plays actions [B] in every game, in place.

    Returns:
        The first row whose action is illegal, or -1; the rows from there on are as they were.
    """
    for b in range(len(actions)):
        row = game_row(rows, layout, b)
        if not is_legal(row, neighbours, actions[b], ko_rule, suicide):
            return b
        play(row, neighbours, row.facts[TO_PLAY], actions[b])
    return -1


@kernel
def set_up(row: Row, neighbours: Shorts, to_play: int) -> None:
    """Makes the beginning of a game out of `row.setup`, in place; all else in the row is zero."""
    num_cells = len(row.heads)
    row.board[:] = EMPTY
    row.board[num_cells] = OFF_BOARD
    row.recent[:] = EMPTY
    row.facts[TO_PLAY] = to_play
    row.facts[KO_CELL] = NO_CELL
    row.marks[0] = MARK_TO_PLAY << to_play
    for cell in range(num_cells):
        player = row.setup[cell]
        if player != EMPTY:
            connect_stone(row.board, row.heads, row.nexts, row.liberties, neighbours, player, cell)
            row.hashes[0] ^= KEYS[player, cell]


@kernel
def set_up_all(rows: Rows, layout: Layout, neighbours: Shorts, to_play: int) -> None:
    """Maps `set_up` over the games, in place."""
    for b in range(len(rows.words)):
        set_up(game_row(rows, layout, b), neighbours, to_play)


@kernel
def replay_all(
    rows: Rows,
    layout: Layout,
    neighbours: Shorts,
    images: npt.NDArray[np.int64],
    replayed: Rows,
) -> None:
    """Plays every game again with each action replaced by its image.

    Args:
        rows: the games.
        layout: of both.
        neighbours: int16 [K, 4].
        images: [A], the image of each action.
        replayed: the games as they shall be; `setup` is in place already, all else is zero. The
            rest is filled in place.
    """
    for b in range(len(rows.words)):
        row = game_row(rows, layout, b)
        image = game_row(replayed, layout, b)
        set_up(image, neighbours, row.facts[TO_PLAY])
        for t in range(row.facts[NUM_MOVES]):
            player = (row.marks[t + 1] & MARK_MOVED) // MARK_MOVED
            play(image, neighbours, player, images[row.actions[t]])
        # What a change of the side to move has left here does not follow from the moves.
        image.facts[TO_PLAY] = row.facts[TO_PLAY]
        image.facts[NUM_PASSES] = row.facts[NUM_PASSES]
        image.marks[:] = row.marks
