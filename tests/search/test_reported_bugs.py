"""Faults that other programs of this kind have had, each with the public report it comes from."""

import functools
import math

import numpy as np
import pytest

from alphago.search import run_search
from alphago.types import Evaluation
from tests.reference import forced_pass_game
from tests.reference.forced_pass_game import PASS, ForcedPassGame, Position, position_of, states_of
from tests.search.comparison import assert_same_bits
from tests.search.evaluators import (
    FixedEvaluator,
    HashEvaluator,
    HostileEvaluator,
    SpoiledEvaluator,
    UniformEvaluator,
)
from tests.search.positions import (
    game_named,
    random_states,
    search_config,
    state_after,
)

solve = functools.lru_cache(maxsize=None)(forced_pass_game.solve)


# Values of the wrong sign on the way up: muzero-general PR 121, open_spiel PR 1396.


def test_centre_is_the_only_answer_to_the_corner() -> None:
    """After X in the corner every reply but the centre loses; it takes a while to see."""
    game = game_named("tic_tac_toe")
    result = run_search(
        game,
        UniformEvaluator(game),
        state_after(game, [0]),
        search_config(),
        num_simulations=1600,
    )
    assert result.visit_counts[0].argmax() == 4
    assert result.visit_counts[0, 4] > 800
    assert result.action_values[0].argmax() == 4


def test_side_with_a_winning_move_knows_it() -> None:
    """X X . / O O . / X . . with O to move: 5 wins."""
    game = game_named("tic_tac_toe")
    state = state_after(game, [0, 3, 1, 4, 6])
    assert game.to_play(state).tolist() == [1]
    result = run_search(game, UniformEvaluator(game), state, search_config(), num_simulations=200)
    assert result.visit_counts[0].argmax() == 5
    assert result.action_values[0, 5] == 1.0
    assert result.root_values[0] > 0.8


def test_side_that_cannot_stop_a_win_knows_it() -> None:
    """X . X / . O . / X . O with O to move: X threatens 1 and 3."""
    game = game_named("tic_tac_toe")
    state = state_after(game, [0, 4, 2, 8, 6])
    result = run_search(game, UniformEvaluator(game), state, search_config(), num_simulations=400)
    assert result.root_values[0] < -0.5
    assert (result.action_values[0, [1, 3, 5, 7]] < -0.5).all()


def test_winning_column_of_connect_four() -> None:
    """Three on each other for both players: who moves wins at once, whoever it is."""
    game = game_named("connect_four")
    for moves, winning in (([0, 1, 0, 1, 0, 1], 0), ([0, 1, 0, 1, 0, 1, 3], 1)):
        result = run_search(
            game,
            UniformEvaluator(game),
            state_after(game, moves),
            search_config(),
            num_simulations=200,
        )
        assert result.visit_counts[0].argmax() == winning
        assert result.action_values[0, winning] == 1.0
        assert result.root_values[0] > 0.8


# A prior that vanishes when illegal actions are masked: alpha-zero-general 23 and 168.


@pytest.mark.parametrize("high", [200.0, 80.0, 3e38])
def test_network_that_wants_a_taken_cell(high: float) -> None:
    """Cell 0 has all of the prior and is taken: the rest is uniform, without a warning."""
    game = game_named("tic_tac_toe")
    evaluator = FixedEvaluator([high] + [-high] * 8, 0.0)
    result = run_search(
        game, evaluator, state_after(game, [0]), search_config(), num_simulations=50
    )
    np.testing.assert_allclose(result.priors[0], [0.0] + [1 / 8] * 8, atol=1e-6)
    assert result.visit_counts[0, 0] == 0
    assert result.visit_counts[0].sum() == 50


