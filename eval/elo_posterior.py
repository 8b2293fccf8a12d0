"""The log-posterior of a pool's ratings: its maximum, curvature and profile.

With P(win) and P(loss) logistic in a *margin*, d - D and -d - D, a win is one factor and a draw is

    P(draw) = (10^(2 D / 400) - 1) P(win) P(loss)

So all games together are a logistic regression, in which a draw counts as a win and a loss, and one
term in D. Each part is concave, and Newton's method finds the one maximum.

Everything here is in logits (400 / ln 10 = 173.7 Elo), relative to the centre of the prior.
Shapes: K free parameters, which are the ratings in order and, if there were draws, D as the last.
"""

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from eval.intervals import Z_95

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.intp]

_MAX_STEPS = 200  # of Newton's method; about 5 are taken
_GAIN_TOLERANCE = 1e-10  # of a log-posterior, relative: the last step is full and more exact
_END_TOLERANCE = 1e-6  # logits
_FIRST_DRAW_ELO = 1.0  # logits; any start leads to the same maximum


class Posterior(NamedTuple):
    """A log-posterior as a function of the K free parameters.

    There are two margins for each pair of players, of the win and of the loss: 2G in all.
    """

    slopes: Floats  # [2G, K] how each margin depends on the parameters: 1, 0 or -1
    offsets: Floats  # [2G] what the anchors contribute to it
    counts: Floats  # [2G] games that the margin's logistic factor occurs in
    num_draws: int  # in all; where there are any the last parameter is the draw Elo
    prior_precision: float  # of every parameter, around 0


class _Derivatives(NamedTuple):
    """First and second derivatives of a log-posterior."""

    gradient: Floats  # [K]
    information: Floats  # [K, K] minus the second derivatives, positive definite


def find_mode(posterior: Posterior) -> Floats:
    """Returns the [K] likeliest parameters."""
    start = np.zeros(posterior.slopes.shape[1])
    if posterior.num_draws > 0:
        start[-1] = _FIRST_DRAW_ELO
    return _maximise(posterior, start, moving=np.arange(len(start)))


def find_covariance(posterior: Posterior, mode: Floats) -> Floats:
    """Returns the inverse of the observed information, [K, K]."""
    information = _derivatives(posterior, mode).information
    return np.asarray(np.linalg.inv(information), dtype=np.float64)


def find_interval(
    posterior: Posterior, mode: Floats, *, covariance: Floats, index: int
) -> tuple[float, float]:
    """Returns the 95 % interval of one parameter, from the profile of the log-posterior.

    The profile is the log-posterior with this parameter held and all others at their best for it.
    The interval ends where it has fallen by 1.92, half the 95 % point of chi-squared.

    Args:
        posterior: the function.
        mode: [K] its maximum.
        covariance: [K, K] as from `find_covariance`.
        index: of the parameter.
    """
    # How the best values of the others follow this one, to first order.
    direction = covariance[:, index] / covariance[index, index]
    reach = Z_95 * math.sqrt(covariance[index, index])
    low, high = (
        _find_end(posterior, mode, index=index, first_step=sign * reach * direction)
        for sign in (-1, 1)
    )
    return low, high


def _find_end(posterior: Posterior, mode: Floats, *, index: int, first_step: Floats) -> float:
    """Returns where the profile has fallen to the bound, on the side of the first step.

    Newton's method on the profile, whose derivative is that of the log-posterior alone, since the
    others are at their best. The profile is concave, so that each tangent lies above it: from the
    first or second step on, the end is approached from outside and cannot be missed.
    """
    bound = _log_posterior(posterior, mode) - Z_95**2 / 2
    others = np.delete(np.arange(len(mode)), index)
    point, step = mode, first_step
    for _ in range(_MAX_STEPS):
        start = point + step
        if posterior.num_draws > 0:  # a draw Elo is positive
            start[-1] = max(start[-1], point[-1] / 2)
        point = _maximise(posterior, start, moving=others)
        gradient, information = _derivatives(posterior, point)
        missing = bound - _log_posterior(posterior, point)
        step = np.zeros(len(mode))
        step[index] = missing / gradient[index]
        if abs(step[index]) < _END_TOLERANCE:
            return float(point[index] + step[index])
        blocks = information[np.ix_(others, others)], information[others, index]
        step[others] = -np.linalg.solve(*blocks) * step[index]
    raise AssertionError("the profile of a concave function has an end")


def _maximise(posterior: Posterior, start: Floats, *, moving: Indices) -> Floats:
    """Returns the [K] point that is likeliest when only some of the parameters may move.

    Newton's method with steps that are halved until they climb.

    Args:
        posterior: the function.
        start: [K] with a positive draw Elo.
        moving: the indices of those that may move; the others stay as in `start`.
    """
    point, value = start, _log_posterior(posterior, start)
    for _ in range(_MAX_STEPS):
        gradient, information = _derivatives(posterior, point)
        step = np.zeros(len(point))
        step[moving] = np.linalg.solve(information[np.ix_(moving, moving)], gradient[moving])
        gain = float(gradient @ step) / 2  # of the full step, were the function a parabola
        if gain < _GAIN_TOLERANCE * (1 + abs(value)):
            return point + step
        length = 1.0
        while (next_value := _log_posterior(posterior, point + length * step)) < value:
            length /= 2
        point, value = point + length * step, next_value
    raise AssertionError("a concave function has a maximum")


def _log_posterior(posterior: Posterior, point: Floats) -> float:
    """Returns the log-posterior but for a constant; -inf where the draw Elo is not positive."""
    value = -posterior.prior_precision / 2 * float(point @ point)
    if posterior.num_draws > 0:
        if point[-1] <= 0:
            return -math.inf
        # log(exp(2 D) - 1), which cannot overflow in this form.
        value += posterior.num_draws * (2 * point[-1] + math.log(-math.expm1(-2 * point[-1])))
    margins = posterior.slopes @ point + posterior.offsets
    return value - float(posterior.counts @ np.logaddexp(0, -margins))


def _derivatives(posterior: Posterior, point: Floats) -> _Derivatives:
    """Differentiates the log-posterior twice."""
    margins = posterior.slopes @ point + posterior.offsets
    missing = (1 - np.tanh(margins / 2)) / 2  # 1 - the logistic function of the margin
    gradient = posterior.slopes.T @ (posterior.counts * missing)
    weights = posterior.counts * missing * (1 - missing)
    information = posterior.slopes.T @ (weights[:, np.newaxis] * posterior.slopes)
    gradient -= posterior.prior_precision * point
    information[np.diag_indices(len(point))] += posterior.prior_precision
    if posterior.num_draws > 0:
        decided = -math.expm1(-2 * point[-1])
        gradient[-1] += posterior.num_draws * 2 / decided
        information[-1, -1] += posterior.num_draws * 4 * (1 - decided) / decided**2
    return _Derivatives(gradient, information)
