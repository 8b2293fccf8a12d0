"""Which moves the classical players look at first on large boards."""

import numpy as np
import pytest

from alphago.games import make_game
from alphago.games.go.opening import FEWEST_POINTS, key_points
from alphago.games.notation import parse_moves, replay
from alphago.games.random_play import random_states
from alphago.players import make_player
from alphago.search.uct import run_uct

CORNERS_19 = "C3 C4 D3 D4 C16 C17 D16 D17 Q3 Q4 R3 R4 Q16 Q17 R16 R17"
SIDES_19 = "D10 K4 K16 Q10"


def after(name, moves):
    game = make_game(name)
    return game, replay(game, parse_moves(game, moves))


def candidates(game, states):
    (row,) = game.root_actions(states)
    return {game.action_to_text(action) for action in np.flatnonzero(row).tolist()}


def is_opening(game, states):
    return len(candidates(game, states)) < game.playout_actions(states).sum()


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("go_19x19", f"{CORNERS_19} {SIDES_19} K10"),
        ("go_13x13", "C3 C4 D3 D4 C10 C11 D10 D11 K3 K4 L3 L4 K10 K11 L10 L11 D7 G4 G10 K7 G7"),
        # An even side has no middle.
        ("go_14x14", "C3 C4 D3 D4 C11 C12 D11 D12 L3 L4 M3 M4 L11 L12 M11 M12"),
    ],
)
def test_key_points_of_an_empty_board(name, points):
    game = make_game(name)
    assert candidates(game, game.initial_states(1)) == set(points.split())


@pytest.mark.parametrize("name", ["go_5x5", "go_9x9", "go_12x12", "go_19x12", "go_12x19"])
def test_boards_with_a_side_below_13_have_no_opening(name):
    game = make_game(name)
    states = game.initial_states(1)
    assert not is_opening(game, states)
    assert len(candidates(game, states)) == game.height * game.width


def test_the_opening_candidates_have_the_symmetries_of_the_board():
    points = key_points(19, 19)[:-1].reshape(19, 19)
    assert (points == points.T).all()
    assert (points == points[::-1]).all()
    assert not key_points(19, 19)[-1]  # the pass


def test_points_taken_and_points_beside_a_stone_are_left_out():
    game, states = after("go_19x19", "D4 Q16 R3")
    gone = set("D4 Q16 R3 C4 D3 Q17 R16 Q3 R4".split())  # noqa: SIM905, as people write moves
    assert candidates(game, states) == set(f"{CORNERS_19} {SIDES_19} K10".split()) - gone


@pytest.mark.parametrize("moves", ["D4 D5", "D4 E4", "D4 pass D5", "A1 A2", "A1 K10 B1", "T19 S19"])
def test_two_stones_side_by_side_end_the_opening(moves):
    """Of either colour. A2 beside A1 is an atari as well: there is none without touching stones."""
    game, states = after("go_19x19", moves)
    assert not is_opening(game, states)


@pytest.mark.parametrize("moves", ["D4 E5", "D4 K10 R16", "A1 T19", "A19 A17", "A1 B2"])
def test_stones_that_do_not_touch_do_not_end_it(moves):
    """A diagonal is no touch; a stone in the corner has two liberties."""
    game, states = after("go_19x19", moves)
    assert is_opening(game, states)


def test_no_chain_is_in_atari_while_the_opening_lasts():
    game = make_game("go_13x13")
    states = random_states(game, np.random.default_rng(3), num_rows=400, most_moves=12)
    rows = game.root_actions(states).sum(axis=1) < game.playout_actions(states).sum(axis=1)
    assert rows.any()
    assert not rows.all()
    for board in game.board(states[rows]):
        for row, column in np.argwhere(board >= 0):
            beside = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
            on_board = [cell for cell in beside if 0 <= cell[0] < 13 and 0 <= cell[1] < 13]
            assert sum(board[cell] < 0 for cell in on_board) >= 2


def test_the_opening_ends_when_few_key_points_are_left():
    game = make_game("go_19x19")
    points = np.flatnonzero(key_points(19, 19)).tolist()
    states = game.initial_states(1)
    left = points
    played = []
    while len(left) >= FEWEST_POINTS:
        assert is_opening(game, states)
        assert set(np.flatnonzero(game.root_actions(states)[0])) == set(left)
        played.append(left[0])
        states = game.step(states, [left[0]])
        near = {left[0] - 19, left[0] + 19, left[0] - 1, left[0] + 1}
        left = [point for point in left[1:] if point not in near]
    assert len(played) + len(left) == 13  # two in each corner, the sides and the centre
    assert not is_opening(game, states)
    assert len(candidates(game, states)) == 361 - len(played)


def test_a_pass_that_wins_comes_before_any_opening():
    game = make_game("go_19x19:komi=0.5")
    states = replay(game, [180, 361, 60, 361])  # White passes, Black is ahead
    assert candidates(game, states) == {"pass"}


def test_handicap_stones_do_not_end_it():
    game = make_game("go_19x19:handicap=9")
    assert is_opening(game, game.initial_states(1))


def test_rows_are_judged_one_by_one():
    game = make_game("go_13x13")
    rows = [replay(game, parse_moves(game, moves)) for moves in ("", "D4 D5", "G7")]
    states = np.concatenate(rows)
    assert game.root_actions(states).sum(axis=1).tolist() == [21, 167, 20]
    assert game.root_actions(states[:0]).shape == (0, 170)


def test_uct_and_flat_mc_choose_among_them():
    game = make_game("go_13x13")
    states = game.initial_states(1)
    allowed = game.root_actions(states)
    result = run_uct(game, states, num_playouts=60, exploration=0.4, rng=np.random.default_rng(0))
    assert (result.visit_counts > 0).sum() == 21
    assert not result.visit_counts[~allowed].any()
    for text in ("uct:playouts=30", "flat_mc:playouts=42"):
        (advice,) = make_player(text, game=game).analyse(states)
        assert allowed[0, advice[0].action]
        assert all(allowed[0, move.action] for move in advice if move.num_visits)


def test_below_the_root_all_points_are_tried():
    """It is a choice of candidates for the move to be made, no rule of the search."""
    game = make_game("go_13x13")
    assert game.playout_actions(game.initial_states(1)).sum() == 169