def test_network_that_wants_one_legal_cell_only() -> None:
    """Priors of the others underflow to 0: the search goes on, all of it finite."""
    game = game_named("tic_tac_toe")
    evaluator = FixedEvaluator([-200.0] * 8 + [200.0], 0.0)
    result = run_search(
        game, evaluator, state_after(game, [0]), search_config(), num_simulations=50
    )
    np.testing.assert_allclose(result.priors[0], [0.0] * 8 + [1.0], atol=1e-6)
    for field in result:
        assert np.isfinite(field).all()
    assert result.visit_counts[0].sum() == 50


# Noise of self-play in games that count: muzero-general 220.


@pytest.mark.parametrize("game_name", ["tic_tac_toe", "connect_four"])
def test_without_a_generator_there_is_no_noise(game_name: str) -> None:
    """Ten searches for play give one answer, also right after searches with noise."""
    game = game_named(game_name)
    states = random_states(game, np.random.default_rng(60), num_states=4)
    evaluator = HashEvaluator(game, spread=1.0)
    first = run_search(game, evaluator, states, search_config(), num_simulations=30)
    rng = np.random.default_rng(61)
    for _ in range(10):
        run_search(game, evaluator, states, search_config(), num_simulations=30, rng=rng)
        again = run_search(game, evaluator, states, search_config(), num_simulations=30)
        assert_same_bits(again, first)


# A search at the very end of a game: lc0 238, open_spiel 799.


@pytest.mark.parametrize(
    ("game_name", "moves"),
    [
        ("tic_tac_toe", [0, 1, 2, 4, 3, 5, 7, 6]),  # one free cell
        ("tic_tac_toe", [0, 3, 1, 4, 6]),  # a win among four free cells
        ("connect_four", [0, 1, 0, 1, 0, 1]),
    ],
)
def test_many_simulations_one_ply_before_the_end(game_name: str, moves: list[int]) -> None:
    """2,000 simulations through a handful of nodes; a finished leaf keeps its value."""
    game = game_named(game_name)
    state = state_after(game, moves)
    for evaluator in (UniformEvaluator(game), HostileEvaluator(game)):
        result = run_search(game, evaluator, state, search_config(), num_simulations=2000)
        assert result.visit_counts.sum() == 2000
        for action in np.flatnonzero(result.visit_counts[0]):
            after = game.step(state, np.array([action]))
            if game.is_over(after)[0]:
                mover = game.to_play(state)[0]
                assert result.action_values[0, action] == game.returns(after)[0, mover]


def test_finished_leaf_ignores_what_the_network_says() -> None:
    """The last free cell draws; a network that shouts 1 there changes only the root's own value."""
    game = game_named("tic_tac_toe")
    state = state_after(game, [0, 1, 2, 4, 3, 5, 7, 6])
    result = run_search(
        game, FixedEvaluator([0.0] * 9, 1.0), state, search_config(), num_simulations=3
    )
    assert result.visit_counts[0].tolist() == [0] * 8 + [3]
    assert result.action_values[0, 8] == 0.0
    assert result.root_values[0] == pytest.approx(1 / 4)


# A child's place in a list taken for its action: LightZero 493, alpha_omok 45.


def test_prior_of_a_column_stays_with_that_column() -> None:
    """Column 1 is full after 1 1 1 1 1 1; 0.9 for column 4 arrives at column 4."""
    game = game_named("connect_four")
    logits = [math.log(0.1 / 6)] * 7
    logits[3] = math.log(0.9)
    state = state_after(game, [0, 0, 0, 0, 0, 0, 1, 1])
    result = run_search(
        game, FixedEvaluator(logits, 0.0), state, search_config(), num_simulations=40
    )
    rest = 0.1 / 6 / (0.9 + 5 * 0.1 / 6)
    expected = [0.0, rest, rest, 1 - 5 * rest, rest, rest, rest]
    np.testing.assert_allclose(result.priors[0], expected, atol=1e-6)
    assert result.visit_counts[0].argmax() == 3


