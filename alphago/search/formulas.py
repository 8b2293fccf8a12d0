"""The equations of the search, one function each.

Sources: Silver et al. 2018, "A general reinforcement learning algorithm that masters chess, shogi,
and Go through self-play" (AlphaZero), supplementary pseudocode; Wu 2019, "Accelerating Self-Play
Learning in Go" (KataGo).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from alphago.kernels import kernel
from alphago.types import Real

SMALLEST_RANGE = 1e-3  # of values, which lie from -1 to 1


def exploration_table(max_visits: int, *, init: float, base: float) -> npt.NDArray[np.float32]:
    """Tabulates the exploration factor of PUCT over the visits of a node.

    `exploration[N] = c(N) * sqrt(N)` with `c(N) = init + ln((N + base + 1) / base)`, AlphaZero's
    growing c. A table keeps the logarithm out of the descent.

    Args:
        max_visits: largest N that is looked up.
        init: c at few visits (AlphaZero: 1.25).
        base: visits after which c starts to grow (AlphaZero: 19652).

    Returns:
        float32 [max_visits + 1].
    """
    visits = np.arange(max_visits + 1, dtype=np.float64)
    growing_c = init + np.log((visits + base + 1.0) / base)
    return (growing_c * np.sqrt(visits)).astype(np.float32)


@kernel
def puct_score(value: Real, prior: Real, visits: int, exploration: Real) -> Any:
    """AlphaZero's selection rule: Q(s, a) + c(s) * P(s, a) * sqrt(N(s)) / (1 + N(s, a)).

    It must not fall where the prior rises: of untried actions only the one with the highest prior
    is looked at.
    """
    return value + exploration * prior / np.float32(visits + 1)


@kernel
def first_play_value(node_value: Real, visited_prior: Real, reduction: Real) -> Any:
    """Value assumed for an action that was never tried (first-play urgency, KataGo section 3).

    The mean value of the node, lowered by `reduction * sqrt(prior of the actions tried so far)`,
    and never below a loss.
    """
    return max(np.float32(-1.0), node_value - reduction * np.float32(np.sqrt(visited_prior)))


@kernel
def exp_of_negative(exponent: Real) -> float:
    """Returns e to a power of at most 0, rightly rounded but for the last bit of a float32.

    A softmax over the actions of Go took most of the time of a new node. This form, a Taylor
    polynomial of a 4096th of the exponent and twelve squarings, is products and sums alone: a loop
    over it runs on vectors, where one over the C library's does not, and gives the same bits with
    the compiler off.
    """
    x = max(float(exponent), -104.0) / 4096.0  # e ** -104 is 0 in float32
    power = 1.0 + x * (1.0 + x * (1.0 / 2 + x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120)))))
    for _ in range(12):
        power *= power
    return power


@kernel
def mixed_value(raw_value: float, num_visits: int, prior_sum: float, product_sum: float) -> float:
    """v_mix, the value of a node's untried actions (Danihelka et al. 2022, appendix D).

    (v + sum of N * sum of P q / sum of P) / (1 + sum of N), over the actions tried: a mean of the
    network's own value of the node and of what was found below it.

    Args:
        raw_value: v, the network's value.
        num_visits: sum of N.
        prior_sum: sum of P, above 0 where there are visits.
        product_sum: sum of P q.
    """
    if num_visits == 0:
        return raw_value
    return (raw_value + num_visits * product_sum / prior_sum) / (1 + num_visits)


@kernel
def value_slope(
    value_range: float, most_visits: int, value_scale: float, visit_init: float
) -> float:
    """Slope of sigma: (visit_init + max N) * value_scale, for values stretched to 0 to 1.

    Danihelka et al. 2022, equation 8; mctx stretches the values of each node by their own range.
    A range below `SMALLEST_RANGE` is not stretched further: what float32 has rounded differently
    would become the whole difference between sure and never. (mctx: 1e-8, below float32's step.)
    """
    return (visit_init + most_visits) * value_scale / max(value_range, SMALLEST_RANGE)
