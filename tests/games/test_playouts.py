"""Playouts of all games: candidates are legal, and those of line games are exactly uniform."""

import numpy as np
import pytest

from alphago.games import GAME_NAMES, make_game
from alphago.games.notation import parse_moves, replay
from alphago.games.random_play import (
    UniformPlayouts,
    playouts_of,
    random_game,
    random_states,
)
from tests.compiler_modes import report_in_mode
from tests.games.line_playout_numbers import playout_numbers
from tests.games.uniform_play import exact_results
from tests.reference.forced_pass_game import ForcedPassGame

LINE_GAMES = ("tic_tac_toe", "connect_four")


def rng(seed=0):
    return np.random.default_rng(seed)


def position(name, moves):
    game = make_game(name)
    return game, replay(game, parse_moves(game, moves))


@pytest.mark.parametrize("name", GAME_NAMES)
def test_candidates_are_legal_and_some_are_left_until_the_game_is_over(name):
    game = make_game(name)
    playouts = playouts_of(game)
    assert playouts is game
    states = random_states(game, rng(1), num_rows=20)
    legal = game.legal_actions(states)
    tried, first = playouts.playout_actions(states), playouts.root_actions(states)
    assert not (tried & ~legal).any()
    assert not (first & ~tried).any()
    assert first.any(axis=1).all()


@pytest.mark.parametrize("name", LINE_GAMES)
def test_playouts_of_line_games_leave_no_legal_action_out(name):
    game = make_game(name)
    states = random_states(game, rng(1), num_rows=20)
    assert (game.playout_actions(states) == game.legal_actions(states)).all()


def urgent_actions(game, state):
    """Returns the actions that win at once, else those by which the opponent would, else all.

    By playing each of them; and again as if it were the opponent's turn.
    """
    legal = np.flatnonzero(game.legal_actions(state)[0])
    others_turn = state.copy()
    others_turn["to_play"] = 1 - state["to_play"]
    for position in (state, others_turn):
        after = game.step(np.repeat(position, len(legal)), legal)
        wins = game.returns(after)[:, position["to_play"][0]] == 1
        if wins.any():
            return legal[wins].tolist()
    return legal.tolist()


@pytest.mark.parametrize("name", LINE_GAMES)
def test_roots_of_line_games_have_wins_and_blocks_alone_where_there_are_any(name):
    game = make_game(name)
    states = random_states(game, rng(2), num_rows=300)
    actions = game.root_actions(states)
    expected = [urgent_actions(game, states[row : row + 1]) for row in range(len(states))]
    assert [np.flatnonzero(row).tolist() for row in actions] == expected
    num_candidates = actions.sum(axis=1)
    assert (num_candidates < game.legal_actions(states).sum(axis=1)).any()
    assert not game.root_actions(finished_games(game)).any()


def finished_games(game):
    """Returns the last positions [3] of random games."""
    return np.concatenate([replay(game, random_game(game, rng(seed))) for seed in range(3)])


def test_a_game_without_playouts_of_its_own_gets_uniform_ones():
    game = ForcedPassGame()
    playouts = playouts_of(game)
    assert isinstance(playouts, UniformPlayouts)
    states = game.initial_states(3)
    assert (playouts.root_actions(states) == game.legal_actions(states)).all()


# --- line games ---


def shares(returns):
    """Returns the shares of wins, draws and losses of player 0 in returns [B, P]."""
    return np.array([(returns[:, 0] == result).mean() for result in (1, 0, -1)])


@pytest.mark.parametrize(
    ("name", "moves"),
    [
        ("tic_tac_toe", ""),
        ("tic_tac_toe", "4"),
        ("tic_tac_toe", "0 4 8 2"),
        ("tic_tac_toe", "0 1 3 4 8"),
        # Column 7 alone is open: all moves are forced, to a draw.
        (
            "connect_four",
            "1 2 1 2 2 1 2 1 1 2 1 2 3 4 3 4 4 3 4 3 3 4 3 4 5 6 5 6 6 5 6 5 5 6 5 6 7 7",
        ),
        # Columns 5 and 6 have two free cells each, column 7 has two as well.
        ("connect_four", "1 2 1 2 2 1 2 1 1 2 1 2 3 4 3 4 4 3 4 3 3 4 3 4 5 6 5 6 6 5 6 5 7 7 7 7"),
    ],
)
def test_results_are_those_of_exactly_uniform_play(name, moves):
    game, state = position(name, moves)
    exact = np.array([float(share) for share in exact_results(game, state)])
    assert exact.sum() == pytest.approx(1)
    num_playouts = 40_000
    found = shares(game.playout_returns(state.repeat(num_playouts), rng=rng(3)))
    deviations = np.sqrt(exact * (1 - exact) / num_playouts)
    assert (np.abs(found - exact) <= 4.5 * deviations + 1e-9).all()


@pytest.mark.parametrize(("name", "moves"), [("connect_four", ""), ("connect_four", "1 1 1 1 1 1")])
def test_results_are_those_of_stepping_through_the_rules(name, moves):
    game, state = position(name, moves)
    slow = shares(UniformPlayouts(game).playout_returns(state.repeat(8_000), rng=rng(1)))
    fast = shares(game.playout_returns(state.repeat(80_000), rng=rng(2)))
    deviations = np.sqrt(fast * (1 - fast) / 8_000)
    assert (np.abs(fast - slow) < 4.5 * deviations).all()
    assert fast[1] > 0  # full boards occur: a quarter of a per cent of games


@pytest.mark.parametrize("name", LINE_GAMES)
def test_finished_games_keep_their_result_and_states_are_left_alone(name):
    game, over = position(name, "1 2 1 2 1 2 1" if name == "connect_four" else "0 1 3 4 6")
    states = np.concatenate([over, game.initial_states(1)])
    before = states.tobytes()
    for seed in range(5):
        returns = game.playout_returns(states, rng=rng(seed))
        assert returns[0].tolist() == [1, -1]
        assert returns.dtype == np.float32
        assert returns.shape == (2, 2)
    assert states.tobytes() == before
    assert game.playout_returns(states[:0], rng=rng()).shape == (0, 2)


@pytest.mark.parametrize("name", LINE_GAMES)
def test_equal_seeds_play_alike_and_rows_have_streams_of_their_own(name):
    game = make_game(name)
    states = game.initial_states(200)
    first, again, other = (game.playout_returns(states, rng=rng(seed)) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()
    assert len({tuple(row) for row in first.tolist()}) > 1
    assert (game.playout_returns(states[:50], rng=rng(1)) == first[:50]).all()


def test_the_same_playouts_without_the_compiler(tmp_path):
    numbers = report_in_mode(
        "tests.games.line_playout_numbers", variable="NUMBA_DISABLE_JIT", cache=tmp_path
    )
    assert numbers == playout_numbers()
