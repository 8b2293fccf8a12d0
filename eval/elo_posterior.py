"""The log-posterior of a pool's ratings: its maximum, information and profile.

How a game ends depends on the difference d of the two ratings and on one number for the pool, its
*draw level* g:

    P(win) - P(loss) = tanh(d / 2)                          the score that Elo expects
    P(draw)^2        = 4 exp(2 g) P(win) P(loss)            the draws of Davidson

Between equals a share 1 / (1 + exp(-g)) is drawn. Everything here is in logits (400 / ln 10 = 173.7
Elo), relative to the centre of the prior.

Shapes: K parameters, which are the free players' ratings and, if a game was drawn, the draw level
as the last; G pairs of players; 3 outcomes: win, draw and loss of the first player of a pair.
"""

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from eval.intervals import Z_95

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.intp]

_MAX_STEPS = 300  # of a climb, about 5 are taken; also of the search for an end
_GAIN_TOLERANCE = 1e-12  # of a log-posterior, per game
_END_TOLERANCE = 1e-5  # logits
_LONGEST_REACH = 4.0  # of a step to an end, in 1.96 standard errors
_OFF_A_SADDLE = 0.01  # logits
_LEAST_SHARE = 0.2  # of the gain in view: else a climb could zigzag over a ridge for ever
_LONGEST_STEP = 5.0  # logits: farther away the function is no parabola any more
_SHORTEST_STEP = 1e-9  # of a whole step: shorter ones are lost in rounding


class Posterior(NamedTuple):
    """A log-posterior as a function of the K parameters."""

    num_parameters: int  # K
    first: Indices  # [G] the parameter that is the first player's rating, K for an anchor
    second: Indices  # [G] that of the second one
    offsets: Floats  # [G] what the anchors contribute to a difference
    counts: Floats  # [3, G] wins, draws and losses
    has_draws: bool  # whether the draw level is a parameter
    prior_precision: float  # of every parameter, around 0


class _Outcomes(NamedTuple):
    """The logarithms of the probabilities of the outcomes, and their derivatives, all [3, G].

    `d` stands for a derivative with respect to the difference, `g` to the draw level.
    """

    logs: Floats
    d: Floats
    g: Floats
    dd: Floats
    dg: Floats
    gg: Floats


class Place(NamedTuple):
    """A point, and what the log-posterior is like there."""

    point: Floats  # [K] parameters
    value: float  # the log-posterior but for a constant
    gradient: Floats  # [K]
    information: Floats  # [K, K] minus the second derivatives; at the mode positive definite


def find_mode(posterior: Posterior) -> Place:
    """Returns where the parameters are likeliest."""
    num_parameters = posterior.num_parameters
    return _climb(posterior, np.zeros(num_parameters), moving=np.arange(num_parameters))


def find_covariance(mode: Place) -> Floats:
    """Returns the inverse of the observed information, [K, K]."""
    return np.asarray(np.linalg.inv(mode.information), dtype=np.float64)


def find_interval(
    posterior: Posterior, mode: Place, *, covariance: Floats, index: int
) -> tuple[float, float]:
    """Returns the 95 % interval of one parameter, from the profile of the log-posterior.

    The profile is the log-posterior with this parameter held and all others at their best for it.
    The interval ends where it has fallen by 1.92, half the 95 % point of chi-squared.

    Args:
        posterior: the function.
        mode: its maximum.
        covariance: [K, K] as from `find_covariance`.
        index: of the parameter.
    """
    # How the best values of the others follow this one, to first order.
    direction = covariance[:, index] / covariance[index, index]
    reach = Z_95 * math.sqrt(covariance[index, index])
    low = _find_end(posterior, mode, index=index, direction=direction, reach=-reach)
    high = _find_end(posterior, mode, index=index, direction=direction, reach=reach)
    return low, high


