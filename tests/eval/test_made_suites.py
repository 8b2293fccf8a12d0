"""The suites of the project: positions as they are made, and answers that are proven again."""

import itertools

import numpy as np
import pytest

from alphago.games import make_game
from alphago.games.go import Go
from alphago.players import make_player
from eval.suite_files import open_suite, read_positions, shipped_suites
from eval.suites import load_suite, run_suite, take_positions
from tests.eval.go_positions import KINDS, only_winning_move
from tests.eval.line_positions import one_ply_kind
from tests.eval.make_suites import FOLDER, SUITES, suite_text
from tests.reference.games import NaiveConnectFour, NaiveTicTacToe

GO_ONE_PLY = [name for name in SUITES if name.startswith("go_")]


@pytest.mark.parametrize("name", shipped_suites())
def test_every_suite_loads_for_the_game_it_names(name):
    file = open_suite(name)
    assert file.game is not None
    assert file.about
    assert len(load_suite(make_game(file.game), name).states) > 0


@pytest.mark.parametrize("name", [name for name in SUITES if name not in GO_ONE_PLY])
def test_suites_of_line_games_are_as_they_are_made(name):
    made = SUITES[name]
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert text == suite_text(made.game, made.about, made.make())


def test_tic_tac_toe_is_there_in_full_and_minimax_solves_it():
    game = make_game("tic_tac_toe")
    file = open_suite("tic_tac_toe")
    assert len(file.entries) == 4520  # the unfinished ones of 5,478 positions
    assert len({entry["moves"] for entry in file.entries}) == 4520
    states = np.concatenate([position.state for position in read_positions(game, file)])
    assert len({state.tobytes() for state in states}) == 4520
    suite = load_suite(game, "tic_tac_toe")
    assert len(suite.states) == 3191
    assert run_suite(make_player("minimax", game=game), suite).choice.share == 1.0


def test_one_ply_by_hand():
    assert one_ply_kind(NaiveTicTacToe, (0, 3, 1, 4)) == ("win", 2)
    assert one_ply_kind(NaiveTicTacToe, (0, 3, 1)) == ("block", 2)
    assert one_ply_kind(NaiveTicTacToe, (0, 1, 4)) == ("block", 8)
    assert one_ply_kind(NaiveTicTacToe, (0,)) == (None, -1)
    assert one_ply_kind(NaiveTicTacToe, (0, 1, 4, 2, 6)) == (None, -1)  # two wins to stop
    assert one_ply_kind(NaiveConnectFour, (0, 6, 0, 6, 0)) == ("block", 0)
    assert one_ply_kind(NaiveConnectFour, (1, 6, 2, 6, 3)) == (None, -1)  # open at both ends


@pytest.mark.parametrize("name", GO_ONE_PLY)
def test_answers_of_one_ply_go_are_proven_by_counting(name):
    file = open_suite(name)
    assert file.game is not None
    game = make_game(file.game)
    assert isinstance(game, Go)
    positions = read_positions(game, file)
    counts = [sum(position.kind == kind for position in positions) for kind in KINDS]
    assert len(set(counts)) == 1
    for position in positions:
        assert position.right_actions.sum() == 1
        assert only_winning_move(game, position.state) == position.right_actions.argmax()


def test_positions_of_go_are_made_with_their_proof(tmp_path):
    made = SUITES["go_7x7_one_ply"]
    file = tmp_path / "made.json"
    file.write_text(suite_text(made.game, made.about, itertools.islice(made.make(), 5)))
    positions = read_positions(make_game(made.game), open_suite(file))
    assert len(positions) == 5
    for position in positions:
        right = only_winning_move(make_game(made.game), position.state)
        assert right == position.right_actions.argmax()


def test_a_capture_that_only_gains_points_is_not_proven():
    game = make_game("go_5x5:komi=0.5")
    stones = [[game.text_to_action(point) for point in points] for points in (["B2", "C1"], ["B1"])]
    assert only_winning_move(game, game.position(*stones, 0)) is None


def test_end_positions_of_connect_four_are_solved_alike_to_their_end():
    game = make_game("connect_four")
    suite = load_suite(game, "connect_four")
    late = np.flatnonzero((game.board(suite.states) < 0).sum(axis=(1, 2)) <= 12)
    assert len(late) == 27
    player = make_player("alphabeta:depth=12", game=game, seed=0)
    assert run_suite(player, take_positions(suite, late)).choice.share == 1.0
