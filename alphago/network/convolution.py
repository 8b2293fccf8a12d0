"""Convolutions with their ReLU in the form that is fastest to call, for frozen networks.

On an x86 CPU each runs as one oneDNN call (those that torch's own compiler emits), elsewhere as
ordinary torch functions.
"""

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

TYPICAL_BATCH = 64  # oneDNN lays the weights out for this batch; other sizes work as well


class Convolution(Protocol):
    """A convolution of stride 1 that keeps the board's shape, with its ReLU."""

    def relu(self, planes: Tensor) -> Tensor:
        """Convolves [B, in, H, W] into a new [B, out, H, W] without its negative numbers."""
        ...

    def add_relu(self, planes: Tensor, residual: Tensor) -> Tensor:
        """Adds `residual` before the ReLU; `residual` may be overwritten."""
        ...


class PlainConvolution:
    """A `Convolution` made of ordinary torch functions, for any device."""

    def __init__(self, weight: Tensor, bias: Tensor, *, board_shape: tuple[int, int]) -> None:
        """Keeps weight [out, in, k, k] and bias [out]; they tell device and dtype."""
        del board_shape  # only oneDNN wants to know
        self._weight = weight.contiguous(memory_format=torch.channels_last)
        self._bias = bias
        self._padding = weight.shape[-1] // 2

    def relu(self, planes: Tensor) -> Tensor:
        """See `Convolution.relu`."""
        return self._convolve(planes).relu_()

    def add_relu(self, planes: Tensor, residual: Tensor) -> Tensor:
        """See `Convolution.add_relu`."""
        return self._convolve(planes).add_(residual).relu_()

    def _convolve(self, planes: Tensor) -> Tensor:
        return functional.conv2d(planes, self._weight, self._bias, padding=self._padding)


class OneDnnConvolution:
    """A `Convolution` in one oneDNN call that applies bias, sum and ReLU to each result at once."""

    def __init__(self, weight: Tensor, bias: Tensor, *, board_shape: tuple[int, int]) -> None:
        """Lays weight [out, in, k, k] out for boards of shape [H, W]; bias [out], same dtype."""
        padding = weight.shape[-1] // 2
        input_shape = [TYPICAL_BATCH, weight.shape[1], *board_shape]
        ops = torch.ops.mkldnn
        self._relu_op = ops._convolution_pointwise.default
        self._add_relu_op = ops._convolution_pointwise_.binary
        self._weight = ops._reorder_convolution_weight(
            weight.contiguous(memory_format=torch.channels_last),
            [padding, padding],
            [1, 1],
            [1, 1],
            1,
            input_shape,
        )
        self._bias = bias
        stride, dilation, groups = [1, 1], [1, 1], 1
        self._geometry = ([padding, padding], stride, dilation, groups)

    def relu(self, planes: Tensor) -> Tensor:
        """See `Convolution.relu`."""
        result: Tensor = self._relu_op(
            planes, self._weight, self._bias, *self._geometry, "relu", [], ""
        )
        return result

    def add_relu(self, planes: Tensor, residual: Tensor) -> Tensor:
        """See `Convolution.add_relu`; writes into `residual`."""
        result: Tensor = self._add_relu_op(
            residual, planes, self._weight, self._bias, *self._geometry, "add", 1.0, "relu", [], ""
        )
        return result


def best_convolution(device: torch.device) -> type[PlainConvolution] | type[OneDnnConvolution]:
    """Returns the fastest `Convolution`: oneDNN on an x86 CPU, plain torch elsewhere."""
    is_x86 = torch.cpu._is_avx2_supported()  # false on every other processor
    has_onednn: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if device.type == "cpu" and is_x86 and has_onednn:
        return OneDnnConvolution
    return PlainConvolution
