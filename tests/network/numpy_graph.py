"""The oracle of all backends: a `Graph` evaluated in plain numpy, exactly or as int8 rounds it."""

import numpy as np

from alphago.network.graph import (
    LOGITS,
    OBSERVATIONS,
    VALUE,
    CellLinear,
    Concatenation,
    Convolution,
    Flatten,
    Linear,
    Pooling,
)
from alphago.types import Evaluation

ACTIVATIONS = {
    "none": lambda features: features,
    "relu": lambda f: np.maximum(f, 0),
    "tanh": np.tanh,
}


def evaluate(graph, observations, *, ranges=None):
    """Returns float64 logits and values; with `ranges` planes and weights are rounded for int8."""
    tensors = all_tensors(graph, observations, ranges=ranges)
    return Evaluation(tensors[LOGITS], tensors[VALUE][:, 0])


def all_tensors(graph, observations, *, ranges=None, relu=True):
    """Returns everything that is computed on the way, by name; `relu=False` leaves planes as is."""
    tensors = {OBSERVATIONS: observations.astype(np.float64)}
    for operation in graph.operations:
        tensors[operation.output] = run(operation, tensors, ranges, relu)
    return tensors


def run(operation, tensors, ranges, relu):
    match operation:
        case Convolution():
            return run_convolution(operation, tensors, ranges, relu)
        case Pooling(input=name):
            planes = tensors[name]
            return np.concatenate([planes.mean(axis=(2, 3)), planes.max(axis=(2, 3))], axis=1)
        case Flatten(input=name):
            return tensors[name].reshape(len(tensors[name]), -1)
        case Linear(input=name, weight=weight, bias=bias):
            return ACTIVATIONS[operation.activation](tensors[name] @ weight.T + bias)
        case CellLinear(input=name, weight=weight, bias=bias):
            cells = np.einsum("bchw,c->bhw", tensors[name], weight[0]) + bias
            return cells.reshape(len(cells), -1)
        case Concatenation(inputs=names):
            return np.concatenate([tensors[name] for name in names], axis=1)


def run_convolution(operation, tensors, ranges, relu):
    def read(name):
        return tensors[name] if ranges is None else round_planes(tensors[name], ranges[name])

    weight = operation.weight
    if ranges is not None:
        factors = observation_factors(weight) if operation.input == OBSERVATIONS else 1.0
        weight = round_weight(weight / factors) * factors  # of planes with so many times as much
    planes = convolve(read(operation.input), weight) + operation.bias[:, None, None]
    if operation.residual is not None:
        planes = planes + read(operation.residual)
    if operation.cell_bias is not None:
        planes = planes + tensors[operation.cell_bias][:, :, None, None]
    return np.maximum(planes, 0) if relu else planes


def convolve(planes, weight):
    """A convolution that pads by zeros, as a sum over the places of the kernel."""
    num_rows, _, height, width = planes.shape
    size = weight.shape[-1]
    margin = size // 2
    padded = np.pad(planes, ((0, 0), (0, 0), (margin, margin), (margin, margin)))
    result = np.zeros((num_rows, len(weight), height, width))
    for row in range(size):
        for column in range(size):
            shifted = padded[:, :, row : row + height, column : column + width]
            result += np.einsum("bchw,oc->bohw", shifted, weight[:, :, row, column], optimize=True)
    return result


def round_planes(planes, range_):
    """Rounds to the nearest of 256 equal steps from the low to the high end of the range."""
    step = (range_.high - range_.low) / 255
    return np.round((np.clip(planes, *range_) - range_.low) / step) * step + range_.low


def observation_factors(weight):
    """Whole numbers [in, 1, 1]: 255 for the plane with the largest weight, others in proportion."""
    largest = np.abs(weight).max(axis=(0, 2, 3)).astype(np.float64)
    return np.maximum(np.round(255 * largest / largest.max()), 1)[:, None, None]


def round_weight(weight):
    """Rounds to whole 127ths of the largest weight of each output channel."""
    largest = np.abs(weight).max(axis=(1, 2, 3), keepdims=True).astype(np.float64)
    step = np.where(largest > 0, largest, 1) / 127
    return np.round(weight / step) * step
