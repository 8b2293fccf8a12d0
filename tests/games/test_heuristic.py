"""What every game's guesses have in common, and those of line games by hand."""

import numpy as np
import pytest

from alphago.games import GAME_NAMES, make_game
from alphago.games.heuristic import HeuristicGame, NoHeuristic, heuristic_of
from alphago.games.line_heuristic import count_threats, stones_weight, window_balance
from alphago.games.notation import parse_moves, replay
from alphago.games.random_play import random_states
from alphago.types import EMPTY
from tests.reference.forced_pass_game import ForcedPassGame

NAMES = [*GAME_NAMES, "go_1x1", "go_2x1", "go_25x25", "go_9x9:rules=japanese", "go_7x7:handicap=3"]
LINE_GAMES = ["tic_tac_toe", "connect_four"]


def positions(game, num_rows=12):
    most_moves = min(game.spec.num_actions, 60)
    rng = np.random.default_rng(4)
    return random_states(game, rng, num_rows=num_rows, most_moves=most_moves)


@pytest.mark.parametrize("name", NAMES)
def test_guesses_are_inside_minus_one_and_one_and_leave_states_alone(name):
    game = make_game(name)
    assert isinstance(game, HeuristicGame)
    states = positions(game)
    before = states.copy()
    values = game.heuristic_values(states)
    assert values.dtype == np.float32
    assert values.shape == (12,)
    assert (np.abs(values) < 1).all()
    assert (states == before).all()
    assert game.heuristic_values(states[:0]).shape == (0,)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_does_not_depend_on_the_others(name):
    game = make_game(name)
    states = positions(game)
    alone = [game.heuristic_values(states[row : row + 1])[0] for row in range(len(states))]
    assert game.heuristic_values(states).tolist() == alone
    assert game.heuristic_values(states[::-2]).tolist() == alone[::-2]


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "go_5x5", "go_9x9", "go_7x4"])
def test_images_of_a_position_look_alike(name):
    game = make_game(name)
    states = positions(game, num_rows=40)
    for symmetry in game.spec.symmetries:
        images = game.apply_symmetry(states, symmetry)
        assert (game.heuristic_values(images) == game.heuristic_values(states)).all()


@pytest.mark.parametrize("name", GAME_NAMES)
def test_finished_games_have_some_answer(name):
    game = make_game(name)
    states = game.initial_states(1)
    while not game.is_over(states)[0]:
        states = game.step(states, [int(np.flatnonzero(game.legal_actions(states)[0])[-1])])
    assert abs(game.heuristic_values(states)[0]) < 1


def test_a_game_without_guesses_looks_even():
    game = ForcedPassGame()
    assert isinstance(heuristic_of(game), NoHeuristic)
    assert heuristic_of(game).heuristic_values(game.initial_states(3)).tolist() == [0.0, 0.0, 0.0]
    known = make_game("connect_four")
    assert heuristic_of(known) is known


# --- line games ---


@pytest.mark.parametrize("name", LINE_GAMES)
def test_with_colours_swapped_the_value_is_the_same(name):
    game = make_game(name)
    states = positions(game)
    values = game.heuristic_values(states)
    assert values.any()
    swapped = states.copy()
    swapped["to_play"] = 1 - states["to_play"]
    swapped["board"] = np.where(states["board"] == EMPTY, EMPTY, 1 - states["board"])
    assert (game.heuristic_values(swapped) == values).all()


@pytest.mark.parametrize("name", LINE_GAMES)
def test_windows_are_worth_the_opposite_to_the_other_player(name):
    for state in positions(make_game(name)):
        board, length = state["board"], 3 if name == "tic_tac_toe" else 4
        assert window_balance(board, 0, length) == -window_balance(board, 1, length)


@pytest.mark.parametrize(
    ("name", "moves", "num_own", "num_opposing"),
    [
        ("tic_tac_toe", "0 4 1 8", 1, 0),  # 2
        ("tic_tac_toe", "0 1 3 4 8", 1, 1),  # O on 7, X on 6
        ("connect_four", "4 1 4 1 4", 0, 1),  # 4
        ("connect_four", "3 1 4 1 5", 0, 2),  # 2 and 6
        ("connect_four", "3 3 4 4 5", 0, 2),  # 2 and 6; O's line above them has no support
        ("connect_four", "3 3 4 4 5 5", 2, 0),
    ],
)
def test_threats_are_cells_that_complete_a_line(name, moves, num_own, num_opposing):
    game = make_game(name)
    states = replay(game, parse_moves(game, moves))
    board, to_play = states["board"][0], int(states["to_play"][0])
    rules = (3, False) if name == "tic_tac_toe" else (4, True)
    assert count_threats(board, to_play, *rules) == num_own
    assert count_threats(board, 1 - to_play, *rules) == num_opposing
    value = game.heuristic_values(states)[0]
    if num_own:
        assert value > 0.99
    elif num_opposing > 1:
        assert value < -0.99
    else:
        assert abs(value) < 0.99


def test_weights_of_windows():
    assert [stones_weight(num_stones) for num_stones in range(5)] == [0, 1, 4, 16, 64]


def test_tic_tac_toe_by_hand():
    # X . .   X has the right column and the bottom row, the top row and the left column, one
    # . O .   stone each; O has the middle row, the middle column and the other diagonal.
    # . . X
    board = replay(make_game("tic_tac_toe"), [0, 4, 8])["board"][0]
    assert window_balance(board, 0, 3) == 4 - 3
    assert window_balance(board, 1, 3) == 3 - 4
    two = replay(make_game("tic_tac_toe"), [0, 4, 1, 8])["board"][0]
    # X: the top row with two stones, the left column; O: the right column, the middle row, the
    # bottom row and the other diagonal.
    assert window_balance(two, 0, 3) == (4 + 1) - 4


def test_connect_four_counts_open_windows():
    game = make_game("connect_four")

    def balance(moves):
        return int(window_balance(replay(game, parse_moves(game, moves))["board"][0], 0, 4))

    # How many windows hold a cell of the bottom row: 3, 4, 5, 7, 5, 4, 3.
    assert [balance(str(column)) for column in range(1, 8)] == [3, 4, 5, 7, 5, 4, 3]
    # X on 3 and 4 has two windows with both, one with a single stone, and 5 upwards; O on 1 has two
    # upwards, since X is in the only one below.
    assert balance("4 1 3") == 2 * 4 + 1 + 5 - 2


def test_of_two_replies_the_one_nearer_to_the_middle_looks_better():
    game = make_game("connect_four")
    states = np.concatenate([replay(game, parse_moves(game, moves)) for moves in ("4", "1", "2")])
    middle, edge, second = game.heuristic_values(states)
    assert middle < second < edge < 0  # the view of the other player
