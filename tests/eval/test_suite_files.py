"""Positions of a suite that are set up, moves to avoid, and the game that a suite is for."""

import json

import numpy as np
import pytest

from alphago.errors import SuiteError
from alphago.games import make_game
from alphago.games.go import Go
from eval.suite_files import open_suite, read_positions
from eval.suites import load_suite

GAME = make_game("go_5x5")
# Black can take a stone at A2.
ATARI = {
    "black": ["A3", "B3", "C2", "B1"],
    "white": ["B2", "E5"],
    "to_play": "black",
    "best": ["A2"],
}


def write(path, positions, **keys):
    path.write_text(json.dumps({**keys, "positions": positions}))
    return path


def one(path, entry, game=GAME):
    return read_positions(game, open_suite(write(path / "suite.json", [entry])))[0]


def moves_of(mask):
    return [GAME.action_to_text(int(action)) for action in np.flatnonzero(mask)]


def test_a_position_is_set_up_with_its_player_to_move(tmp_path):
    position = one(tmp_path, ATARI)
    board = GAME.board(position.state)[0]
    rows = ["".join(".XO"[stone + 1] for stone in row) for row in board]
    assert rows == ["....O", ".....", "XX...", ".OX..", ".X..."]
    assert GAME.to_play(position.state)[0] == 0
    assert moves_of(position.right_actions) == ["A2"]
    after = GAME.step(position.state, np.flatnonzero(position.right_actions))
    assert GAME.captures(after)[0].tolist() == [1, 0]


@pytest.mark.parametrize(("text", "player"), [("w", 1), ("B", 0), ("White", 1), ("black", 0)])
def test_who_moves_is_written_as_in_gtp(tmp_path, text, player):
    position = one(tmp_path, {**ATARI, "to_play": text, "best": ["E1"]})
    assert GAME.to_play(position.state)[0] == player


def test_moves_may_follow_stones_that_are_set_up(tmp_path):
    position = one(tmp_path, {**ATARI, "to_play": "white", "moves": "pass", "best": ["pass"]})
    assert GAME.to_play(position.state)[0] == 0
    assert GAME.num_passes(position.state)[0] == 1
    assert GAME.is_over(GAME.step(position.state, [GAME.spec.pass_action]))[0]


def test_one_colour_may_have_no_stones(tmp_path):
    position = one(tmp_path, {"black": ["C3"], "to_play": "w", "best": ["B2"]})
    assert (GAME.board(position.state)[0] >= 0).sum() == 1


def test_all_but_the_moves_to_avoid_are_right(tmp_path):
    entry = {**ATARI, "best": [], "avoid": ["E4", "pass"]}
    position = one(tmp_path, entry)
    legal = GAME.legal_actions(position.state)[0]
    assert moves_of(legal & ~position.right_actions) == ["E4", "pass"]
    assert not (position.right_actions & ~legal).any()


