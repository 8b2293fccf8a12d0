"""The state of a random stream as data for JSON, so that a run goes on with the numbers due."""

from typing import Any

import numpy as np


def rng_state(rng: np.random.Generator) -> dict[str, Any]:
    """Returns the state of a random stream."""
    state = dict(rng.bit_generator.state)
    assert state["bit_generator"] == "PCG64", "the other generators' states hold arrays"
    return state


def rng_from_state(state: dict[str, Any]) -> np.random.Generator:
    """Returns a random stream that goes on where `rng_state` was called.

    Raises:
        KeyError, TypeError, ValueError: if it is no state of one.
    """
    rng = np.random.Generator(np.random.PCG64())
    rng.bit_generator.state = state
    return rng
