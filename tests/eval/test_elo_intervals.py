"""How often intervals hold the truth; `tests/slow/test_statistics.py` asks more often."""

from statistics import mean

import pytest

from eval.elo import PairResult, fit_ratings
from tests.eval.known_ratings import (
    POOLS,
    DrawModel,
    coverage,
    davidson_draws,
    flat_draws,
    no_draws,
)


@pytest.mark.parametrize("draw_model", [no_draws, davidson_draws, flat_draws])
def test_intervals_hold_the_truth(draw_model: DrawModel) -> None:
    held = coverage(POOLS["ladder"], draw_model, num_games=40, num_trials=50, seed=1)
    assert mean(held.values()) >= 0.92  # of 300 ratings; a standard deviation is 0.0126
    assert min(held.values()) >= 0.84


@pytest.mark.parametrize("draws", [0, 15])
def test_intervals_shrink_with_the_root_of_the_number_of_games(draws: int) -> None:
    widths = []
    for factor in (1, 4, 16):
        counts = [("a", "b", 25, draws, 20), ("b", "c", 30, draws, 15), ("a", "d", 20, draws, 25)]
        results = [
            PairResult(first, second, *(factor * count for count in tally))
            for first, second, *tally in counts
        ]
        ratings = fit_ratings(results, anchors={"c": 0})
        widths.append([each.high - each.low for each in ratings.ratings if not each.is_anchor])
    for wide, middle, narrow in zip(*widths, strict=True):
        assert wide / middle == pytest.approx(2, rel=0.03)
        assert middle / narrow == pytest.approx(2, rel=0.01)
