"""Runs a `Graph` with torch, on any device: the reference of all backends, and the one on GPUs."""

import contextlib
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from alphago.network.graph import (
    LOGITS,
    OBSERVATIONS,
    VALUE,
    CellLinear,
    Concatenation,
    Convolution,
    Flatten,
    Graph,
    Linear,
    Operation,
    Pooling,
    inputs_of,
)
from alphago.types import Evaluation, FloatArray, UInt8Array

Tensors: TypeAlias = dict[str, Tensor]  # by name

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda features: features,
    "relu": torch.relu,
    "tanh": torch.tanh,
}


class Target(NamedTuple):
    """Where and how exactly torch computes.

    Attributes:
        device: where.
        dtype: float32 or bfloat16, of the convolutions. Linear layers are always float32: they cost
            next to nothing, and bfloat16 has only 8 bits for a value.
    """

    device: torch.device
    dtype: torch.dtype

    def copy(self, array: FloatArray, dtype: torch.dtype | None = None) -> Tensor:
        """Copies weights here; `dtype` is that of the convolutions where it is not given."""
        copied = torch.tensor(array, device=self.device, dtype=dtype or self.dtype)
        return copied.contiguous(memory_format=torch.channels_last) if array.ndim == 4 else copied


class TorchNetwork:
    """A graph as calls of torch. Call it in inference mode."""

    def __init__(self, graph: Graph, target: Target) -> None:
        """Copies the weights to the target's device."""
        self.target = target
        self._steps = [(each.output, _make_step(each, target)) for each in graph.operations]
        self._dead = _dead_after_each(graph)

    def __call__(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluates a batch.

        Args:
            observations: any dtype [B, C, H, W], on any device.

        Returns:
            float32 logits [B, A] and values [B] on the target's device.
        """
        tensors = {OBSERVATIONS: self._planes(observations)}
        for (output, step), dead in zip(self._steps, self._dead, strict=True):
            tensors[output] = step(tensors)
            for name in dead:  # their memory, still in the cache, serves the next planes
                del tensors[name]
        return tensors[LOGITS], tensors[VALUE].squeeze(1)

    def tensors(self, observations: Tensor) -> Tensors:
        """Returns everything that is computed on the way to logits and values, by name."""
        tensors = {OBSERVATIONS: self._planes(observations)}
        for output, step in self._steps:
            tensors[output] = step(tensors)
        return tensors

    def _planes(self, observations: Tensor) -> Tensor:
        """Brings observations into the target's memory, type and layout."""
        return observations.to(
            self.target.device,
            self.target.dtype,
            non_blocking=True,
            memory_format=torch.channels_last,
        )


class TorchBackend:
    """Evaluates arrays with a `TorchNetwork`, one batch at a time and of any size."""

    def __init__(self, graph: Graph, target: Target) -> None:
        """Copies the weights to the target's device."""
        # Tensors created outside of inference mode are slower to call with.
        with torch.inference_mode():
            self.network = TorchNetwork(graph, target)

    def evaluate(self, observations: UInt8Array) -> Evaluation:
        """See `Backend.evaluate`."""
        with torch.inference_mode(), exact_convolutions(self.network.target.device):
            logits, value = self.network(as_tensor(observations))
            return Evaluation(logits.cpu().numpy(), value.cpu().numpy())

    def tensors(self, observations: UInt8Array) -> Tensors:
        """Returns everything that is computed on the way to logits and values, by name."""
        with torch.inference_mode(), exact_convolutions(self.network.target.device):
            return self.network.tensors(as_tensor(observations))


def as_tensor(observations: UInt8Array) -> Tensor:
    """Returns a tensor on the array's own memory, of a copy where torch would warn (read-only)."""
    return torch.from_numpy(np.require(observations, requirements=["C", "W"]))


def exact_convolutions(device: torch.device) -> contextlib.AbstractContextManager[None]:
    """Returns a context in which float32 means float32 on CUDA too, where the default is TF32."""
    if device.type == "cuda":
        return torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
    return contextlib.nullcontext()


def _dead_after_each(graph: Graph) -> list[list[str]]:
    """Returns for each operation the tensors that no later one reads."""
    last_reader = {name: i for i, each in enumerate(graph.operations) for name in inputs_of(each)}
    dead: list[list[str]] = [[] for _ in graph.operations]
    for name, i in last_reader.items():
        dead[i].append(name)
    return dead


Step: TypeAlias = Callable[[Tensors], Tensor]


def _make_step(operation: Operation, target: Target) -> Step:
    """Returns the function that makes an operation's output from all tensors before it."""
    match operation:
        case Convolution():
            return _make_convolution(operation, target)
        case Pooling():
            return lambda tensors: mean_and_max(tensors[operation.input].float())
        case Flatten():
            return lambda tensors: tensors[operation.input].float().flatten(1)
        case Linear():
            return _make_linear(operation, target)
        case CellLinear():
            return _make_cell_linear(operation, target)
        case Concatenation():
            return lambda tensors: torch.cat([tensors[name] for name in operation.inputs], dim=1)


def _make_convolution(operation: Convolution, target: Target) -> Step:
    weight, bias = target.copy(operation.weight), target.copy(operation.bias)
    padding = operation.weight.shape[-1] // 2

    def run(tensors: Tensors) -> Tensor:
        planes = functional.conv2d(tensors[operation.input], weight, bias, padding=padding)
        if operation.residual is not None:
            planes = planes.add_(tensors[operation.residual])
        if operation.cell_bias is not None:
            planes = planes.add_(tensors[operation.cell_bias].to(planes.dtype)[:, :, None, None])
        return planes.relu_()

    return run


def _make_linear(operation: Linear, target: Target) -> Step:
    weight = target.copy(operation.weight, torch.float32)
    bias = target.copy(operation.bias, torch.float32)
    activate = _ACTIVATIONS[operation.activation]
    return lambda tensors: activate(functional.linear(tensors[operation.input], weight, bias))


def _make_cell_linear(operation: CellLinear, target: Target) -> Step:
    weight = target.copy(operation.weight, torch.float32)
    bias = target.copy(operation.bias, torch.float32)

    def run(tensors: Tensors) -> Tensor:
        cells = tensors[operation.input].float().permute(0, 2, 3, 1)
        return functional.linear(cells, weight, bias).flatten(1)

    return run


def mean_and_max(planes: Tensor) -> Tensor:
    """Maps [B, channels, H, W] to the mean, then the maximum of each channel: [B, 2 * channels]."""
    # On a CPU pooling over the whole board is seven times faster than `amax`.
    maximum = functional.max_pool2d(planes, planes.shape[2:]).flatten(1)
    return torch.cat([planes.mean(dim=(2, 3)), maximum], dim=1)
