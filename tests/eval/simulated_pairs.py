"""Pairs of games of two players of known strength, and sequential tests of them."""

import numpy as np
import numpy.typing as npt

from eval.sprt import SprtConfig, sprt
from tests.eval.known_ratings import expected_score

MOST_PAIRS = 20_000


def pair_shares(elo: float, *, draws: float, one_sided: float = 0.0) -> npt.NDArray[np.float64]:
    """Returns how often a pair brings 0, 1/2, 1, 3/2 and 2 points.

    Args:
        elo: by which the first player is stronger: a pair brings what Elo expects on average.
        draws: the share of drawn games, where the score allows so many.
        one_sided: how many Elo the opening is worth to a side.
    """
    low, high = elo - 1_000, elo + 1_000
    while high - low > 1e-6:  # so that one-sided openings do not change the average
        middle = (low + high) / 2
        shares = np.convolve(_game(middle + one_sided, draws), _game(middle - one_sided, draws))
        if shares @ np.arange(5) / 4 < expected_score(elo):
            low = middle
        else:
            high = middle
    return shares / shares.sum()


def _game(elo: float, draws: float) -> list[float]:
    """Returns how often a game brings 0, 1/2 and 1 point."""
    score = expected_score(elo)
    share = min(draws, 2 * score, 2 * (1 - score))
    return [max(0.0, 1 - score - share / 2), share, max(0.0, score - share / 2)]


def decide(
    shares: npt.NDArray[np.float64], config: SprtConfig, *, rng: np.random.Generator
) -> tuple[str | None, int]:
    """Returns the decision of one test, which looks after every pair, and its number of pairs."""
    counts = [0] * 5
    results = rng.choice(5, size=MOST_PAIRS, p=shares)
    for num_pairs, result in enumerate(results.tolist(), start=1):
        counts[result] += 1
        if (decision := sprt(counts, config).decision) is not None:
            return decision, num_pairs
    return None, MOST_PAIRS


def decide_often(
    shares: npt.NDArray[np.float64],
    config: SprtConfig,
    *,
    num_tests: int,
    rng: np.random.Generator,
) -> list[str | None]:
    """Returns the decisions of many tests."""
    return [decide(shares, config, rng=rng)[0] for _ in range(num_tests)]
