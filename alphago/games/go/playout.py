"""Random playouts, compiled: the value of a position by playing it to the end at random.

*Light* playouts are those of Monte-Carlo Go: every move that is legal and fills no own eye is
equally likely, and a player passes only when there is none. They end on boards without dead stones,
whose area is counted whatever the scoring; ko is the simple one, suicide is never legal. In
*uniform* playouts all legal actions by the game's rules, the pass included, are equally likely:
slow and weak, and what other programs' figures are about. Sources: Browne et al. 2012, "A Survey of
Monte Carlo Tree Search Methods"; Gelly and Silver 2011, "Monte-Carlo tree search and rapid action
value estimation in computer Go".
"""

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from alphago.games.game import check_states
from alphago.games.go.layout import (
    EMPTY,
    KO_CELL,
    NO_CELL,
    NUM_MOVES,
    NUM_PASSES,
    OFF_BOARD,
    TO_PLAY,
    Layout,
    Row,
    Rows,
    Shorts,
    go_layout,
    go_rows,
)
from alphago.games.go.light_board import (
    BORDER,
    LIGHT_BOARD,
    MAX_POINTS,
    NO_POINT,
    clear_board,
    copy_board,
    count_points,
    is_legal,
    is_own_eye,
    point_of,
    put_stone,
    set_colours,
    set_stones,
    swap_places,
)
from alphago.games.go.moves import fact, game_row, is_finished, play
from alphago.games.go.moves import is_legal as is_legal_by_the_rules
from alphago.games.go.rules import KO_RULES
from alphago.games.go.scoring import fill_owners
from alphago.games.random_bits import Streams, draw_below, new_streams
from alphago.kernels import kernel
from alphago.types import BoolArray, FloatArray, Int8Array, States

if TYPE_CHECKING:
    from alphago.games.go.game import Go

MOVES_PER_POINT = 3  # a light playout's longest: two kos at once could go on for ever

_layout = functools.cache(go_layout)  # making one takes longer than a playout
_SIGNS = np.array([1, -1], np.float32)  # what a player id wins when Black does


class PlayoutResult(NamedTuple):
    """How the random playouts of a batch of positions ended."""

    scores: FloatArray  # [B, num_playouts], Black's area minus White's, komi and bonus included
    owners: FloatArray  # [B, H, W], mean owner of each point: 1 Black, -1 White


def random_playouts(
    game: "Go", states: States, *, num_playouts: int, rng: np.random.Generator
) -> PlayoutResult:
    """Plays light playouts from every position; from a finished one no more move is played.

    Args:
        game: the rules; only komi, handicap bonus and the size of the board matter.
        states: [B] positions.
        num_playouts: playouts of each, at least 1.
        rng: where the randomness comes from.

    Returns:
        Their scores and who owned which point.

    Raises:
        StateError: if the states are not those of the game.
    """
    check_states(game, states)
    num_cells = game.height * game.width
    result = PlayoutResult(
        np.empty((len(states), num_playouts), np.float32),
        np.zeros((len(states), game.height, game.width), np.float32),
    )
    play_out_all(
        game.board(states),
        np.ascontiguousarray(states["facts"]),
        game.spec.max_moves,
        _layout(game.height, game.width, game.spec.max_moves).neighbours,
        game.rules.komi + game.rules.bonus(game.handicap),
        new_streams(len(states), rng),
        np.empty(2, LIGHT_BOARD),
        np.full(num_cells + 1, OFF_BOARD, np.int8),
        np.empty(num_cells + 1, np.int8),
        *result,
    )
    return result


def playout_returns(game: "Go", states: States, *, rng: np.random.Generator) -> FloatArray:
    """Plays one light playout from every position.

    Args:
        game: the rules.
        states: [B] positions.
        rng: where the randomness comes from.

    Returns:
        float32 [B, P], the results by player id; those of finished games are the game's own.
    """
    scores = random_playouts(game, states, num_playouts=1, rng=rng).scores
    results: FloatArray = np.sign(scores) * _SIGNS
    is_over = game.is_over(states)
    if is_over.any():
        results[is_over] = game.returns(states[is_over])
    return results


