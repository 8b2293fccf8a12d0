"""From visit counts to a move.

Kept apart from the search: the temperature of moves never touches the policy target.
"""

import math

import numpy as np
import numpy.typing as npt

from alphago.errors import check_config

_COLDEST = 1e-3  # below this temperature the most visited action is certain


def visit_probs(visit_counts: npt.NDArray[np.int32], temperature: float) -> npt.NDArray[np.float64]:
    """Turns visit counts into probabilities to play, proportional to counts ** (1 / temperature).

    Args:
        visit_counts: int [B, A], at least one visit per row.
        temperature: 1 plays in proportion to the visits, 0 the most visited (uniformly among
            equals).

    Returns:
        float64 [B, A], each row sums to 1.

    Raises:
        ConfigError: if the temperature is negative or not finite.
    """
    # At an infinite temperature illegal actions would be as likely as all others.
    check_config("temperature", temperature, 0 <= temperature < math.inf, "a number of at least 0")
    counts = visit_counts.astype(np.float64)
    highest = counts.max(axis=1, keepdims=True)
    assert (highest > 0).all(), "a row without visits has no most visited action"
    if temperature < _COLDEST:
        weights = (counts == highest).astype(np.float64)
    else:
        # Scaled by the maximum first: a high power of a count would overflow.
        weights = (counts / highest) ** (1.0 / temperature)
    probs: npt.NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return probs


def choose_actions(
    probs: npt.NDArray[np.float64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Draws one action per row.

    Args:
        probs: float64 [B, A], each row sums to 1.
        rng: the random stream.

    Returns:
        int64 [B]; never an action of probability 0.
    """
    cumulative = np.cumsum(probs, axis=1)
    thresholds = rng.random(len(probs))[:, np.newaxis] * cumulative[:, -1:]
    return np.asarray((cumulative > thresholds).argmax(axis=1), dtype=np.int64)
