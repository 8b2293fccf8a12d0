"""A second reading of Leela Zero's weights files (text format v1), and what leelaz sees of a game.

Written after leela-zero 0.17, `src/Network.cpp` (load_v1_network, gather_features), and not after
our writer: points are counted from A1 in the lower left corner, and found by their names.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from alphago.games.game import Game
from alphago.types import States

SIZE = 19
NUM_POINTS = SIZE * SIZE
NUM_RECENT = 8
VALUE_HIDDEN = 256


class LeelaZeroNetwork:
    """A weights file, evaluated in float64 by the meaning that leelaz gives its lines."""

    def __init__(self, text: str) -> None:
        """Reads a file; every line has to be of the right length."""
        version, *lines = text.removesuffix("\n").split("\n")
        assert version == "1", "the value has to be the view of the player to move"
        self.lines = [
            torch.tensor([float(word) for word in line.split(" ")], dtype=torch.float64)
            for line in lines
        ]
        self.num_channels = len(self.lines[1])
        self.num_blocks, rest = divmod(len(self.lines) - 4 - 14, 8)
        assert rest == 0, f"{len(lines)} lines"

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Maps planes [B, 18, 19, 19], row 1 first, to logits [B, 362] and values [B]."""
        lines = iter(self.lines)
        trunk = functional.relu(convolve(torch.tensor(planes, dtype=torch.float64), lines, 3))
        for _ in range(self.num_blocks):
            hidden = functional.relu(convolve(trunk, lines, 3))
            trunk = functional.relu(convolve(hidden, lines, 3) + trunk)
        policy = functional.relu(convolve(trunk, lines, 1))
        assert policy.shape[1] == 2
        logits = connect(policy.flatten(1), lines, NUM_POINTS + 1)
        value = functional.relu(convolve(trunk, lines, 1))
        assert value.shape[1] == 1
        hidden = functional.relu(connect(value.flatten(1), lines, VALUE_HIDDEN))
        values = torch.tanh(connect(hidden, lines, 1))[:, 0]
        assert next(lines, None) is None, "lines are left"
        return logits.numpy(), values.numpy()


def convolve(planes: Tensor, lines, size: int) -> Tensor:
    """A convolution and its batch norm, of the next four lines."""
    weight, bias, mean, variance = (next(lines) for _ in range(4))
    assert len(bias) == len(mean) == len(variance)
    kernels = weight.reshape(len(bias), planes.shape[1], size, size)
    sums = functional.conv2d(planes, kernels, bias, padding=size // 2)
    channels = (1, -1, 1, 1)
    return (sums - mean.reshape(channels)) / torch.sqrt(variance.reshape(channels) + 1e-5)


def connect(inputs: Tensor, lines, num_outputs: int) -> Tensor:
    """A linear layer, of the next two lines."""
    weight, bias = next(lines), next(lines)
    assert len(bias) == num_outputs
    return functional.linear(inputs, weight.reshape(num_outputs, inputs.shape[1]), bias)


def point_names() -> list[str]:
    """Returns what people call the points, in leelaz's order, and the pass after them."""
    columns = "ABCDEFGHJKLMNOPQRST"
    return [f"{letter}{row}" for row in range(1, SIZE + 1) for letter in columns] + ["pass"]


def our_actions(game: Game) -> list[int]:
    """Returns our action for each of leelaz's points, and the pass."""
    return [game.text_to_action(name) for name in point_names()]


def leela_zero_planes(game: Game, positions: Sequence[States]) -> np.ndarray:
    """Returns what leelaz sees of the last of all positions of one game, [18, 19, 19]."""
    to_play = int(game.to_play(positions[-1])[0])
    order = our_actions(game)[:-1]
    planes = np.zeros((18, SIZE, SIZE))
    for ago, states in enumerate(positions[: -NUM_RECENT - 1 : -1]):
        board = game.board(states)[0].reshape(-1)[order].reshape(SIZE, SIZE)
        planes[ago] = board == to_play
        planes[NUM_RECENT + ago] = board == 1 - to_play
    planes[16 + to_play] = 1
    return planes