def _find_end(
    posterior: Posterior, mode: Place, *, index: int, direction: Floats, reach: float
) -> float:
    """Returns where the profile has fallen to the bound, on the side that `reach` points to.

    Newton's method on the profile, whose derivative is that of the log-posterior alone, since the
    others are at their best; a bisection where it would leave what is known of the end.
    """
    others = np.delete(np.arange(len(direction)), index)
    place, inside, outside = mode, float(mode.point[index]), math.inf * reach
    end = inside + reach
    for _ in range(_MAX_STEPS):
        start = place.point + (end - place.point[index]) * direction
        place = _climb(posterior, start, moving=others)
        height, slope = place.value - mode.value + Z_95**2 / 2, float(place.gradient[index])
        inside, outside = (end, outside) if height >= 0 else (inside, end)
        last = end
        newton = height / -slope / reach if slope * reach < 0 else 1.0  # in reaches
        end += min(max(newton, -_LONGEST_REACH), _LONGEST_REACH) * reach
        if not min(inside, outside) <= end <= max(inside, outside):
            end = (inside + outside) / 2
        if abs(end - last) < _END_TOLERANCE:
            return end
    raise AssertionError("the prior lets every profile fall")


def _climb(posterior: Posterior, start: Floats, *, moving: Indices) -> Place:
    """Returns where it is likeliest when only some of the parameters may move.

    Newton's method with steps that are halved until they do not go too far.

    Args:
        posterior: the function.
        start: [K] where to begin.
        moving: the indices of those that may move; the others stay as in `start`.
    """
    place = _look(posterior, start)
    tolerance = _GAIN_TOLERANCE * (1 + posterior.counts.sum())
    for _ in range(_MAX_STEPS):
        step = np.zeros(len(start))
        step[moving] = _uphill(place.gradient[moving], place.information[np.ix_(moving, moving)])
        # What the step would gain, were the function a parabola.
        gain = float(place.gradient @ step - step @ place.information @ step / 2)
        if gain < tolerance:
            return place
        length = min(1.0, _LONGEST_STEP / float(np.abs(step).max()))
        there = _look(posterior, place.point + length * step)
        while not there.value - place.value >= _LEAST_SHARE * length * gain:  # nan neither
            assert length > _SHORTEST_STEP, "some step uphill gains"
            length /= 2
            there = _look(posterior, place.point + length * step)
        place = there
    raise AssertionError("a climb reaches the top")


def _uphill(gradient: Floats, information: Floats) -> Floats:
    """Returns Newton's step; where the function is not concave, one that leads uphill all the same.

    Both parts are concave in the ratings, but not in ratings and draw level together: in a pool in
    which equals nearly always draw and others never do, a climb may come past a saddle.
    """
    try:
        np.linalg.cholesky(information)  # refuses what is not positive definite
        return np.asarray(np.linalg.solve(information, gradient), dtype=np.float64)
    except np.linalg.LinAlgError:
        curvatures, axes = np.linalg.eigh(information)
    slopes = axes.T @ gradient
    steps = slopes / np.abs(curvatures)
    is_convex = curvatures < 0
    steps[is_convex] += np.copysign(_OFF_A_SADDLE, slopes[is_convex])
    return np.asarray(axes @ steps, dtype=np.float64)


def _look(posterior: Posterior, point: Floats) -> Place:
    """Computes the log-posterior and its derivatives at a point."""
    logs, d, g, dd, dg, gg = _outcomes(posterior, point)
    counts = posterior.counts
    gradient = _by_parameter(posterior, np.sum(counts * d, axis=0))
    information = _by_two_parameters(posterior, -np.sum(counts * dd, axis=0))
    if posterior.has_draws:
        gradient[-1] = np.sum(counts * g)
        mixed = -_by_parameter(posterior, np.sum(counts * dg, axis=0))
        information[-1], information[:, -1] = mixed, mixed
        information[-1, -1] = -np.sum(counts * gg)
    gradient -= posterior.prior_precision * point
    information[np.diag_indices(len(point))] += posterior.prior_precision
    value = np.sum(counts * logs) - posterior.prior_precision / 2 * (point @ point)
    return Place(point, float(value), gradient, information)


def _by_parameter(posterior: Posterior, derivatives: Floats) -> Floats:
    """Adds up derivatives [G] with respect to the differences by parameter, [K]."""
    size = posterior.num_parameters + 1  # with a place for what belongs to anchors
    gained = np.bincount(posterior.first, weights=derivatives, minlength=size)
    lost = np.bincount(posterior.second, weights=derivatives, minlength=size)
    return np.asarray((gained - lost)[:-1], dtype=np.float64)


