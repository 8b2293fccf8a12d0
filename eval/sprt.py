"""The sequential test of a match: play on until it is plain which of two players is stronger.

A match of fixed length wastes games where the difference is large and is undecided where it is
small. A sequential probability ratio test (SPRT, Wald 1945) looks at the results as they come and
stops as soon as one of two hypotheses about the Elo difference is likely enough against the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

NUM_PAIR_RESULTS = 5  # 0, 1/2, 1, 3/2 and 2 points of the first player in the two games of a pair


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


class SprtState(NamedTuple):
    """Where a test stands."""

    llr: float  # log-likelihood ratio of H1 against H0, natural logarithm
    lower: float  # at or below it H0 is accepted
    upper: float  # at or above it H1 is accepted
    decision: str | None  # "H0", "H1", or None: play on


def sprt(pair_counts: Sequence[int], config: SprtConfig) -> SprtState:
    """Tests the pairs played so far.

    Args:
        pair_counts: [5] how many pairs brought the first player 0, 1/2, 1, 3/2 and 2 points.
        config: the hypotheses and the error rates.
    """
    raise NotImplementedError
