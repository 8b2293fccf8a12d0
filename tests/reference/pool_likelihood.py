"""Ratings and the sequential test by brute force: from the formulas, with loops and searches.

Nothing here is taken from `eval/elo.py`, `eval/elo_posterior.py` or `eval/sprt.py`.
"""

import math
from collections.abc import Callable, Mapping, Sequence

PRIOR_SD = 1_000.0  # Elo
ELO_PER_LOGIT = 400 / math.log(10)
CHI_SQUARED_95 = 3.841458820694124

Result = tuple[str, str, int, int, int]  # first, second, wins, draws, losses


def outcome_probabilities(difference: float, draws_between_equals: float) -> list[float]:
    """Returns P(win), P(draw) and P(loss) for a difference in Elo.

    The score is Elo's, P(draw)^2 is a multiple of P(win) P(loss), and between equals it is the
    square of the share that is given.
    """
    score = 1 / (1 + 10 ** (-difference / 400))
    equal = (1 - draws_between_equals) / 2
    multiple = (draws_between_equals / equal) ** 2
    low, high = 0.0, 2 * min(score, 1 - score)  # of P(draw): nothing may be negative
    for _ in range(80):
        draw = (low + high) / 2
        if draw**2 > multiple * (score - draw / 2) * (1 - score - draw / 2):
            high = draw
        else:
            low = draw
    return [score - low / 2, low, 1 - score - low / 2]


def log_posterior(
    elos: dict[str, float],
    logit: float,
    results: Sequence[Result],
    *,
    free: Sequence[str],
    centre: float,
) -> float:
    """Returns the log-posterior of ratings and of the logit of the draws between equals.

    Args:
        elos: of all players.
        logit: of the share of draws; -inf where no game was drawn.
        results: first, second, wins, draws, losses.
        free: the players whose rating has a prior.
        centre: of that prior.
    """
    share = 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0
    total = 0.0
    for first, second, *counts in results:
        shares = outcome_probabilities(elos[first] - elos[second], share)
        for count, probability in zip(counts, shares, strict=True):
            if count:
                total += count * math.log(probability) if probability > 0 else -math.inf
    for player in free:
        total -= ((elos[player] - centre) / PRIOR_SD) ** 2 / 2
    if share > 0:
        total -= (logit * ELO_PER_LOGIT / PRIOR_SD) ** 2 / 2
    return total


def climb(
    function: Callable[[list[float]], float], start: Sequence[float], *, width: float, until: float
) -> list[float]:
    """Returns where a function of some numbers is highest, trying steps of ever smaller widths."""
    best, value = list(start), function(list(start))
    while width > until:
        improved = False
        for place in range(len(best)):
            for step in (width, -width):
                other = list(best)
                other[place] += step
                if (other_value := function(other)) > value:
                    best, value, improved = other, other_value, True
        width /= 1 if improved else 2
    return best


class BruteForcePool:
    """The likeliest ratings of a small pool, and their 95 % intervals, by climbing and bisection.

    Attributes:
        free: the players without a fixed Elo.
        best: the likeliest Elo of each of them, then the logit of the draws, times 173.7, if there
            were any.
    """

    def __init__(self, results: Sequence[Result], anchors: Mapping[str, float]) -> None:
        self._results, self._anchors = results, anchors
        self._centre = sum(anchors.values()) / len(anchors)
        self._has_draws = any(result[3] for result in results)
        names = {name for first, second, *_ in results for name in (first, second)}
        self.free = sorted(names - set(anchors))
        start = [self._centre] * len(self.free) + [0.0] * self._has_draws
        self.best = climb(self._value, start, width=100, until=1e-3)

    def interval(self, player: str) -> tuple[float, float]:
        """Returns where the profile of a player's rating has fallen by half of chi-squared."""
        place = self.free.index(player)
        low, high = (self._end(place, side) for side in (-1, 1))
        return low, high

    def _end(self, place: int, side: int) -> float:
        bound = self._value(self.best) - CHI_SQUARED_95 / 2
        inside, outside = 0.0, 5_000.0
        for _ in range(30):
            middle = (inside + outside) / 2
            if self._profile(place, self.best[place] + side * middle) > bound:
                inside = middle
            else:
                outside = middle
        return self.best[place] + side * inside

    def _profile(self, place: int, elo: float) -> float:
        """Returns the highest value with one rating held."""

        def with_it(others: list[float]) -> float:
            return self._value([*others[:place], elo, *others[place:]])

        others = self.best[:place] + self.best[place + 1 :]
        return with_it(climb(with_it, others, width=100, until=1e-3))

    def _value(self, parameters: list[float]) -> float:
        elos = {**self._anchors, **dict(zip(self.free, parameters, strict=False))}
        logit = parameters[-1] / ELO_PER_LOGIT if self._has_draws else -math.inf
        return log_posterior(elos, logit, self._results, free=self.free, centre=self._centre)


def highest_likelihood(counts: Sequence[float], mean: float) -> float:
    """Returns the highest log-likelihood of counts of pairs whose average score is given.

    The five shares have to sum to 1 and to have that average, which leaves three free: a climb.

    Args:
        counts: of pairs with a score of 0, 1/4, 1/2, 3/4 and 1, all above 0.
        mean: the average.
    """

    def value(middle: list[float]) -> float:
        last = mean - sum(
            share * score for share, score in zip(middle, (0.25, 0.5, 0.75), strict=True)
        )
        shares = [1 - sum(middle) - last, *middle, last]
        if min(shares) <= 0:
            return -math.inf
        return sum(count * math.log(share) for count, share in zip(counts, shares, strict=True))

    # The shares of two coins with that average are possible.
    start = [math.comb(4, k) * mean**k * (1 - mean) ** (4 - k) for k in (1, 2, 3)]
    return value(climb(value, start, width=0.1, until=1e-7))
