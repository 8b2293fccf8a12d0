"""`Graph`: a frozen network as plain data, the one form that every backend and export is made from.

A graph is a list of operations in the order in which they run. Each reads tensors by name and names
the one it makes, as in ONNX. There are only as many kinds of operations as our networks need.
Batch norm is gone: in evaluation mode it is a fixed scale and shift, which `freezing.py` multiplies
into the convolution before it. Weights are float32; a backend brings them to its own precision.

Shapes: *planes* are [B, channels, H, W] on the graph's one size of the board, *features* [B, n].
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from alphago.types import FloatArray

OBSERVATIONS = "observations"  # the input, uint8 planes [B, C, H, W], the view of the mover
LOGITS = "prior_logits"  # an output, float32 [B, A]
VALUE = "value"  # an output, float32 [B, 1] in [-1, 1], the view of the mover


class Convolution(NamedTuple):
    """A convolution of planes with stride 1 that keeps the board's shape, then a ReLU.

    Attributes:
        output: the planes [B, out, H, W] that it makes.
        input: planes [B, in, H, W].
        weight: float32 [out, in, k, k] with an odd k.
        bias: float32 [out].
        residual: planes [B, out, H, W] that are added before the ReLU, or None.
        cell_bias: features [B, out] that are added to every cell before the ReLU, or None. At most
            one of the two is given.
    """

    output: str
    input: str
    weight: FloatArray
    bias: FloatArray
    residual: str | None = None
    cell_bias: str | None = None


class Pooling(NamedTuple):
    """The mean of each channel over the board, then the maximum of each: features [B, 2 * in]."""

    output: str
    input: str  # planes [B, in, H, W]


class Flatten(NamedTuple):
    """Planes as features [B, channels * H * W], channels first."""

    output: str
    input: str


class Linear(NamedTuple):
    """A linear layer on features.

    Attributes:
        output: the features [B, out] that it makes.
        input: features [B, in].
        weight: float32 [out, in].
        bias: float32 [out].
        activation: what is applied to the result.
    """

    output: str
    input: str
    weight: FloatArray
    bias: FloatArray
    activation: Literal["none", "relu", "tanh"] = "none"


class CellLinear(NamedTuple):
    """One number per cell from that cell's channels alone: features [B, H * W], rows first.

    Attributes:
        output: the features that it makes.
        input: planes [B, in, H, W].
        weight: float32 [1, in].
        bias: float32 [1].
    """

    output: str
    input: str
    weight: FloatArray
    bias: FloatArray


class Concatenation(NamedTuple):
    """Features one after another."""

    output: str
    inputs: tuple[str, ...]


Operation: TypeAlias = Convolution | Pooling | Flatten | Linear | CellLinear | Concatenation


class Graph(NamedTuple):
    """A network on one size of the board.

    Attributes:
        observation_shape: C, H, W of `OBSERVATIONS`.
        num_actions: A of `LOGITS`.
        operations: in the order in which they run; they make `LOGITS` and `VALUE`.
    """

    observation_shape: tuple[int, int, int]
    num_actions: int
    operations: Sequence[Operation]

    @property
    def convolutions(self) -> list[Convolution]:
        """The convolutions, in order."""
        return [each for each in self.operations if isinstance(each, Convolution)]

    @property
    def is_finite(self) -> bool:
        """Tells whether all weights are finite numbers."""
        arrays = (part for each in self.operations for part in each if isinstance(part, np.ndarray))
        return all(bool(np.isfinite(array).all()) for array in arrays)


def inputs_of(operation: Operation) -> list[str]:
    """Returns the names of the tensors that an operation reads."""
    match operation:
        case Concatenation():
            return list(operation.inputs)
        case Convolution():
            names = (operation.input, operation.residual, operation.cell_bias)
            return [name for name in names if name is not None]
        case _:
            return [operation.input]
