"""`FoldedNetwork`: a frozen copy of a network in the form that is fastest to evaluate.

In evaluation mode batch norm is a fixed scale and shift, so it is multiplied into the convolution
before it. What remains is a chain of convolutions, each followed by a ReLU and some also by a sum;
the bias that global pooling gives every cell is such a sum as well. README.md holds the
measurements that led here.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from alphago.network.blocks import (
    PoolingBlock,
    ResidualBlock,
    mean_factors,
    width_scale,
)
from alphago.network.convolution import Convolution, OneDnnConvolution, PlainConvolution
from alphago.network.heads import (
    FixedPolicyHead,
    FixedValueHead,
    PooledPolicyHead,
    PooledValueHead,
)
from alphago.network.network import PolicyValueNet


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a network is folded for.

    Attributes:
        board_shape: H, W.
        device: where to evaluate.
        dtype: float32 or bfloat16, of the convolutions. The linear layers are always float32: they
            cost next to nothing, and bfloat16 has only 8 bits for a value.
        convolution: how to convolve, see `best_convolution`.
    """

    board_shape: tuple[int, int]
    device: torch.device
    dtype: torch.dtype
    convolution: type[PlainConvolution] | type[OneDnnConvolution]

    def make_convolution(self, weight: Tensor, bias: Tensor) -> Convolution:
        """Brings weight [out, in, k, k] and bias [out] here."""
        weight, bias = weight.to(self.device, self.dtype), bias.to(self.device, self.dtype)
        return self.convolution(weight, bias, board_shape=self.board_shape)

    def copy(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Copies a linear layer here, without gradients."""
        return weight.detach().to(self.device, copy=True), bias.detach().to(self.device, copy=True)


class FoldedBlock(Protocol):
    """A block of the trunk."""

    def __call__(self, planes: Tensor) -> Tensor:
        """Maps [B, channels, H, W] to the same shape; `planes` may be overwritten."""
        ...


class FoldedHead(Protocol):
    """A head. The features of all heads come from one convolution, since all read the same planes.

    Attributes:
        features: float32 weight [out, in, 1, 1] and bias [out] of this head's part of it.
    """

    features: tuple[Tensor, Tensor]

    def __call__(self, planes: Tensor, features: Tensor) -> Tensor:
        """Evaluates a batch.

        Args:
            planes: [B, channels, H, W], the trunk's; left as they are.
            features: float32 [B, out, H, W], without negative numbers.

        Returns:
            float32 [B, outputs].
        """
        ...


class FoldedNetwork:
    """A frozen copy of a `PolicyValueNet` in evaluation mode. Shares no memory with it."""

    def __init__(self, network: PolicyValueNet, target: Target) -> None:
        """Folds the network, which is left as it is, whatever its mode."""
        self._target = target
        self._stem = target.make_convolution(*fold(network.stem, network.stem_norm))
        self._blocks = [fold_block(block, target) for block in network.blocks]
        self._heads = [
            fold_head(network.policy_head, target),
            fold_head(network.value_head, target),
        ]
        parts = zip(*(head.features for head in self._heads), strict=True)
        self._features = target.make_convolution(*(torch.cat(part) for part in parts))
        self._num_features = [len(head.features[1]) for head in self._heads]

    def __call__(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluates a batch; call it in inference mode.

        Args:
            observations: any dtype [B, C, H, W].

        Returns:
            float32 logits [B, A] and values [B] on the same device, see `PolicyValueNet`.
        """
        planes = observations.to(
            self._target.device,
            self._target.dtype,
            non_blocking=True,
            memory_format=torch.channels_last,
        )
        planes = self._stem.relu(planes)
        for block in self._blocks:
            planes = block(planes)
        features = torch.split(self._features.relu(planes).float(), self._num_features, dim=1)
        logits, value = (
            head(planes, part) for head, part in zip(self._heads, features, strict=True)
        )
        return logits, value.squeeze(1)


class _FoldedResidualBlock:
    """A `FoldedBlock`."""

    def __init__(self, block: ResidualBlock, target: Target) -> None:
        self._first = target.make_convolution(*fold(block.conv1, block.norm1))
        self._second = target.make_convolution(*fold(block.conv2, block.norm2))

    def __call__(self, planes: Tensor) -> Tensor:
        return self._second.add_relu(self._first.relu(planes), planes)


class _FoldedPoolingBlock:
    """A `FoldedBlock`."""

    def __init__(self, block: PoolingBlock, target: Target) -> None:
        self._pooled = target.make_convolution(*fold(block.pooling.conv, block.pooling.norm))
        self._first = _BiasedConvolution(block.conv1, block.norm1, bias=block.bias, target=target)
        self._second = target.make_convolution(*fold(block.conv2, block.norm2))

    def __call__(self, planes: Tensor) -> Tensor:
        pooled = mean_and_max(self._pooled.relu(planes).float())
        return self._second.add_relu(self._first.relu(planes, pooled), planes)


class _BiasedConvolution:
    """A convolution with batch norm whose result gets a bias from pooled features before that."""

    def __init__(
        self, conv: nn.Conv2d, norm: nn.BatchNorm2d, *, bias: nn.Linear, target: Target
    ) -> None:
        self._convolution = target.make_convolution(*fold(conv, norm))
        weight = merge_pooled(bias.weight, target.board_shape) * scale_of(norm)[:, None]
        self._bias_weight = weight.to(target.device, torch.float32)
        self._target = target

    def relu(self, planes: Tensor, pooled: Tensor) -> Tensor:
        """Maps [B, in, H, W] and features of `mean_and_max` to a new [B, out, H, W]."""
        bias = functional.linear(pooled, self._bias_weight).to(self._target.dtype)
        # Spread over the board and summed within the convolution's own call: adding it to the
        # result would be two more passes, the first of which is slow as torch broadcasts.
        height, width = self._target.board_shape
        spread = bias[:, :, None, None].expand(-1, -1, height, width)
        spread = spread.contiguous(memory_format=torch.channels_last)
        return self._convolution.add_relu(planes, spread)


class _FoldedFixedPolicy:
    """A `FoldedHead`."""

    def __init__(self, head: FixedPolicyHead, target: Target) -> None:
        self.features = fold(head.conv, head.norm)
        self._logits = target.copy(head.logits.weight, head.logits.bias)

    def __call__(self, planes: Tensor, features: Tensor) -> Tensor:
        return functional.linear(features.flatten(1), *self._logits)


class _FoldedPooledPolicy:
    """A `FoldedHead`."""

    def __init__(self, head: PooledPolicyHead, target: Target) -> None:
        self.features = fold(head.pooling.conv, head.pooling.norm)
        self._cells = _BiasedConvolution(head.conv, head.norm, bias=head.bias, target=target)
        self._logit = target.copy(head.logits.weight, head.logits.bias)
        self._pass_logit: tuple[Tensor, Tensor] | None = None
        if head.pass_logit is not None:
            weight = merge_pooled(head.pass_logit.weight, target.board_shape)
            self._pass_logit = target.copy(weight, head.pass_logit.bias)

    def __call__(self, planes: Tensor, features: Tensor) -> Tensor:
        pooled = mean_and_max(features)
        cells = self._cells.relu(planes, pooled).float().permute(0, 2, 3, 1)
        logits = functional.linear(cells, *self._logit).flatten(1)
        if self._pass_logit is None:
            return logits
        return torch.cat([logits, functional.linear(pooled, *self._pass_logit)], dim=1)


class _FoldedFixedValue:
    """A `FoldedHead`."""

    def __init__(self, head: FixedValueHead, target: Target) -> None:
        self.features = fold(head.conv, head.norm)
        self._hidden = target.copy(head.hidden.weight, head.hidden.bias)
        self._value = target.copy(head.value.weight, head.value.bias)

    def __call__(self, planes: Tensor, features: Tensor) -> Tensor:
        hidden = functional.linear(features.flatten(1), *self._hidden).relu_()
        return functional.linear(hidden, *self._value).tanh_()


class _FoldedPooledValue:
    """A `FoldedHead`."""

    def __init__(self, head: PooledValueHead, target: Target) -> None:
        self.features = fold(head.conv, head.norm)
        weight = merge_means(head.hidden.weight, target.board_shape)
        self._hidden = target.copy(weight, head.hidden.bias)
        self._value = target.copy(head.value.weight, head.value.bias)

    def __call__(self, planes: Tensor, features: Tensor) -> Tensor:
        hidden = functional.linear(features.mean(dim=(2, 3)), *self._hidden).relu_()
        return functional.linear(hidden, *self._value).tanh_()


def fold_block(block: nn.Module, target: Target) -> FoldedBlock:
    """Folds one block of the trunk."""
    if isinstance(block, PoolingBlock):
        return _FoldedPoolingBlock(block, target)
    assert isinstance(block, ResidualBlock), f"no folded form of {type(block).__name__}"
    return _FoldedResidualBlock(block, target)


def fold_head(head: nn.Module, target: Target) -> FoldedHead:
    """Folds one head."""
    if isinstance(head, FixedPolicyHead):
        return _FoldedFixedPolicy(head, target)
    if isinstance(head, PooledPolicyHead):
        return _FoldedPooledPolicy(head, target)
    if isinstance(head, FixedValueHead):
        return _FoldedFixedValue(head, target)
    assert isinstance(head, PooledValueHead), f"no folded form of {type(head).__name__}"
    return _FoldedPooledValue(head, target)


def mean_and_max(features: Tensor) -> Tensor:
    """Maps float32 [B, channels, H, W] to [B, 2 * channels].

    Those are `pool_mean_and_max` without the mean times width: on one size of the board that is the
    mean times a constant, which `merge_pooled` brings into the weights.
    """
    # On a CPU pooling over the whole board is seven times faster than `amax`.
    maximum = functional.max_pool2d(features, features.shape[2:]).flatten(1)
    return torch.cat([features.mean(dim=(2, 3)), maximum], dim=1)


def merge_pooled(weight: Tensor, board_shape: tuple[int, int]) -> Tensor:
    """Turns a weight [out, 3 * channels] for `pool_mean_and_max` into one for `mean_and_max`."""
    mean, scaled, maximum = weight.detach().chunk(3, dim=1)
    return torch.cat([mean + scaled * width_scale(*board_shape), maximum], dim=1)


def merge_means(weight: Tensor, board_shape: tuple[int, int]) -> Tensor:
    """Turns a weight [out, 3 * channels] for `pool_means` into one [out, channels] for the mean."""
    parts = zip(weight.detach().chunk(3, dim=1), mean_factors(*board_shape), strict=True)
    return torch.stack([part * factor for part, factor in parts]).sum(dim=0)


def scale_of(norm: nn.BatchNorm2d) -> Tensor:
    """Returns what a batch norm multiplies its input by in evaluation mode, float64 [channels]."""
    assert norm.running_var is not None, "batch norm without statistics"
    return norm.weight.detach().double() / torch.sqrt(norm.running_var.double() + norm.eps)


def fold(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """Multiplies a batch norm's fixed scale and shift into the convolution before it.

    Returns:
        New float32 weight [out, in, k, k] and bias [out], without gradients.
    """
    assert norm.running_mean is not None, "batch norm without statistics"
    with torch.no_grad():
        scale = scale_of(norm)
        weight = conv.weight.double() * scale[:, None, None, None]
        bias = norm.bias.double() - norm.running_mean.double() * scale
        return weight.float(), bias.float()
