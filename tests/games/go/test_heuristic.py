"""Guesses on Go boards: colours, komi, stones that can be captured, distances."""

import numpy as np
import pytest

from alphago.games import make_game
from alphago.games.go.heuristic import (
    FAR,
    POINT,
    count_stones,
    fill_distances,
    heuristic_room,
    point_share,
)
from alphago.games.go.layout import OFF_BOARD, Row, go_layout, go_rows
from alphago.games.random_play import random_states
from alphago.types import EMPTY
from tests.games.go.drawn import drawn


def lead(game, states):
    """Returns by how many points the player to move of a position [1] seems to lead."""
    value = float(game.heuristic_values(states)[0])
    return value / (1 - abs(value)) * np.sqrt(game.height * game.width)


def distances_on(drawing, player):
    lines = drawing.split()
    layout = go_layout(len(lines), len(lines[0]), 1)
    room = heuristic_room(layout.num_cells)
    room.board[:-1] = [".XO".index(mark) - 1 for mark in "".join(lines)]
    room.board[-1] = OFF_BOARD
    fill_distances(layout, player, room)
    return room.distances[player, :-1].reshape(len(lines), -1)


@pytest.mark.parametrize("rules", ["chinese", "japanese"])
def test_with_colours_swapped_and_no_komi_the_value_is_the_same(rules):
    game = make_game(f"go_7x7:rules={rules},komi=0")
    for state in np.split(random_states(game, np.random.default_rng(0), num_rows=20), 20):
        board = game.board(state)[0].reshape(-1)
        black, white = np.flatnonzero(board == 0), np.flatnonzero(board == 1)
        to_play = int(game.to_play(state)[0])
        as_it_is = game.position(black, white, to_play)
        swapped = game.position(white, black, 1 - to_play)
        assert game.heuristic_values(as_it_is) == game.heuristic_values(swapped)


def test_the_view_is_that_of_the_player_to_move():
    game, states = drawn("..... .XXX. ..... ..O.. .....", komi="0")
    black = lead(game, states)
    assert black > 0
    assert lead(game, game.with_to_play(states, 1)) == pytest.approx(-black, rel=1e-5)


def test_komi_counts_for_white():
    game, states = drawn("..... .X... ..... ...O. .....", komi="0")
    assert lead(game, states) == 0
    game, states = drawn("..... .X... ..... ...O. .....", komi="7.5")
    assert lead(game, states) == pytest.approx(-7.5, rel=1e-5)
    assert lead(game, game.with_to_play(states, 1)) == pytest.approx(7.5, rel=1e-5)


def test_handicap_points_count_for_white():
    points = [
        lead(game, game.initial_states(1))
        for game in (make_game(f"go_9x9:komi=0,handicap=4,handicap_bonus={n}") for n in ("0", "N"))
    ]
    assert points[1] - points[0] == pytest.approx(4, rel=1e-3)  # White is to move


def test_distances_lead_around_the_opponents_stones():
    distances = distances_on("X.O. ..O. ..O. ....", 0)
    assert distances[3].tolist() == [3, 4, 5, 6]
    assert distances[:, 3].tolist() == [9, 8, 7, 6]
    assert (distances[:3, 2] == FAR).all()
    assert (distances_on("X.O. ..O. ..O. ..O.", 0)[:, 3] == FAR).all()


def test_share_of_a_point():
    assert point_share(3, 3) == 0
    assert point_share(1, 3) == -point_share(3, 1) == POINT // 2
    assert point_share(1, FAR) > point_share(4, FAR) > point_share(4, 8) > 0
    assert point_share(1, FAR) < POINT


@pytest.mark.parametrize(
    ("drawing", "to_play", "area", "territory"),
    [
        # Two liberties cost a fifth of a point, three a twentieth.
        ("..... ..X.. ..O.. ..X.. .....", 1, 800 - 2 * 950, -200 + 2 * 50),
        # White's stone can be captured: gone with Black to move, half lost with White to move.
        (".X. XO. .X.", 0, 3 * 800, 1000 - 3 * 200),
        (".X. XO. .X.", 1, -3 * 800, -1000 + 3 * 200),
        # Four liberties are as good as many.
        ("... .X. ...", 0, 1000, 0),
    ],
)
def test_stones_count_by_their_liberties(drawing, to_play, area, territory):
    game, states = drawn(drawing, to_play=to_play)
    layout = go_layout(game.height, game.width, game.spec.max_moves)
    room = heuristic_room(layout.num_cells)
    row = Row(*(memory[0] for memory in go_rows(states)))
    assert count_stones(row, layout, POINT, room) == area
    assert count_stones(row, layout, 0, room) == territory
    is_captured = drawing.startswith(".X.") and to_play == 0
    assert (room.board[:-1] != EMPTY).sum() == (
        states["board"][0, :-1] != EMPTY
    ).sum() - is_captured


def test_prisoners_count_under_territory_scoring_alone():
    for scoring, worth in (("area", 0), ("territory", 1)):
        game = make_game(f"go_3x3:komi=0,scoring={scoring},ko=simple")
        states = game.initial_states(1)
        for move in ("A1", "B1", "C3", "A2"):  # takes A1
            states = game.step(states, [game.text_to_action(move)])
        white = [game.text_to_action(move) for move in ("B1", "A2")]
        set_up = game.position([game.text_to_action("C3")], white, 0)
        assert lead(game, states) == pytest.approx(lead(game, set_up) - worth, abs=1e-3)


def test_a_stone_in_the_middle_of_an_empty_board_looks_best():
    game = make_game("go_9x9:komi=0")
    actions = np.arange(81)
    after = game.step(game.initial_states(81), actions)
    values = -game.heuristic_values(after)
    assert values.argmax() == game.text_to_action("E5")
    assert values.min() == values[game.text_to_action("A1")]
