"""`freeze`: from a network in torch to the `Graph` that is fastest to evaluate.

Batch norm is folded into the convolutions. A graph has one size of the board, so numbers that only
differ by a factor of that size are merged into one. All heads read the trunk through one common 1x1
convolution; a linear layer has weights of 0 for the channels of other heads.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from alphago.games.game import GameSpec
from alphago.network.blocks import PoolingBlock, ResidualBlock, mean_factors, width_scale
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
)
from alphago.network.heads import (
    FixedPolicyHead,
    FixedValueHead,
    PooledPolicyHead,
    PooledValueHead,
)
from alphago.network.network import PolicyValueNet
from alphago.types import FloatArray

# The heads' common convolution, and its planes as features.
_COMMON = "heads/common"
_FLAT = "heads/flat"
_POOLED = "heads/pooled"


def freeze(network: PolicyValueNet, spec: GameSpec) -> Graph:
    """Returns a frozen copy of a network, whatever its mode; they share no memory.

    Args:
        network: left as it is.
        spec: the game. Networks with pooled heads fit every size of its board.
    """
    board_shape = spec.observation_shape[1:]
    stem = Convolution("stem", OBSERVATIONS, *fold(network.stem, network.stem_norm))
    operations: list[Operation] = [stem]
    for index, block in enumerate(network.blocks):
        trunk = operations[-1].output
        operations += _freeze_block(block, trunk, f"block{index}", board_shape)
    operations += _freeze_heads(network, operations[-1].output, board_shape)
    return Graph(spec.observation_shape, spec.num_actions, operations)


def fold(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> tuple[FloatArray, FloatArray]:
    """Multiplies a batch norm's fixed scale and shift into the convolution before it.

    Returns:
        New float32 weight [out, in, k, k] and bias [out].
    """
    assert norm.running_mean is not None, "batch norm without statistics"
    scale = scale_of(norm)
    weight = conv.weight.detach().double() * scale[:, None, None, None]
    bias = norm.bias.detach().double() - norm.running_mean.double() * scale
    return _array(weight), _array(bias)


def scale_of(norm: nn.BatchNorm2d) -> Tensor:
    """Returns what a batch norm multiplies its input by in evaluation mode, float64 [channels]."""
    assert norm.running_var is not None, "batch norm without statistics"
    return norm.weight.detach().double() / torch.sqrt(norm.running_var.double() + norm.eps)


def merge_pooled(weight: Tensor, board_shape: tuple[int, int]) -> Tensor:
    """Turns a weight for `pool_mean_and_max` into one for the mean and the maximum.

    On one size of the board the mean times width is the mean times a constant.

    Args:
        weight: [out, 3 * channels].
        board_shape: H, W.

    Returns:
        float64 [out, 2 * channels].
    """
    mean, scaled, maximum = weight.detach().double().chunk(3, dim=1)
    return torch.cat([mean + scaled * width_scale(*board_shape), maximum], dim=1)


def merge_means(weight: Tensor, board_shape: tuple[int, int]) -> Tensor:
    """Turns a weight [out, 3 * channels] for `pool_means` into one [out, channels] for the mean."""
    parts = weight.detach().double().chunk(3, dim=1)
    factors = mean_factors(*board_shape)
    return torch.stack([part * factor for part, factor in zip(parts, factors, strict=True)]).sum(
        dim=0
    )


def _freeze_block(
    block: nn.Module, trunk: str, name: str, board_shape: tuple[int, int]
) -> list[Operation]:
    """Returns the operations of a block that reads the planes `trunk` and makes those `name`."""
    first = f"{name}/first"
    if isinstance(block, PoolingBlock):
        before, cell_bias = _freeze_pooling(block, trunk, name, board_shape)
    else:
        assert isinstance(block, ResidualBlock), f"no frozen form of {type(block).__name__}"
        before, cell_bias = [], None
    return [
        *before,
        Convolution(first, trunk, *fold(block.conv1, block.norm1), cell_bias=cell_bias),
        Convolution(name, first, *fold(block.conv2, block.norm2), residual=trunk),
    ]


def _freeze_pooling(
    block: PoolingBlock, trunk: str, name: str, board_shape: tuple[int, int]
) -> tuple[list[Operation], str]:
    """Returns what a block does before its first convolution, and the name of the bias it makes."""
    features, pooled, bias = f"{name}/features", f"{name}/pooled", f"{name}/bias"
    # The bias is added before the batch norm, which scales it as well.
    weight = scale_of(block.norm1)[:, None] * merge_pooled(block.bias.weight, board_shape)
    return [
        Convolution(features, trunk, *fold(block.pooling.conv, block.pooling.norm)),
        Pooling(pooled, features),
        Linear(bias, pooled, _array(weight), np.zeros(len(weight), np.float32)),
    ], bias


def _freeze_heads(
    network: PolicyValueNet, trunk: str, board_shape: tuple[int, int]
) -> list[Operation]:
    policy, value = network.policy_head, network.value_head
    policy_weight, policy_bias = fold(*_feature_layers(policy))
    value_weight, value_bias = fold(*_feature_layers(value))
    total = len(policy_bias) + len(value_bias)
    policy_share = _Share(0, len(policy_bias), total)
    value_share = _Share(len(policy_bias), len(value_bias), total)
    heads = [
        *_freeze_policy(policy, trunk, policy_share, board_shape),
        *_freeze_value(value, value_share, board_shape),
    ]
    inputs = {each.input for each in heads if isinstance(each, Linear)}
    return [
        Convolution(
            _COMMON,
            trunk,
            np.concatenate([policy_weight, value_weight]),
            np.concatenate([policy_bias, value_bias]),
        ),
        *([Flatten(_FLAT, _COMMON)] if _FLAT in inputs else []),
        *([Pooling(_POOLED, _COMMON)] if _POOLED in inputs else []),
        *heads,
    ]


class _Share(NamedTuple):
    """Which channels of the common convolution belong to a head."""

    first: int
    num_own: int
    total: int  # of all heads together

    def spread(self, weight: Tensor) -> Tensor:
        """Turns a weight [out, n * num_own] of a head's features into one of all [out, n * total].

        The n numbers of a channel may lie together (`Flatten`), but not those of a statistic
        (`Pooling`), of which this takes one at a time.
        """
        num_each = weight.shape[1] // self.num_own
        spread = weight.new_zeros(len(weight), num_each * self.total)
        spread[:, num_each * self.first : num_each * (self.first + self.num_own)] = weight
        return spread

    def spread_pooled(self, weight: Tensor) -> Tensor:
        """Turns a weight [out, 2 * num_own] for `Pooling` into one of all features."""
        return torch.cat([self.spread(part) for part in weight.chunk(2, dim=1)], dim=1)


def _feature_layers(head: nn.Module) -> tuple[nn.Conv2d, nn.BatchNorm2d]:
    """Returns the layers of a head that the common convolution replaces."""
    if isinstance(head, PooledPolicyHead):
        return head.pooling.conv, head.pooling.norm
    assert isinstance(head, FixedPolicyHead | FixedValueHead | PooledValueHead), (
        f"no frozen form of {type(head).__name__}"
    )
    return head.conv, head.norm


def _freeze_policy(
    head: FixedPolicyHead | PooledPolicyHead,
    trunk: str,
    share: _Share,
    board_shape: tuple[int, int],
) -> list[Operation]:
    if isinstance(head, FixedPolicyHead):
        weight = share.spread(head.logits.weight.detach())
        return [Linear(LOGITS, _FLAT, _array(weight), _array(head.logits.bias))]
    bias, cells = "policy/bias", "policy/cells"
    bias_weight = scale_of(head.norm)[:, None] * merge_pooled(head.bias.weight, board_shape)
    no_bias = np.zeros(len(bias_weight), np.float32)
    cell_logits = LOGITS if head.pass_logit is None else "policy/cell_logits"
    operations: list[Operation] = [
        Linear(bias, _POOLED, _array(share.spread_pooled(bias_weight)), no_bias),
        Convolution(cells, trunk, *fold(head.conv, head.norm), cell_bias=bias),
        CellLinear(cell_logits, cells, _array(head.logits.weight), _array(head.logits.bias)),
    ]
    if head.pass_logit is not None:
        pass_weight = share.spread_pooled(merge_pooled(head.pass_logit.weight, board_shape))
        pass_logit = "policy/pass_logit"
        operations += [
            Linear(pass_logit, _POOLED, _array(pass_weight), _array(head.pass_logit.bias)),
            Concatenation(LOGITS, (cell_logits, pass_logit)),
        ]
    return operations


def _freeze_value(
    head: FixedValueHead | PooledValueHead, share: _Share, board_shape: tuple[int, int]
) -> list[Operation]:
    if isinstance(head, FixedValueHead):
        source, weight = _FLAT, share.spread(head.hidden.weight.detach())
    else:
        means = share.spread(merge_means(head.hidden.weight, board_shape))
        source, weight = _POOLED, torch.cat([means, torch.zeros_like(means)], dim=1)
    hidden = "value/hidden"
    return [
        Linear(hidden, source, _array(weight), _array(head.hidden.bias), "relu"),
        Linear(VALUE, hidden, _array(head.value.weight), _array(head.value.bias), "tanh"),
    ]


def _array(tensor: Tensor) -> FloatArray:
    """Returns a float32 copy."""
    array: FloatArray = tensor.detach().cpu().numpy().astype(np.float32)  # astype copies
    return array
