"""Results of players whose ratings are known, to see how often the intervals hold them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from eval.elo import PairResult, RatingList, fit_ratings
from tests.reference.pool_likelihood import outcome_probabilities

# P(win), P(draw) and P(loss) of a player who is so many Elo stronger.
DrawModel = Callable[[float], Sequence[float]]


class Pool(NamedTuple):
    """Who is how strong, who plays whom, and whose rating is given."""

    elos: Mapping[str, float]
    pairs: Sequence[tuple[str, str]]
    anchors: Sequence[str]

    @property
    def free(self) -> list[str]:
        return [player for player in self.elos if player not in self.anchors]


def expected_score(difference: float) -> float:
    return float(1 / (1 + 10 ** (-difference / 400)))


def no_draws(difference: float) -> Sequence[float]:
    score = expected_score(difference)
    return score, 0.0, 1 - score


def davidson_draws(difference: float) -> Sequence[float]:
    """Elo's score and, between equals, 27.2 % of draws: a draw Elo of 97."""
    return outcome_probabilities(difference, 0.272)


def flat_draws(difference: float) -> Sequence[float]:
    """Elo's score and 30 % of draws, or as many as the score allows."""
    score = expected_score(difference)
    draws = min(0.3, 2 * score, 2 * (1 - score))
    return score - draws / 2, draws, 1 - score - draws / 2


def rao_kupper_draws(difference: float) -> Sequence[float]:
    """BayesElo's model with a draw Elo of 100, whose scores are not Elo's."""
    win, loss = expected_score(difference - 100), expected_score(-difference - 100)
    return win, max(0.0, 1 - win - loss), loss


def _neighbours(names: Sequence[str], *, reach: int) -> list[tuple[str, str]]:
    return [(names[i], names[j]) for i, j in combinations(range(len(names)), 2) if j - i <= reach]


_LADDER = dict(zip("abcdefgh", (-200.0, 0, 100, 200, 300, 450, 600, 800), strict=True))
_CROWD = dict(zip("abcdefgh", (0.0, 50, -80, 150, 300, -150, 220, 90), strict=True))
POOLS = {
    "ladder": Pool(_LADDER, _neighbours("abcdefgh", reach=2), anchors="bg"),
    "everybody meets everybody": Pool(_CROWD, _neighbours("abcdefgh", reach=7), anchors="a"),
    "each meets two anchors": Pool(_LADDER, [(x, y) for x in "bg" for y in "acdefh"], anchors="bg"),
}


def simulate(
    pool: Pool, draw_model: DrawModel, *, num_games: int, rng: np.random.Generator
) -> RatingList:
    """Plays so many games of each pair and rates the players."""
    results = []
    for first, second in pool.pairs:
        shares = draw_model(pool.elos[first] - pool.elos[second])
        counts = rng.multinomial(num_games, shares).tolist()
        results.append(PairResult(first, second, *counts))
    return fit_ratings(results, anchors={player: pool.elos[player] for player in pool.anchors})


def coverage(
    pool: Pool, draw_model: DrawModel, *, num_games: int, num_trials: int, seed: int
) -> dict[str, float]:
    """Returns in which share of the trials the interval of each free player held its rating."""
    rng = np.random.default_rng(seed)
    held = dict.fromkeys(pool.free, 0)
    for _ in range(num_trials):
        for rating in simulate(pool, draw_model, num_games=num_games, rng=rng).ratings:
            if not rating.is_anchor:
                held[rating.player] += rating.low <= pool.elos[rating.player] <= rating.high
    return {player: count / num_trials for player, count in held.items()}
