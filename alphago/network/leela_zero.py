"""A network of Go on 19x19 as a weights file of Leela Zero, text format v1.

The file holds one line of numbers per array, and leelaz infers every size from the length of the
lines. What is different there (leela-zero 0.17, `src/Network.cpp`):

- y = 0 is the bottom row of the board (for us the top one), in planes and in the policy;
- 18 planes: as ours are in "history", then one of ones if White is to move;
- batch norm is (x + bias - mean) / sqrt(variance + 1e-5), without a scale and a shift of its own;
- the policy head has 2 channels, the value head 1 and a hidden layer of 256.

There is no plane for rules or komi: a network plays in leelaz as it learnt to, and leelaz counts
area and takes 7.5 points of komi unless it is told others (`komi 6.5`).
"""

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import torch

from alphago.errors import CheckpointError
from alphago.games.game import GameSpec
from alphago.network.blocks import ResidualBlock
from alphago.network.freezing import fold
from alphago.network.heads import FixedPolicyHead, FixedValueHead
from alphago.network.network import NetworkConfig, PolicyValueNet
from alphago.types import FloatArray

_SIZE = 19  # leelaz is compiled for one
_NUM_POINTS = _SIZE * _SIZE
_NUM_PLANES = 17  # ours; the last one is ones if Black is to move
_POLICY_CHANNELS = 2
_VALUE_CHANNELS = 1
_VALUE_HIDDEN = 256  # leelaz crashes beyond and takes the missing ones as 0 below
_EPSILON = 1e-5  # of leelaz's batch norm
_VERSION = "1"  # the value is the view of the player to move; in "2" it is Black's
# The point of ours at each of leelaz's.
_POINTS = np.arange(_NUM_POINTS).reshape(_SIZE, _SIZE)[::-1].reshape(-1)


def leela_zero_fault(spec: GameSpec, config: NetworkConfig) -> str | None:
    """Says in one line why a network has no form in Leela Zero, or returns None where it has one.

    Args:
        spec: the game that the network plays.
        config: the sizes of the network.
    """
    for key, got, allowed in (
        ("game", spec.name, f"go_{_SIZE}x{_SIZE}"),
        ("planes", spec.observation_shape[0], _NUM_PLANES),
        ("network.heads", config.heads, "fixed"),
        ("network.pooling_channels", config.pooling_channels, 0),
        ("network.policy_channels", config.policy_channels, _POLICY_CHANNELS),
        ("network.value_channels", config.value_channels, _VALUE_CHANNELS),
    ):
        if got != allowed:
            return f"{key}: got {got}, allowed in Leela Zero: {allowed}"
    if config.value_hidden > _VALUE_HIDDEN:
        got = config.value_hidden
        return f"network.value_hidden: got {got}, allowed in Leela Zero: at most {_VALUE_HIDDEN}"
    return None


def write_leela_zero(file: BinaryIO, network: PolicyValueNet) -> None:
    """Writes a network as leelaz reads it.

    Args:
        file: written to from where it stands; about 13 bytes per weight.
        network: one without a `leela_zero_fault`; left as it is, whatever its mode.

    Raises:
        CheckpointError: if a number is not finite; a part of the file is written by then.
    """
    file.write(f"{_VERSION}\n".encode())
    for array in _arrays(network):
        if not np.isfinite(array).all():
            raise CheckpointError("Leela Zero: a weight is not finite")
        # Nine digits tell every float32 from its neighbours.
        file.write((" ".join(f"{x:.9g}" for x in array.reshape(-1).tolist()) + "\n").encode())


def _arrays(network: PolicyValueNet) -> Iterator[FloatArray]:
    """Yields the lines of the file."""
    yield from _stem_arrays(network)
    for block in network.blocks:
        assert isinstance(block, ResidualBlock), f"no form of {type(block).__name__}"
        yield from _convolution_arrays(*fold(block.conv1, block.norm1))
        yield from _convolution_arrays(*fold(block.conv2, block.norm2))
    assert isinstance(network.policy_head, FixedPolicyHead), "no form of other heads"
    yield from _policy_arrays(network.policy_head)
    assert isinstance(network.value_head, FixedValueHead), "no form of other heads"
    yield from _value_arrays(network.value_head)


def _stem_arrays(network: PolicyValueNet) -> Iterator[FloatArray]:
    weight, bias = fold(network.stem, network.stem_norm)
    assert weight.shape[1] == _NUM_PLANES, f"planes: {weight.shape[1]}"
    # Ours knows White's turn by the zeros in Black's plane.
    white = np.zeros_like(weight[:, :1])
    yield from _convolution_arrays(np.concatenate([weight, white], axis=1), bias)


def _policy_arrays(head: FixedPolicyHead) -> Iterator[FloatArray]:
    yield from _convolution_arrays(*fold(head.conv, head.norm))
    actions = np.append(_POINTS, _NUM_POINTS)  # the pass is the last one in both
    weight = _of_cells(head.logits.weight, num_channels=_POLICY_CHANNELS)
    yield weight[actions]
    yield _array(head.logits.bias)[actions]


def _value_arrays(head: FixedValueHead) -> Iterator[FloatArray]:
    yield from _convolution_arrays(*fold(head.conv, head.norm))
    missing = (0, _VALUE_HIDDEN - head.hidden.out_features)
    weight = _of_cells(head.hidden.weight, num_channels=_VALUE_CHANNELS)
    yield np.pad(weight, (missing, (0, 0)))
    yield np.pad(_array(head.hidden.bias), missing)
    yield np.pad(_array(head.value.weight), ((0, 0), missing))
    yield _array(head.value.bias)


def _convolution_arrays(weight: FloatArray, bias: FloatArray) -> Iterator[FloatArray]:
    """Yields a convolution [out, in, k, k] with bias [out], and a batch norm that does nothing."""
    yield weight[:, :, ::-1]  # rows run the other way
    yield bias
    yield np.zeros_like(bias)
    yield np.full_like(bias, 1.0 - _EPSILON)


def _of_cells(weight: torch.Tensor, *, num_channels: int) -> FloatArray:
    """Reorders the inputs of a linear layer's weight [out, channels * 361]."""
    assert weight.shape[1] == num_channels * _NUM_POINTS, f"inputs: {weight.shape[1]}"
    by_channel = _array(weight).reshape(-1, num_channels, _NUM_POINTS)
    return by_channel[:, :, _POINTS].reshape(len(by_channel), -1)


def _array(tensor: torch.Tensor) -> FloatArray:
    return tensor.detach().float().cpu().numpy()
