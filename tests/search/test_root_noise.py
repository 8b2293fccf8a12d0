"""Dirichlet noise at the root: where it is, where it is not, and how much of it."""

import numpy as np
import pytest

from alphago.search import BatchSearch, run_search
from alphago.types import BoolArray, FloatArray
from tests.search.comparison import (
    OracleSearch,
    agrees_with_oracle,
    assert_same_bits,
    result_rows,
)
from tests.search.evaluators import HashEvaluator, UniformEvaluator
from tests.search.positions import (
    GAME_NAMES,
    game_named,
    random_states,
    run_to_end,
    search_config,
)


def drawn_noise(rng: np.random.Generator, legal_actions: BoolArray) -> FloatArray:
    """Returns float32 [B, A] noise of the paper's shape, for `BatchSearch.explore_roots`."""
    noise = np.zeros(legal_actions.shape, dtype=np.float32)
    for row, legal in enumerate(legal_actions):
        noise[row, legal] = rng.dirichlet(np.full(legal.sum(), 10.83 / legal.sum()))
    return noise


def test_mean_and_spread() -> None:
    """Alpha is 10.83 / k for k legal actions: mean 1 / k, variance (1 / k) (1 - 1 / k) / 11.83."""
    game = game_named("tic_tac_toe")
    for num_moves in (0, 1, 4):
        states = game.initial_states(2000)
        for cell in (0, 1, 3, 8)[:num_moves]:
            states = game.step(states, np.full(len(states), cell))
        num_legal = 9 - num_moves
        rng = np.random.default_rng(40)
        result = run_search(
            game, UniformEvaluator(game), states, search_config(), num_simulations=0, rng=rng
        )
        noise = (result.priors.astype(np.float64) - 0.75 / num_legal) / 0.25
        noise = noise[game.legal_actions(states)].reshape(len(states), num_legal)
        assert (noise > -1e-5).all()
        np.testing.assert_allclose(noise.sum(axis=1), 1.0, atol=1e-4)
        np.testing.assert_allclose(noise.mean(axis=0), 1 / num_legal, rtol=0.1)
        variance = (1 / num_legal) * (1 - 1 / num_legal) / (10.83 + 1)
        np.testing.assert_allclose(noise.var(axis=0), variance, rtol=0.2)


def test_concentration_and_weight_come_from_the_configuration() -> None:
    """Weight 1 and a huge concentration flatten any prior; weight 0 leaves it alone."""
    game = game_named("connect_four")
    states = game.initial_states(4)
    evaluator = HashEvaluator(game, spread=3.0)
    flat = search_config(noise_weight=1.0, noise_concentration=1e7)
    rng = np.random.default_rng(41)
    result = run_search(game, evaluator, states, flat, num_simulations=0, rng=rng)
    np.testing.assert_allclose(result.priors, 1 / 7, atol=2e-3)
    unweighted = search_config(noise_weight=0.0)
    noisy = run_search(game, evaluator, states, unweighted, num_simulations=30, rng=rng)
    plain = run_search(game, evaluator, states, unweighted, num_simulations=30)
    np.testing.assert_allclose(noisy.priors, plain.priors, atol=1e-7)
    assert np.array_equal(noisy.visit_counts, plain.visit_counts)


@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_noise_is_legal_and_differs_by_row_and_by_call(game_name: str) -> None:
    """Equal positions get unequal noise, illegal actions none."""
    game = game_named(game_name)
    states = random_states(game, np.random.default_rng(42), num_states=32)
    several = game.legal_actions(states).sum(axis=1) > 1
    states = np.repeat(states[several], 2)
    rng = np.random.default_rng(43)
    evaluator = HashEvaluator(game, spread=1.0)
    first = run_search(game, evaluator, states, search_config(), num_simulations=0, rng=rng)
    second = run_search(game, evaluator, states, search_config(), num_simulations=0, rng=rng)
    plain = run_search(game, evaluator, states, search_config(), num_simulations=0)
    assert not first.priors[~game.legal_actions(states)].any()
    np.testing.assert_allclose(first.priors.sum(axis=1), 1.0, atol=1e-5)
    for one, other in (
        (first.priors[0::2], first.priors[1::2]),
        (first.priors, second.priors),
        (first.priors, plain.priors),
    ):
        assert (np.abs(one - other).max(axis=1) > 1e-4).all()


