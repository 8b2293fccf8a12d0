"""Rows of states as dictionary keys: which positions of a batch are the same?"""

import numpy as np
import numpy.typing as npt

from alphago.types import States


def state_keys(states: States) -> list[bytes]:
    """Returns the bytes of each row of a batch [B]; equal bytes, same state."""
    width = states.dtype.itemsize
    data = states.tobytes()
    return [data[start : start + width] for start in range(0, len(data), width)]


def first_occurrences(keys: list[bytes]) -> npt.NDArray[np.int64]:
    """Returns the indices [K] at which a key appears for the first time, ascending."""
    firsts: dict[bytes, int] = {}
    for index, key in enumerate(keys):
        firsts.setdefault(key, index)
    return np.fromiter(firsts.values(), dtype=np.int64, count=len(firsts))