def test_prior_of_the_pass_is_the_last_one() -> None:
    """Where passing is all there is, its prior is 1, whatever the other logits."""
    game = ForcedPassGame()
    states = states_of(_forced_passes())
    result = run_search(
        game,
        FixedEvaluator([7.0] * PASS + [-7.0], 0.0),
        states,
        search_config(),
        num_simulations=20,
    )
    expected = np.zeros((len(states), PASS + 1))
    expected[:, PASS] = 1.0
    np.testing.assert_allclose(result.priors, expected, atol=1e-7)
    assert (result.visit_counts == 20 * expected).all()


# Signs by ply instead of by player: alpha-zero-general 18.


def _forced_passes() -> list[Position]:
    """Returns positions in which the player to move must pass, found by random play."""
    game = ForcedPassGame()
    states = random_states(game, np.random.default_rng(62), num_states=1500)
    positions = {position_of(state) for state in states}
    return sorted(position for position in positions if position.legal_actions() == [PASS])


@pytest.mark.parametrize("result_of_mover", [-1, 0, 1])
def test_values_around_a_forced_pass(result_of_mover: int) -> None:
    """Before the pass and after it the value is the mover's, as the exact solution has it."""
    game = ForcedPassGame()
    before = [p for p in _forced_passes() if solve(p, p.to_play) == result_of_mover]
    assert before
    after = [position.after(PASS) for position in before]
    for positions, expected in ((before, result_of_mover), (after, -result_of_mover)):
        result = run_search(
            game,
            UniformEvaluator(game),
            states_of(positions),
            search_config(),
            num_simulations=400,
        )
        np.testing.assert_allclose(result.root_values, expected, atol=0.2)


def test_values_where_a_player_moves_twice() -> None:
    """In every small position the sign of a decided value is that of the exact solution."""
    game = ForcedPassGame()
    states = random_states(game, np.random.default_rng(63), num_states=600)
    positions = sorted({position_of(state) for state in states})
    positions = [
        p for p in positions if sum(cell != forced_pass_game.EMPTY for cell in p.board) >= 3
    ]
    solutions = np.array([solve(p, p.to_play) for p in positions])
    moves_twice = [
        any(p.after(a).to_play == p.to_play for a in p.legal_actions()) for p in positions
    ]
    assert sum(moves_twice) > 20
    result = run_search(
        game, UniformEvaluator(game), states_of(positions), search_config(), num_simulations=400
    )
    np.testing.assert_allclose(result.root_values, solutions, atol=0.35)
    for row, position in enumerate(positions):
        best = int(result.visit_counts[row].argmax())
        assert solve(position.after(best), position.to_play) == solutions[row]


def test_network_value_of_the_player_who_moves_again() -> None:
    """One simulation onto a full column keeps the sign of the network's 0.5, any other turns it."""
    game = ForcedPassGame()
    state = game.step(game.initial_states(1), [0])  # player 1 to move; 4 is below 0
    for action, expected in ((4, 0.5), (1, -0.5)):
        logits = [0.0] * game.spec.num_actions
        logits[action] = 10.0
        result = run_search(
            game, FixedEvaluator(logits, 0.5), state, search_config(), num_simulations=1
        )
        assert result.visit_counts[0].argmax() == action
        assert result.action_values[0, action] == pytest.approx(expected)
        assert result.root_values[0] == pytest.approx((0.5 + expected) / 2)


# Infinities and worse from a broken network, in an unfinished leaf of a batch.


def test_broken_leaf_in_a_batch_is_an_error_not_an_action() -> None:
    """One row of many is enough."""

    def spoil(evaluation: Evaluation) -> None:
        evaluation.prior_logits[2] = np.nan

    game = game_named("connect_four")
    evaluator = SpoiledEvaluator(game, spoil, from_call=3)
    with pytest.raises(ValueError, match=r"(?i)network|evaluat|logit"):
        run_search(game, evaluator, game.initial_states(5), search_config(), num_simulations=9)
