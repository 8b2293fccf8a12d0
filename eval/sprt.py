"""The sequential test of a match: play on until it is plain which of two hypotheses holds.

A match of fixed length wastes games where the difference is large and tells nothing where it is
small. A sequential probability ratio test (SPRT; Wald, Annals of Mathematical Statistics 1945,
16:117) looks at the results as they come, and stops as soon as one of two hypotheses about the Elo
difference is likely enough against the other.

**Pairs, not games.** The two games from one opening depend on each other: an opening that favours a
side gives 1-1 in most pairs. So what is counted are pairs, by the points that they brought the
first player: 0, 1/2, 1, 3/2 or 2. How often each of the five comes is unknown and estimated as
well, under either hypothesis, which makes it a *generalised* SPRT. No draw model is needed: draws
and one-sided openings show in the five counts.

**Which bounds.** The Elo here is logistic: +35 is a score of 55 %.

- *Is the first player stronger?* `elo0=0, elo1=G`, with the smallest gain G that would be worth
  having. A player in between passes about half of the time, at +G/2 and after the longest matches.
- *Is it at least no weaker?* (a faster or simpler version): `elo0=-G, elo1=0`. Equal players pass.
- *Which of two is stronger?* `elo0=-G, elo1=G`. Equal players are decided by chance.

The number of pairs grows with 1 / (elo1 - elo0)^2: half the distance takes four times as many. At
0 / 35, 5 % and 5 %, a match of players that are one or the other takes 280 pairs on average without
draws, and 110 where 60 % of the games are drawn; at 0 / 100 it takes 36 and 18. Ask for what the
games at hand can answer.

Wald's bounds are exact for large samples. In 1,000 simulated tests of each kind (0 / 35 and
0 / 100; without draws, with 60 %, with openings worth 300 Elo to a side) H1 was accepted wrongly in
3.3 to 5.9 % and H0 in 2.6 to 3.9 %, where either should be 5 %.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from alphago.errors import check_config
from eval.elo import expected_score

NUM_PAIR_RESULTS = 5  # 0, 1/2, 1, 3/2 and 2 points of the first player in the two games of a pair
_PSEUDO_COUNT = 1e-3  # pairs added to each count: no result is impossible, and none gains weight
_MAX_ELO = 2_000  # of a hypothesis; far beyond, a score is 1 in floating point
_MAX_STEPS = 200  # bisection alone reaches the precision of a double in 60


@dataclass(frozen=True, kw_only=True)
class SprtConfig:
    """What is tested, and how often the test may be wrong.

    Attributes:
        elo0: H0: the first player is stronger by this many Elo (logistic), or less.
        elo1: H1: it is stronger by this many, or more; above `elo0`.
        alpha: how often H1 may be accepted though H0 is true, above 0 and below 1/2.
        beta: how often H0 may be accepted though H1 is true, above 0 and below 1/2.
    """

    elo0: float
    elo1: float
    alpha: float
    beta: float

    def __post_init__(self) -> None:
        """Checks the values."""
        for key in ("elo0", "elo1"):
            elo = getattr(self, key)
            allowed = f"a number from {-_MAX_ELO} to {_MAX_ELO}"
            check_config(key, elo, _is_within(elo, -_MAX_ELO, _MAX_ELO), allowed)
        check_config("elo1", self.elo1, self.elo1 > self.elo0, f"more than {self.elo0} (elo0)")
        for key in ("alpha", "beta"):
            rate = getattr(self, key)
            is_rate = _is_within(rate, 0, 0.5) and 0 < rate < 0.5
            check_config(key, rate, is_rate, "a number above 0 and below 0.5")


class SprtState(NamedTuple):
    """Where a test stands."""

    llr: float  # log-likelihood ratio of H1 against H0, natural logarithm
    lower: float  # at or below it H0 is accepted
    upper: float  # at or above it H1 is accepted
    decision: Literal["H0", "H1"] | None  # None: play on


def sprt(pair_counts: Sequence[int], config: SprtConfig) -> SprtState:
    """Tests the pairs played so far.

    Wald's bounds hold for a test after every pair. Testing more rarely, after each part of a match,
    makes the match a little longer and the errors rarer.

    Args:
        pair_counts: [5] how many pairs brought the first player 0, 1/2, 1, 3/2 and 2 points.
        config: the hypotheses and the error rates.

    Returns:
        The ratio, the bounds and the decision; without pairs a ratio of 0.
    """
    assert len(pair_counts) == NUM_PAIR_RESULTS and min(pair_counts) >= 0, "not counts of pairs"
    lower = math.log(config.beta / (1 - config.alpha))
    upper = math.log((1 - config.beta) / config.alpha)
    llr = 0.0
    if sum(pair_counts) > 0:
        llr = _max_log_likelihood(pair_counts, mean=expected_score(config.elo1))
        llr -= _max_log_likelihood(pair_counts, mean=expected_score(config.elo0))
    decision: Literal["H0", "H1"] | None = None
    if llr <= lower:
        decision = "H0"
    elif llr >= upper:
        decision = "H1"
    return SprtState(llr, lower, upper, decision)


def _max_log_likelihood(pair_counts: Sequence[int], *, mean: float) -> float:
    """Returns the highest log-likelihood of the counts, less that without any condition.

    The likeliest shares of the five results under which a pair scores `mean` on average (Owen,
    Biometrika 1988, 75:237) are `share / (1 + tilt * (score - mean))`, where the shares are those
    counted and the tilt is the one number that makes the average come out.

    Args:
        pair_counts: as in `sprt`, at least one pair.
        mean: the assumed score, in (0, 1).
    """
    counts = [count + _PSEUDO_COUNT for count in pair_counts]
    deviations = [result / (NUM_PAIR_RESULTS - 1) - mean for result in range(NUM_PAIR_RESULTS)]
    tilt = _solve_for_tilt(counts, deviations)
    return -sum(
        count * math.log1p(tilt * deviation)
        for count, deviation in zip(counts, deviations, strict=True)
    )


def _solve_for_tilt(counts: Sequence[float], deviations: Sequence[float]) -> float:
    """Returns the t at which the sum of `count * deviation / (1 + t * deviation)` is zero.

    The sum falls from inf to -inf between the two values at which a share would be infinite.
    Newton's method is fast, and a bisection takes its place wherever it would leave the interval.
    """
    low, high = -1 / max(deviations), -1 / min(deviations)
    tilt = 0.0
    for _ in range(_MAX_STEPS):
        ratios = [deviation / (1 + tilt * deviation) for deviation in deviations]
        total = sum(count * ratio for count, ratio in zip(counts, ratios, strict=True))
        slope = -sum(count * ratio**2 for count, ratio in zip(counts, ratios, strict=True))
        if total > 0:
            low = tilt
        else:
            high = tilt
        last, tilt = tilt, tilt - total / slope
        if not low < tilt < high:
            tilt = (low + high) / 2
        if math.isclose(tilt, last, rel_tol=1e-15, abs_tol=1e-15):
            break
    return tilt


def _is_within(got: object, lowest: float, highest: float) -> bool:
    """Tells whether something is a number, and no NaN, within bounds."""
    if not isinstance(got, int | float) or isinstance(got, bool):
        return False
    return lowest <= got <= highest
