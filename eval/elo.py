"""Ratings: the Elo of a pool of players from the results of their games."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from alphago.errors import AlphagoError


class EloError(AlphagoError):
    """Results or anchors of which no ratings can be made."""


class PairResult(NamedTuple):
    """Results of games of two players, from the side of the first."""

    first: str
    second: str
    wins: int
    draws: int
    losses: int


class Rating(NamedTuple):
    """How strong a player is, in Elo."""

    player: str
    elo: float
    low: float  # lower end of the 95 % interval; of an anchor its Elo
    high: float  # upper end
    num_games: int
    score: float | None  # share of the points, a draw counting half; None without games
    is_anchor: bool


class EloDifference(NamedTuple):
    """How much stronger one player is than another."""

    elo: float
    standard_error: float  # 0 between two anchors


@dataclass(frozen=True, kw_only=True)
class RatingList:
    """The ratings of a pool.

    Attributes:
        ratings: strongest first; players of equal Elo by name.
        draw_elo: the advantage that a decision takes, see `fit_ratings`; 0 without draws.
    """

    ratings: list[Rating]
    draw_elo: float

    def difference(self, first: str, second: str) -> EloDifference:
        """Returns by how many Elo `first` is above `second`.

        Raises:
            EloError: if one of them is not in the pool.
        """
        raise NotImplementedError


def fit_ratings(results: Sequence[PairResult], *, anchors: Mapping[str, float]) -> RatingList:
    """Rates the players of a pool by maximum likelihood.

    Args:
        results: of pairs of players, each pair once or several times, in either order.
        anchors: the players whose Elo is known and stays, at least one; they need not have played.

    Raises:
        EloError: without an anchor, if an anchor's Elo is not finite, or if a result has a negative
            count or a player against itself.
    """
    raise NotImplementedError


def expected_score(difference: float, draw_elo: float) -> float:
    """Returns the score that a player expects who is `difference` Elo stronger, in [0, 1].

    With `draw_elo` 0 that is the logistic curve of Elo.
    """
    raise NotImplementedError


def elo_of_score(score: float) -> float:
    """Returns the Elo difference at which a score is expected on the logistic curve.

    Args:
        score: share of the points in [0, 1], a draw counting half.

    Returns:
        The difference, -inf for 0 and inf for 1. Monotone, so that the ends of an interval of the
        score give the ends of one of the difference.
    """
    raise NotImplementedError