def playout_actions(game: "Go", states: States) -> BoolArray:
    """Finds the legal actions that are worth trying.

    They are the plays that fill no own eye; if there is none, the pass. Where the opponent has
    passed and the board as it is wins, nothing can be better than to pass too.

    Args:
        game: the rules.
        states: [B] positions.

    Returns:
        bool [B, A], all False in a finished game.
    """
    actions = game.legal_actions(states)
    actions &= ~own_eyes(game, states)
    actions[:, -1] &= ~actions[:, :-1].any(axis=1)
    facts = states["facts"]
    if (facts[:, NUM_PASSES] == 1).any():
        scores = game.score(states)
        wins = np.where(facts[:, TO_PLAY] == 0, scores > 0, scores < 0)
        ends_won = (facts[:, NUM_PASSES] == 1) & wins & ~game.is_over(states)
        actions[ends_won] = np.arange(actions.shape[1]) == game.spec.pass_action
    return actions


def own_eyes(game: "Go", states: States) -> BoolArray:
    """Finds the eyes of the players to move, see `is_own_eye`.

    Args:
        game: the rules.
        states: [B] positions.

    Returns:
        bool [B, A], True where a play would fill one, be it legal or not; never a pass.
    """
    eyes = np.zeros((len(states), game.spec.num_actions), np.bool_)
    facts = np.ascontiguousarray(states["facts"])
    board, room = np.empty(1, LIGHT_BOARD), np.empty(MAX_POINTS, np.bool_)
    find_own_eyes_all(game.board(states), facts, board, room, eyes)
    return eyes


def play_uniformly(game: "Go", states: States, *, rng: np.random.Generator) -> States:
    """Plays every game to its end by the game's own rules, all legal actions equally likely.

    Args:
        game: the rules.
        states: [B] positions.
        rng: where the randomness comes from.

    Returns:
        [B] finished games.
    """
    check_states(game, states)
    states = states.copy()
    play_uniformly_all(
        go_rows(states),
        _layout(game.height, game.width, game.spec.max_moves),
        KO_RULES.index(game.rules.ko),
        game.rules.suicide,
        new_streams(len(states), rng),
    )
    return states


@kernel
def draw_point(board: np.void, player: int, stride: int, stream: Streams) -> int:
    """Draws a legal point that is no own eye, all of them equally likely; NO_POINT if none is left.

    Points that turn out to be neither are moved behind those still to draw from.
    """
    num_left = board["num_empty"]
    while num_left > 0:
        place = draw_below(stream, num_left)
        point = board["empty_points"][place]
        if not is_own_eye(board, point, player, stride) and is_legal(board, point, player, stride):
            return int(point)
        num_left -= 1
        swap_places(board, place, num_left)
    return NO_POINT


@kernel
def play_out(
    board: np.void, player: int, num_passes: int, stride: int, max_moves: int, stream: Streams
) -> None:
    """Plays random moves until two passes in a row, or `max_moves` of them. In place."""
    for _ in range(max_moves):
        if num_passes >= 2:
            break
        point = draw_point(board, player, stride, stream)
        if point == NO_POINT:
            num_passes += 1
            board["ko_point"] = NO_POINT
        else:
            num_passes = 0
            put_stone(board, point, player, stride)
        player = 1 - player


@kernel
def count_area(
    board: np.void, neighbours: Shorts, cells: Int8Array, reached: Int8Array, owners: FloatArray
) -> int:
    """Returns Black's points minus White's; adds 1 and -1 for them to `owners` [H, W], in place.

    `cells`, with OFF_BOARD at the end, and `reached`, int8 [K + 1] each, are room to work in.
    """
    height, width = owners.shape
    for row in range(height):
        for column in range(width):
            cells[row * width + column] = board["colours"][point_of(row * width + column, width)]
    fill_owners(cells, neighbours, reached)
    difference = 0
    for row in range(height):
        for column in range(width):
            owner = cells[row * width + column]
            if owner != EMPTY:
                points = 1 - 2 * owner
                difference += points
                owners[row, column] += points
    return difference


