"""What int8 needs to know of a network: the range of the planes that every convolution reads.

Ranges are measured on positions. Behind a ReLU, as in all our networks, they begin at 0; planes
that go below it get a signed range, since cutting them off there would be seen in no loss. They are
the extremes themselves: leaving out the outermost 0.01 % of the numbers, which rounds all others
more finely, doubled the error of trained networks.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from torch import Tensor

from alphago.network.graph import OBSERVATIONS, Graph
from alphago.network.torch_backend import TorchBackend
from alphago.types import FloatArray, UInt8Array

NUM_LEVELS = 256  # numbers that 8 bits tell apart
_LARGEST = 127  # of int8, kept symmetrical
_SMALLEST_RANGE = 1e-6  # planes that are 0 everywhere need some range as well
_ROWS_AT_ONCE = 64  # bounds the memory that all planes of a network take


class Range(NamedTuple):
    """The numbers that quantized planes can hold, in 256 equal steps; 0 is one of them."""

    low: float
    high: float


Ranges: TypeAlias = dict[str, Range]  # by the name of the planes


def measure_ranges(graph: Graph, backend: TorchBackend, observations: UInt8Array) -> Ranges:
    """Returns the range of all planes that convolutions read, on some positions.

    Args:
        graph: the network.
        backend: the same in float32.
        observations: uint8 [M, C, H, W].
    """
    ranges = {each.input: Range(0.0, _SMALLEST_RANGE) for each in graph.convolutions}
    for first in range(0, len(observations), _ROWS_AT_ONCE):
        tensors = backend.tensors(observations[first : first + _ROWS_AT_ONCE])
        ranges = {name: _widened(each, tensors[name]) for name, each in ranges.items()}
    symmetrical = {name: _symmetrical(each) for name, each in ranges.items()}
    # Observations are whole numbers of 8 bits already, and stay such, see `plane_factors`.
    return symmetrical | {OBSERVATIONS: Range(0.0, NUM_LEVELS - 1.0)}


def _widened(range_: Range, planes: Tensor) -> Range:
    low, high = (float(extreme) for extreme in planes.aminmax())
    return Range(min(range_.low, low), max(range_.high, high))


def _symmetrical(range_: Range) -> Range:
    """Returns the range as unsigned integers cover it, or signed ones if it goes below 0."""
    if range_.low == 0:
        return range_
    largest = max(-range_.low, range_.high)
    return Range(-largest * (_LARGEST + 1) / _LARGEST, largest)


def plane_factors(weight: FloatArray) -> FloatArray:
    """Returns what observations are multiplied by, and weights divided, before both are rounded.

    Planes that say much have weights ten times as large as others: stones that stand now, and those
    of seven moves ago. One step for all of a channel's weights would lose the small ones, which at
    the end of half an hour of Go 9x9 was nine tenths of all error of int8 (value error 0.032, by
    these factors 0.003).

    Args:
        weight: float32 [out, in, k, k], of the convolution that reads the observations.

    Returns:
        float32 [in], whole numbers from 1 to 255, so that planes of zeros and ones stay exact.
    """
    largest = np.abs(weight).max(axis=(0, 2, 3))
    most = NUM_LEVELS - 1
    shares = largest / max(float(largest.max()), float(np.finfo(np.float32).tiny))
    factors: FloatArray = np.clip(np.round(most * shares), 1, most).astype(np.float32)
    return factors


def quantize_weight(weight: FloatArray) -> tuple[npt.NDArray[np.int8], FloatArray]:
    """Rounds a convolution's weight to int8, with one scale per output channel.

    Args:
        weight: float32 [out, in, k, k].

    Returns:
        Integers of the same shape and their scales, float32 [out, 1, 1, 1]; their product is close
        to the weight.
    """
    largest = np.abs(weight).max(axis=(1, 2, 3), keepdims=True)
    # A channel this small is 0: its scale would be, too, where subnormal numbers are not kept.
    is_zero = largest < _LARGEST * np.finfo(np.float32).tiny
    scale = np.where(is_zero, 1.0, largest).astype(np.float32) / np.float32(_LARGEST)
    return np.round(weight / scale).astype(np.int8), scale