def test_labels_and_kinds_are_read(tmp_path):
    path = write(tmp_path / "s.json", [{**ATARI, "id": "a", "kind": "capture"}, ATARI])
    suite = load_suite(GAME, path)
    assert suite.labels == ["a", "position 2"]
    assert suite.kinds == ["capture", None]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"to_play": "red"}, "to_play: got 'red', allowed: black or white"),
        ({"to_play": None}, "to_play: got None, allowed: black or white"),
        ({"black": "A3"}, "black: got 'A3', allowed: a list of points such as 'C3'"),
        ({"white": [3]}, "white: got [3], allowed: a list of points"),
        ({"black": ["F1"]}, "black: go_5x5: got 'F1', allowed: pass and A1 to E5"),
        ({"black": ["pass"]}, "black: got a pass, allowed: points such as 'C3'"),
        ({"white": ["A3"]}, "got two stones at A3"),
        ({"black": ["A2", "B1"], "white": ["A1"]}, "got a chain without liberty at A1"),
        ({"moves": 4}, "moves: got 4, allowed: the moves as one text"),
        ({"moves": "A3"}, "moves 'A3': ply 1: go_5x5: A3 is illegal here"),
        ({"moves": "pass pass"}, "the game is over"),
        ({"best": ["A3"]}, "best: got 'A3', allowed: one of A5 B5"),
        ({"best": ["Z9"]}, "best: got 'Z9', allowed: one of A5 B5"),
        ({"best": [], "avoid": []}, "best: got [], allowed: a list of at least one move (or"),
        ({"avoid": ["E1"]}, "best and avoid: got both, allowed: one of them"),
        ({"best": [], "avoid": ["A3"]}, "avoid: got 'A3', allowed: one of A5 B5"),
        ({"best": [], "avoid": "E1"}, "avoid: got 'E1', allowed: a list"),
        ({"kind": 3}, "kind: got 3, allowed: a text"),
    ],
)
def test_what_is_wrong_with_a_position_is_said(tmp_path, change, message):
    path = write(tmp_path / "suite.json", [ATARI, {**ATARI, **change}])
    with pytest.raises(SuiteError) as caught:
        load_suite(GAME, path)
    assert str(caught.value).startswith(f"{path}: position 2 of 2: ")
    assert message in str(caught.value)


def test_not_every_move_can_be_wrong(tmp_path):
    legal = GAME.legal_actions(one(tmp_path, ATARI).state)[0]
    with pytest.raises(SuiteError, match="avoid: got every legal move"):
        one(tmp_path, {**ATARI, "best": [], "avoid": moves_of(legal)})


def test_only_go_has_positions_that_are_set_up(tmp_path):
    with pytest.raises(SuiteError, match="connect_four: got stones set up, allowed: 'moves'"):
        one(tmp_path, {"black": ["1"], "best": ["4"]}, make_game("connect_four"))
    entry = {"moves": "4", "to_play": "second", "best": ["4"]}  # a remark, as other keys
    assert one(tmp_path, entry, make_game("connect_four")).right_actions.sum() == 1


@pytest.mark.parametrize(
    ("suite", "player", "fits"),
    [
        ("go_5x5", "go_5x5:komi=24.5", True),
        ("go_5x5:komi=24.5", "go_5x5:komi=24.5,max_moves=60,planes=extended", True),
        ("go_5x5:komi=7.5", "go_5x5", True),
        ("go_5x5:komi=24.5", "go_5x5", False),
        ("go_5x5:rules=japanese", "go_5x5", False),
        ("go_5x5:komi=7.5", "go_5x5:ko=simple", False),
        ("go_5x5", "go_7x7", False),
    ],
)
def test_options_in_the_game_of_a_suite_are_rules_that_a_player_must_have(
    tmp_path, suite, player, fits
):
    path = write(tmp_path / "suite.json", [{"moves": "C3", "best": ["pass"]}], game=suite)
    game = make_game(player)
    if fits:
        assert len(load_suite(game, path).states) == 1
        return
    with pytest.raises(SuiteError) as caught:
        load_suite(game, path)
    assert str(caught.value) == f"suite suite is for {suite}, the player plays {player}"


def test_a_suite_for_a_game_that_does_not_exist_is_named(tmp_path):
    path = write(tmp_path / "suite.json", [ATARI], game="go_5x5:komi=x")
    with pytest.raises(SuiteError, match=r"suite.json: komi: got 'x', allowed: an integer"):
        load_suite(GAME, path)


def test_a_network_sees_an_empty_history_behind_a_position_that_is_set_up(tmp_path):
    assert isinstance(GAME, Go)
    position = one(tmp_path, ATARI)
    planes = GAME.observe(position.state)[0]
    assert planes[0].sum() == 4  # own stones now
    assert planes[8].sum() == 2
    assert not planes[1:8].any()
    assert not planes[9:16].any()
    assert planes[16].all()  # Black is to move
