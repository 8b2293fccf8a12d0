"""Random numbers inside kernels: the xorshift generator, equal with the compiler on and off.

Source: Marsaglia 2003, "Xorshift RNGs", Journal of Statistical Software 8(14), the triple (13, 7,
17). It needs shifts and exclusive ors only, which wrap around without numpy's overflow warnings. A
stream is one uint64 that is never zero; `new_streams` draws them from a `Generator`, so that all
randomness still begins there.
"""

import numpy as np
import numpy.typing as npt

from alphago.kernels import kernel

Streams = npt.NDArray[np.uint64]

_FIRST = np.uint64(13)
_SECOND = np.uint64(7)
_THIRD = np.uint64(17)
_HALF = np.uint64(32)


def new_streams(num_streams: int, rng: np.random.Generator) -> Streams:
    """Returns uint64 [num_streams], the state of as many independent streams."""
    # Faster than `rng.integers`, which matters to a search that plays one playout after the other.
    return np.maximum(rng.bit_generator.random_raw(num_streams), np.uint64(1))


@kernel
def draw_below(stream: Streams, bound: int) -> int:
    """Draws an integer from 0 to bound - 1.

    Args:
        stream: uint64 [1], the state, moved on in place.
        bound: at least 1, below 2**31. The chances differ by less than bound / 2**32.

    Returns:
        The number.
    """
    bits = stream[0]
    bits ^= bits << _FIRST
    bits ^= bits >> _SECOND
    bits ^= bits << _THIRD
    stream[0] = bits
    # The upper half scaled down: cheaper than a remainder, and the upper bits are the better ones.
    return int(((bits >> _HALF) * np.uint64(bound)) >> _HALF)
