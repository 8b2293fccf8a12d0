"""What is drawn at a root before it is searched, from the game's own random stream."""

from collections.abc import Sequence

import numpy as np

from alphago.types import BoolArray, FloatArray


def dirichlet_noise(
    legal_actions: BoolArray, *, concentration: float, rng: np.random.Generator
) -> FloatArray:
    """Draws root noise for one position: Dirichlet, alpha = concentration / number of legal moves.

    Args:
        legal_actions: bool [A] with at least one legal action.
        concentration: sum of the parameters.
        rng: the stream of this game.

    Returns:
        float32 [A], sums to 1, 0 where illegal.
    """
    legal = np.flatnonzero(legal_actions)
    noise = np.zeros(legal_actions.size, np.float32)
    noise[legal] = rng.dirichlet(np.full(legal.size, concentration / legal.size))
    return noise


def noise_of_roots(
    legal_actions: BoolArray, *, concentration: float, rngs: Sequence[np.random.Generator]
) -> FloatArray:
    """Draws the root noise of several positions, each from its own stream.

    Args:
        legal_actions: bool [K, A], each row with at least one legal action.
        concentration: see `dirichlet_noise`.
        rngs: K, the streams.

    Returns:
        float32 [K, A].
    """
    noise = np.zeros(legal_actions.shape, np.float32)
    for k, rng in enumerate(rngs):
        noise[k] = dirichlet_noise(legal_actions[k], concentration=concentration, rng=rng)
    return noise


def gumbel_numbers(legal_actions: BoolArray, *, rng: np.random.Generator) -> FloatArray:
    """Draws standard Gumbel numbers for one position.

    The k actions with the highest sums of such a number and a logit are k draws from the policy
    without replacement (Kool et al. 2019, "Stochastic Beams and Where to Find Them").

    Args:
        legal_actions: bool [A].
        rng: the stream of this game.

    Returns:
        float32 [A], 0 where illegal.
    """
    numbers = np.zeros(legal_actions.size, np.float32)
    numbers[legal_actions] = rng.gumbel(size=np.count_nonzero(legal_actions))
    return numbers
