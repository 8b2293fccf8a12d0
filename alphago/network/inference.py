"""`FoldedNetwork`: a frozen copy of a network in the form that is fastest to evaluate.

In evaluation mode batch norm is a fixed scale and shift, so it is multiplied into the convolution
before it. What remains is a chain of convolutions, each followed by a ReLU and some also by a sum.
On an x86 CPU these run as one oneDNN call each (the calls that torch's own compiler emits),
elsewhere as ordinary torch functions. README.md holds the measurements that led here.
"""

from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from alphago.network.network import PolicyValueNet, ResidualBlock

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


class FoldedNetwork:
    """A frozen copy of a `PolicyValueNet` in evaluation mode. Shares no memory with it."""

    def __init__(
        self,
        network: PolicyValueNet,
        *,
        board_shape: tuple[int, int],
        device: torch.device,
        dtype: torch.dtype,
        convolution: type[PlainConvolution] | type[OneDnnConvolution],
    ) -> None:
        """Folds the network.

        Args:
            network: left as it is, whatever its mode.
            board_shape: H, W.
            device: where to evaluate.
            dtype: float32 or bfloat16, of the convolutions. The heads' linear layers are always
                float32: they cost next to nothing, and bfloat16 has only 8 bits for a value.
            convolution: how to convolve, see `best_convolution`.
        """

        def convert(weight: Tensor, bias: Tensor) -> Convolution:
            weight, bias = weight.to(device, dtype), bias.to(device, dtype)
            return convolution(weight, bias, board_shape=board_shape)

        def copy_linear(linear: nn.Linear) -> tuple[Tensor, Tensor]:
            weight, bias = linear.weight.detach(), linear.bias.detach()
            return weight.to(device, copy=True), bias.to(device, copy=True)

        policy, value = network.policy_head, network.value_head
        self._device, self._dtype = device, dtype
        self._stem = convert(*fold(network.stem, network.stem_norm))
        self._blocks: list[tuple[Convolution, Convolution]] = []
        for block in network.blocks:
            assert isinstance(block, ResidualBlock)
            first, second = fold(block.conv1, block.norm1), fold(block.conv2, block.norm2)
            self._blocks.append((convert(*first), convert(*second)))
        # Both heads read the same planes: one convolution computes their channels together.
        heads = zip(fold(policy.conv, policy.norm), fold(value.conv, value.norm), strict=True)
        self._heads = convert(*(torch.cat(pair) for pair in heads))
        self._policy_channels = policy.conv.out_channels
        self._policy_logits = copy_linear(policy.logits)
        self._value_hidden, self._value = copy_linear(value.hidden), copy_linear(value.value)

    def __call__(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluates a batch; call it in inference mode.

        Args:
            observations: any dtype [B, C, H, W].

        Returns:
            float32 logits [B, A] and values [B] on the same device, see `PolicyValueNet`.
        """
        planes = observations.to(
            self._device, self._dtype, non_blocking=True, memory_format=torch.channels_last
        )
        planes = self._stem.relu(planes)
        for first, second in self._blocks:
            planes = second.add_relu(first.relu(planes), planes)
        features = self._heads.relu(planes).float()
        policy_features = features[:, : self._policy_channels].flatten(1)
        value_features = features[:, self._policy_channels :].flatten(1)
        hidden = functional.linear(value_features, *self._value_hidden).relu_()
        value = torch.tanh(functional.linear(hidden, *self._value)).squeeze(1)
        return functional.linear(policy_features, *self._policy_logits), value


def fold(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """Multiplies a batch norm's fixed scale and shift into the convolution before it.

    Returns:
        New float32 weight [out, in, k, k] and bias [out], without gradients.
    """
    assert norm.running_mean is not None and norm.running_var is not None, (
        "batch norm without statistics"
    )
    with torch.no_grad():
        scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
        weight = conv.weight.double() * scale[:, None, None, None]
        bias = norm.bias.double() - norm.running_mean.double() * scale
        return weight.float(), bias.float()