@kernel
def play_out_all(
    stones: Int8Array,
    facts: Shorts,
    game_max_moves: int,
    neighbours: Shorts,
    white_bonus: float,
    streams: Streams,
    boards: States,
    cells: Int8Array,
    reached: Int8Array,
    scores: FloatArray,
    owners: FloatArray,
) -> None:
    """Plays every position out as often as `scores` has columns.

    Args:
        stones: int8 [B, H, W].
        facts: uint16 [B, 6], see `layout`.
        game_max_moves: moves after which a game is over.
        neighbours: uint16 [K, 4].
        white_bonus: points White gets.
        streams: uint64 [B].
        boards: [2] rows of LIGHT_BOARD, room to work in.
        cells: int8 [K + 1] with OFF_BOARD at the end, likewise.
        reached: int8 [K + 1], likewise.
        scores: float32 [B, num_playouts], filled in place.
        owners: float32 [B, H, W], zeros, filled in place.
    """
    num_games, height, width = stones.shape
    start, board = boards[0], boards[1]
    for b in range(num_games):
        clear_board(start, height, width)
        set_stones(start, stones[b])
        if facts[b, KO_CELL] != NO_CELL:
            start["ko_point"] = point_of(facts[b, KO_CELL], width)
        is_cut_off = facts[b, NUM_MOVES] >= game_max_moves
        num_passes = 2 if is_cut_off else facts[b, NUM_PASSES]
        for i in range(scores.shape[1]):
            copy_board(start, board, count_points(height, width))
            play_out(
                board,
                facts[b, TO_PLAY],
                num_passes,
                width + 1,
                MOVES_PER_POINT * height * width,
                streams[b : b + 1],
            )
            area = count_area(board, neighbours, cells, reached, owners[b])
            scores[b, i] = area - white_bonus
        for cell in range(height * width):
            owners[b, cell // width, cell % width] /= scores.shape[1]


@kernel
def find_own_eyes(
    board: np.void, player: int, height: int, width: int, room: BoolArray, eyes: BoolArray
) -> None:
    """Finds the eyes of a player on a board whose colours are set.

    Nearly all points lack a wall of own stones, which is looked for without a branch.

    Args:
        board: row of LIGHT_BOARD.
        player: whose eyes.
        height: rows.
        width: columns.
        room: bool [P], of the points with the border, room to work in.
        eyes: bool [A], filled in place but for the last, the pass.
    """
    colours, stride = board["colours"], width + 1
    for point in range(count_points(height, width)):
        room[point] = (colours[point] == player) | (colours[point] == BORDER)
    for row in range(height):
        first = point_of(row * width, width)
        for column in range(width):
            point = first + column
            beside = room[point - 1] & room[point + 1]
            walled = beside & room[point - stride] & room[point + stride]
            eyes[row * width + column] = walled & (colours[point] == EMPTY)
    for cell in range(height * width):
        if eyes[cell]:
            eyes[cell] = is_own_eye(board, point_of(cell, width), player, stride)


@kernel
def find_own_eyes_all(
    stones: Int8Array, facts: Shorts, boards: States, room: BoolArray, eyes: BoolArray
) -> None:
    """Finds the eyes of the players to move.

    Args:
        stones: int8 [B, H, W].
        facts: uint16 [B, 6], see `layout`.
        boards: [1] row of LIGHT_BOARD, room to work in.
        room: bool [P], likewise.
        eyes: bool [B, A], filled in place but for the last column, the pass.
    """
    num_games, height, width = stones.shape
    board = boards[0]
    clear_board(board, height, width)
    for b in range(num_games):
        set_colours(board, stones[b])
        find_own_eyes(board, facts[b, TO_PLAY], height, width, room, eyes[b])


@kernel
def draw_action(row: Row, layout: Layout, ko_rule: int, suicide: bool, stream: Streams) -> int:
    """Draws a legal action of an unfinished game, all of them equally likely."""
    while True:  # the pass is always legal
        action = draw_below(stream, layout.num_cells + 1)
        if is_legal_by_the_rules(row, layout, action, ko_rule, suicide):
            return action


@kernel
def play_uniformly_all(
    rows: Rows, layout: Layout, ko_rule: int, suicide: bool, streams: Streams
) -> None:
    """Plays every game to its end, in place, with one stream each."""
    for b in range(len(streams)):
        row = game_row(rows, b)
        while not is_finished(row, layout):
            action = draw_action(row, layout, ko_rule, suicide, streams[b : b + 1])
            play(row, layout, fact(row, layout, TO_PLAY), action)
