"""Reads a weights file of Leela Zero back, as leelaz does: to check one that was written."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from alphago.network.torch_backend import as_tensor
from alphago.types import Evaluation, UInt8Array

_EPSILON = 1e-5  # of leelaz's batch norm
_BLACK_PLANE = 16  # of ours: ones if Black is to move
_LINES_OF_BLOCK = 8
_LINES_OF_HEADS = 14
_BOTTOM_ROW_FIRST = [2]  # the axis of the board's rows, which run the other way there


class LeelaZeroBackend:
    """Evaluates arrays with the numbers of a file, by the meaning that leelaz gives its lines."""

    def __init__(self, path: Path) -> None:
        """Reads a file of the text format v1."""
        version, *lines = path.read_text(encoding="ascii").splitlines()
        assert version == "1", f"version {version}"
        self._lines = [torch.from_numpy(np.array(line.split(" "), np.float32)) for line in lines]
        num_stem_lines = 4
        num_block_lines = len(lines) - num_stem_lines - _LINES_OF_HEADS
        self._num_blocks, rest = divmod(num_block_lines, _LINES_OF_BLOCK)
        assert rest == 0, f"{len(lines)} lines"

    def evaluate(self, observations: UInt8Array) -> Evaluation:
        """See `Backend.evaluate`; of the 17 planes of a game of Go on 19x19."""
        planes = as_tensor(observations).float()
        white = 1.0 - planes[:, _BLACK_PLANE:]
        with torch.inference_mode():
            logits, value = self._run(torch.cat([planes, white], 1).flip(_BOTTOM_ROW_FIRST))
        points = logits[:, :-1].reshape(-1, 1, *planes.shape[2:]).flip(_BOTTOM_ROW_FIRST)
        logits = torch.cat([points.flatten(1), logits[:, -1:]], 1)
        return Evaluation(logits.numpy(), value[:, 0].numpy())

    def _run(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Maps planes as leelaz sees them to its logits [B, 362] and values [B, 1]."""
        lines = iter(self._lines)
        trunk = functional.relu(_convolve(planes, lines))
        for _ in range(self._num_blocks):
            hidden = functional.relu(_convolve(trunk, lines))
            trunk = functional.relu(_convolve(hidden, lines) + trunk)
        policy = functional.relu(_convolve(trunk, lines))
        logits = _connect(policy.flatten(1), lines)
        value = functional.relu(_convolve(trunk, lines))
        hidden = functional.relu(_connect(value.flatten(1), lines))
        return logits, torch.tanh(_connect(hidden, lines))


def _convolve(planes: Tensor, lines: Iterator[Tensor]) -> Tensor:
    """Runs the convolution and the batch norm of the next four lines."""
    weight, bias, mean, variance = (next(lines) for _ in range(4))
    size = 3 if weight.numel() == len(bias) * planes.shape[1] * 9 else 1
    kernels = weight.reshape(len(bias), planes.shape[1], size, size)
    sums = functional.conv2d(planes, kernels, bias, padding=size // 2)
    return functional.batch_norm(sums, mean, variance, eps=_EPSILON)


def _connect(features: Tensor, lines: Iterator[Tensor]) -> Tensor:
    """Runs the linear layer of the next two lines."""
    weight, bias = next(lines), next(lines)
    return functional.linear(features, weight.reshape(len(bias), features.shape[1]), bias)
