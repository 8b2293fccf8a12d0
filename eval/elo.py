"""Ratings: the Elo of a pool of players from the results of their games.

Elo's own model says what score the stronger of two players expects who are d Elo apart,

    P(win) + P(draw) / 2 = 1 / (1 + 10^(-d / 400))

and it says nothing of draws. These follow Davidson (Journal of the American Statistical Association
1970, 65:317): P(draw)^2 is a multiple of P(win) P(loss), the same for the whole pool, estimated
together with the ratings and told as the *draw Elo*. So a rating difference means here what it
means beside a match (`elo_of_score`) and to the sequential test (`eval/sprt.py`). Without a draw
this is Elo's model alone. The anchors' ratings are known and stay, so that a pool has a zero that
does not drift with it.

Other models of draws have scales of their own: by that of BayesElo (Rao and Kupper 1967) 30 wins,
20 draws and 10 losses are +140 Elo, by Davidson's own +191, and here +120, as the score says. Which
covers more was measured, on pools of eight players with one or two anchors, 40 games a pair. Shares
of the ratings that lie in the 95 % intervals (three pools; 500 trials of each, * 200):

    results by                             this model      BayesElo *      Davidson *
    Elo's score, no draws                  0.94 to 0.96    the same        the same
    Elo's score, 30 % of draws             0.95            0.91 to 0.94    0.45 to 0.87
    this model, 27 % between equals        0.95
    BayesElo's model, drawElo 100          0.93 to 0.95    0.95 to 0.96    0.77 to 0.94

With more games a wrong scale shows more: with 100 a pair BayesElo's model holds 0.89 to 0.93 of the
second kind, and this one holds 0.91 to 0.93 of the fourth.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple, TypeAlias

import numpy as np

from alphago.errors import AlphagoError
from eval.elo_posterior import Floats, Posterior, find_covariance, find_interval, find_mode

_LOGITS_PER_ELO = math.log(10) / 400
_PRIOR_SD = 1_000.0  # Elo
MAX_ELO = 10_000  # of an anchor; far beyond, a chance would be 0 in floating point

# Wins, draws and losses of pairs of players, from the side of the first.
_Tallies: TypeAlias = dict[tuple[str, str], tuple[int, int, int]]


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


@dataclass(frozen=True, kw_only=True, eq=False)
class RatingList:
    """The ratings of a pool of P players.

    Attributes:
        ratings: [P], strongest first; players of equal Elo by name.
        draw_elo: how often equals draw: with x = 10^(draw_elo / 400) a share (x - 1) / (x + 1), as
            in BayesElo. 0 without draws; 97 for the 27.2 % that are its default.
        covariance: [P, P] of the estimates in Elo^2, in the order of `ratings`: the inverse of
            the observed information, 0 for anchors.
    """

    ratings: list[Rating]
    draw_elo: float
    covariance: Floats

    def difference(self, first: str, second: str) -> EloDifference:
        """Returns by how much `first` is stronger than `second`.

        Two ratings depend on each other: between players of many common games the difference is
        known better than either rating. The intervals of two ratings do not tell.

        Raises:
            EloError: if one of them is not in the pool.
        """
        places = {rating.player: place for place, rating in enumerate(self.ratings)}
        for player in (first, second):
            if player not in places:
                raise EloError(f"no player {player!r} in the ratings, only: {', '.join(places)}")
        i, j = places[first], places[second]
        variance = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        difference = self.ratings[i].elo - self.ratings[j].elo
        return EloDifference(difference, math.sqrt(max(0.0, variance)))


def fit_ratings(results: Sequence[PairResult], *, anchors: Mapping[str, float]) -> RatingList:
    """Rates the players of a pool by maximum likelihood.

    A weak prior keeps the estimates finite at scores of 0 % and 100 %, or where all games are
    drawn: a Gaussian of 1,000 Elo around the mean of the anchors for each rating, and around a half
    for the logit of the share of draws between equals. It tells as much of a rating as an eighth of
    a game against an equal opponent. A player whom no chain of games connects to an anchor is known
    by the prior alone, and has an interval of some thousand Elo to say so.

    The 95 % intervals are those of the profile likelihood: they hold each rating that, with all
    others and the draws at their best for it, is not too unlikely. So a player with 100 % has an
    interval that is short downwards and long upwards.

    Args:
        results: of pairs of players, each pair once or several times, in either order.
        anchors: the players whose Elo is known and stays, at least one; they need not have played.

    Returns:
        A rating for each player and anchor. It does not depend on the order of the results.

    Raises:
        EloError: without an anchor, if an anchor's Elo is no number from -10,000 to 10,000, or if a
            result has a negative count or a player against itself.
    """
    _check_anchors(anchors)
    tallies = _merge_results(results)
    free = sorted({player for pair in tallies for player in pair} - set(anchors))
    centre = float(sum(anchors.values())) / len(anchors)
    posterior = _make_posterior(tallies, free=free, anchors=anchors, centre=centre)
    mode = find_mode(posterior)
    covariance = find_covariance(mode)
    spans = {player: (float(elo),) * 3 for player, elo in anchors.items()}
    for index, player in enumerate(free):
        ends = find_interval(posterior, mode, covariance=covariance, index=index)
        elo, low, high = (float(each) / _LOGITS_PER_ELO for each in (mode.point[index], *ends))
        spans[player] = centre + elo, centre + low, centre + high
    order = sorted(spans, key=lambda player: (-spans[player][0], player))
    return RatingList(
        ratings=[
            _make_rating(player, spans[player], tallies, is_anchor=player in anchors)
            for player in order
        ],
        draw_elo=_draw_elo(float(mode.point[-1])) if posterior.has_draws else 0.0,
        covariance=_in_order(order, free=free, covariance=covariance / _LOGITS_PER_ELO**2),
    )


def expected_score(difference: float) -> float:
    """Returns the score that a player expects who is `difference` Elo stronger, in [0, 1]."""
    return (1 + math.tanh(difference * _LOGITS_PER_ELO / 2)) / 2


def elo_of_score(score: float) -> float:
    """Returns the Elo difference at which a score is expected on the logistic curve.

    Args:
        score: share of the points in [0, 1], a draw counting half.

    Returns:
        The difference, -inf for 0 and inf for 1. Monotone, so that the ends of an interval of the
        score give the ends of one of the difference.
    """
    assert 0 <= score <= 1, "not a share of the points"
    if score in (0, 1):
        return math.copysign(math.inf, score - 0.5)
    return math.log(score / (1 - score)) / _LOGITS_PER_ELO


def _draw_elo(level: float) -> float:
    """Returns the draw Elo of a draw level in logits, see `RatingList`."""
    return math.log1p(2 * math.exp(level)) / _LOGITS_PER_ELO


def _check_anchors(anchors: Mapping[str, float]) -> None:
    """Raises `EloError` unless there is an anchor and each has an Elo that can be."""
    if not anchors:
        raise EloError("no anchor: give at least one player's Elo, or the ratings have no zero")
    for player, elo in anchors.items():
        is_number = isinstance(elo, int | float) and not isinstance(elo, bool)
        if not is_number or not abs(elo) <= MAX_ELO:  # NaN is refused as well
            allowed = f"a number from {-MAX_ELO} to {MAX_ELO}"
            raise EloError(f"anchor {player!r}: Elo is {elo!r}, allowed: {allowed}")


def _merge_results(results: Iterable[PairResult]) -> _Tallies:
    """Adds up the results of each pair, from the side of the player whose name comes first.

    Sorted, so that not even the rounding depends on the order of the results.
    """
    tallies: _Tallies = {}
    for result in results:
        first, second, wins, draws, losses = result
        if first == second:
            raise EloError(f"result of {first!r} against itself: a game needs two players")
        for count in (wins, draws, losses):
            if not isinstance(count, Integral) or count < 0:
                raise EloError(
                    f"result of {first!r} against {second!r}: got {wins} wins, {draws} draws and "
                    f"{losses} losses, allowed: integers of at least 0"
                )
        if first > second:
            first, second, wins, losses = second, first, losses, wins
        old = tallies.get((first, second), (0, 0, 0))
        tallies[first, second] = old[0] + wins, old[1] + draws, old[2] + losses
    return dict(sorted(tallies.items()))


def _make_posterior(
    tallies: _Tallies, *, free: Sequence[str], anchors: Mapping[str, float], centre: float
) -> Posterior:
    """Returns the log-posterior of the free players' ratings, in logits above the centre."""
    columns = {player: column for column, player in enumerate(free)}
    counts = np.array(list(tallies.values()), dtype=np.float64).reshape(-1, 3).T
    has_draws = bool(counts[1].any())
    num_parameters = len(free) + has_draws
    sides = [[columns.get(player, num_parameters) for player in pair] for pair in tallies]
    first, second = np.array(sides, dtype=np.intp).reshape(-1, 2).T
    known = {player: (elo - centre) * _LOGITS_PER_ELO for player, elo in anchors.items()}
    return Posterior(
        num_parameters=num_parameters,
        first=first,
        second=second,
        offsets=np.array([known.get(one, 0.0) - known.get(other, 0.0) for one, other in tallies]),
        counts=counts,
        has_draws=has_draws,
        prior_precision=1 / (_PRIOR_SD * _LOGITS_PER_ELO) ** 2,
    )


def _make_rating(
    player: str, span: tuple[float, float, float], tallies: _Tallies, *, is_anchor: bool
) -> Rating:
    """Puts a player's Elo and interval beside its games."""
    num_games = half_points = 0
    for pair, (wins, draws, losses) in tallies.items():
        if player in pair:
            num_games += wins + draws + losses
            half_points += 2 * (wins if player == pair[0] else losses) + draws
    elo, low, high = span
    score = half_points / (2 * num_games) if num_games > 0 else None
    return Rating(player, elo, low, high, num_games, score, is_anchor)


def _in_order(order: Sequence[str], *, free: Sequence[str], covariance: Floats) -> Floats:
    """Returns the [P, P] covariance of players in an order, of whom the anchors have none."""
    columns = {player: column for column, player in enumerate(free)}
    places = [place for place, player in enumerate(order) if player in columns]
    chosen = [columns[order[place]] for place in places]
    ordered = np.zeros((len(order), len(order)))
    ordered[np.ix_(places, places)] = covariance[np.ix_(chosen, chosen)]
    return ordered
