"""Intervals and sequential tests keep their word, in thousands of matches of known players."""

from statistics import mean

import numpy as np
import pytest

from eval.sprt import SprtConfig
from tests.eval.known_ratings import (
    POOLS,
    DrawModel,
    coverage,
    davidson_draws,
    flat_draws,
    no_draws,
    rao_kupper_draws,
)
from tests.eval.simulated_pairs import decide_often, pair_shares

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("draw_model", [no_draws, davidson_draws, flat_draws])
@pytest.mark.parametrize("num_games", [20, 100])
def test_intervals_hold_the_truth(pool: str, draw_model: DrawModel, num_games: int) -> None:
    held = coverage(POOLS[pool], draw_model, num_games=num_games, num_trials=500, seed=11)
    assert mean(held.values()) >= 0.93
    assert min(held.values()) >= 0.9


def test_results_on_another_scale_show() -> None:
    # BayesElo's ratings are not Elo's where games are drawn, and 100 games a pair tell.
    pool = POOLS["everybody meets everybody"]
    held = coverage(pool, rao_kupper_draws, num_games=100, num_trials=500, seed=11)
    assert mean(held.values()) == pytest.approx(0.91, abs=0.03)


@pytest.mark.parametrize("draws", [0.0, 0.6])
@pytest.mark.parametrize("one_sided", [0.0, 300.0])
def test_sequential_tests_err_as_often_as_they_say(draws: float, one_sided: float) -> None:
    config = SprtConfig(elo0=0, elo1=50, alpha=0.05, beta=0.05)
    for elo, wrong in ((config.elo0, "H1"), (config.elo1, "H0")):
        shares = pair_shares(elo, draws=draws, one_sided=one_sided)
        decisions = decide_often(shares, config, num_tests=1000, rng=np.random.default_rng(5))
        # Wald's bounds are for large samples; a standard deviation is 0.007.
        assert decisions.count(wrong) / 1000 < 0.075
        assert None not in decisions