def test_noise_of_a_row_does_not_depend_on_later_rows() -> None:
    """The first rows of a batch get the same noise whatever follows them."""
    game = game_named("connect_four")
    states = random_states(game, np.random.default_rng(44), num_states=10)
    evaluator = HashEvaluator(game, spread=1.0)
    results = [
        run_search(
            game,
            evaluator,
            states[:num_rows],
            search_config(),
            num_simulations=25,
            rng=np.random.default_rng(45),
        )
        for num_rows in (10, 4, 1)
    ]
    for shorter in results[1:]:
        for row in range(len(shorter.root_values)):
            assert_same_bits(result_rows(shorter, [row]), result_rows(results[0], [row]))


def test_noise_does_not_depend_on_the_network_or_the_budget() -> None:
    """The mixture is 0.75 of the prior and 0.25 of noise that the generator alone decides."""
    game = game_named("connect_four")
    states = game.initial_states(6)
    noises = []
    for spread, num_simulations in ((0.5, 0), (3.0, 0), (3.0, 20)):
        evaluator = HashEvaluator(game, spread=spread)
        plain = run_search(game, evaluator, states, search_config(), num_simulations=0)
        rng = np.random.default_rng(46)
        noisy = run_search(
            game, evaluator, states, search_config(), num_simulations=num_simulations, rng=rng
        )
        noises.append((noisy.priors - 0.75 * plain.priors) / 0.25)
    np.testing.assert_allclose(noises[1], noises[0], atol=2e-6)
    np.testing.assert_allclose(noises[2], noises[0], atol=2e-6)


@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_noisy_search_is_the_oracle_with_these_root_priors(game_name: str) -> None:
    """Noise enters the root and no other node, and the search goes by it."""
    game = game_named(game_name)
    rng = np.random.default_rng(47)
    states = random_states(game, rng, num_states=8)
    evaluator = HashEvaluator(game, spread=2.0)
    noise = drawn_noise(rng, game.legal_actions(states))
    search = BatchSearch(game, evaluator, search_config(), num_rows=8, max_simulations=80)
    search.start(np.arange(8), states, np.full(8, 80))
    search.run_simulation()
    search.explore_roots(np.arange(8), noise)
    run_to_end(search, list(range(8)), max_calls=80)
    result = search.result(np.arange(8))
    num_equal = 0
    for row in range(8):
        oracle = OracleSearch(
            game,
            evaluator,
            state=states[row : row + 1],
            config=search_config(),
            root_noise=noise[row],
        )
        oracle.grow_to(80)
        num_equal += agrees_with_oracle(result_rows(result, [row]), oracle)
    assert num_equal >= 7


def test_search_follows_its_noisy_priors() -> None:
    """Equal logits: the first simulation takes the action with most noise, and visits differ."""
    game = game_named("connect_four")
    states = random_states(game, np.random.default_rng(48), num_states=8)
    evaluator = UniformEvaluator(game)
    rng = np.random.default_rng(49)
    noisy = run_search(game, evaluator, states, search_config(), num_simulations=40, rng=rng)
    plain = run_search(game, evaluator, states, search_config(), num_simulations=40)
    num_legal = game.legal_actions(states).sum(axis=1)
    assert (num_legal > 1).all()
    assert (noisy.visit_counts != plain.visit_counts).any(axis=1).sum() >= 4
    favourites = noisy.priors.argmax(axis=1)
    one = run_search(
        game,
        evaluator,
        states,
        search_config(),
        num_simulations=1,
        rng=np.random.default_rng(49),
    )
    assert np.array_equal(one.visit_counts.argmax(axis=1), favourites)