def _by_two_parameters(posterior: Posterior, derivatives: Floats) -> Floats:
    """Adds up second derivatives [G] with respect to the differences by two parameters, [K, K].

    As a product of matrices, most of them zeros, it would take minutes beside a run that trains:
    the threads of the linear algebra wait for each other.
    """
    size = posterior.num_parameters + 1
    cells = posterior.first * size + posterior.second
    between = np.bincount(cells, weights=derivatives, minlength=size * size).reshape(size, size)
    between += between.T
    return np.asarray((np.diag(between.sum(axis=0)) - between)[:-1, :-1], dtype=np.float64)


def _outcomes(posterior: Posterior, point: Floats) -> _Outcomes:
    """Computes the outcomes of all pairs, by way of the favourite of each."""
    ratings = np.append(point, 0.0)  # of an anchor: it is among the offsets
    differences = ratings[posterior.first] - ratings[posterior.second] + posterior.offsets
    if posterior.has_draws:
        outcomes = _outcomes_with_draws(np.abs(differences), level=float(point[-1]))
    else:
        outcomes = _outcomes_without_draws(np.abs(differences))
    is_favourite = differences >= 0
    sign = np.where(is_favourite, 1, -1)
    logs, d, g, dd, dg, gg = (np.where(is_favourite, each, each[::-1]) for each in outcomes)
    return _Outcomes(logs, sign * d, g, dd, sign * dg, gg)


def _outcomes_without_draws(differences: Floats) -> _Outcomes:
    """Computes the favourite's outcomes on the logistic curve; all of the draws' are 0."""
    odds = np.exp(-differences)
    log_win, upset = -np.log1p(odds), odds / (1 + odds)
    curvature = -odds / (1 + odds) ** 2
    none = np.zeros_like(differences)
    nothing = np.stack([none, none, none])
    return _Outcomes(
        logs=np.stack([log_win, none, log_win - differences]),
        d=np.stack([upset, none, upset - 1]),
        g=nothing,
        dd=np.stack([curvature, none, curvature]),
        dg=nothing,
        gg=nothing,
    )


def _outcomes_with_draws(differences: Floats, *, level: float) -> _Outcomes:
    """Computes the favourite's outcomes.

    With c = exp(2 g), t = tanh(d / 2), u = 1 - t^2 and r = sqrt(c^2 t^2 + c u) the solution of the
    model's two equations is

        P(draw) = c u / (c + r),  P(win) = (1 - P(draw) + t) / 2

    and P(loss) follows from the second, since a difference of the other two would cancel.
    """
    c = math.exp(2 * level)
    odds = np.exp(-differences)
    t, u = (1 - odds) / (1 + odds), 4 * odds / (1 + odds) ** 2
    r = np.sqrt(c**2 * t**2 + c * u)
    draw = c * u / (c + r)
    win = (1 - draw + t) / 2
    log_win, log_draw = np.log(win), np.log(draw)
    # Derivatives of log P(draw); of r there are c (c - 1) t u / (2 r) and c (2 c t^2 + u) / r.
    d, g = -t * (c + r) / (2 * r), draw / r
    dd = -u / 4 * (1 + c**2 / r**3)
    dg = g * (d - c * (c - 1) * t * u / (2 * r**2))
    gg = g * (g - c * (2 * c * t**2 + u) / r**2)
    # Those of log P(win), by way of those of P(draw), P(draw) d and so on, over P(win).
    per_win = draw / (2 * win)
    win_d, win_g = u * (c * t + r) / (4 * r * win), -per_win * g
    win_dd = -per_win * (dd + d**2) - t * u / (4 * win) - win_d**2
    win_dg = -per_win * (dg + d * g) - win_d * win_g
    win_gg = -per_win * (gg + g**2) - win_g**2
    return _Outcomes(
        logs=np.stack([log_win, log_draw, 2 * log_draw - math.log(4 * c) - log_win]),
        d=np.stack([win_d, d, 2 * d - win_d]),
        g=np.stack([win_g, g, 2 * g - 2 - win_g]),
        dd=np.stack([win_dd, dd, 2 * dd - win_dd]),
        dg=np.stack([win_dg, dg, 2 * dg - win_dg]),
        gg=np.stack([win_gg, gg, 2 * gg - win_gg]),
    )
