"""alpha-zero-general: Connect Four by its `Coach`, one episode after the other.

Runs in an environment of its own, see `serve.py`.
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

HEIGHT, WIDTH = 6, 7
HEAD_CHANNELS, HIDDEN = 4, 64  # of both heads, and of the hidden layer: those of our network
FEATURES = HEAD_CHANNELS * HEIGHT * WIDTH  # that the linear layers see
# Those of its main program.
EXPLORATION = 1
TEMPERATURE_MOVES = 15
NUM_SYMMETRIES = 2  # each position becomes two examples, itself and its mirror image


def prepare(settings: dict[str, Any]) -> tuple[str, Callable[[], float]]:
    """Returns how it computes, and what plays one game and returns the number of its moves.

    Args:
        settings: `num_blocks`, `num_channels`, `num_simulations`, and `clone`, the folder of its
            sources.
    """
    torch.set_num_threads(1)
    vars(np)["int"] = int  # numpy dropped the name, which its board still uses
    sys.path.insert(0, settings["clone"])
    coach_module, mcts_module, utils = map(importlib.import_module, ("Coach", "MCTS", "utils"))
    game = importlib.import_module("connect4.Connect4Game").Connect4Game()
    network = TorchNetwork(game, settings["num_blocks"], settings["num_channels"])
    arguments = utils.dotdict(
        numMCTSSims=settings["num_simulations"], cpuct=EXPLORATION, tempThreshold=TEMPERATURE_MOVES
    )
    coach = coach_module.Coach(game, network, arguments)

    def play_game() -> float:
        # A new tree for each episode, as in `Coach.learn`.
        coach.mcts = mcts_module.MCTS(game, network, arguments)
        return len(coach.executeEpisode()) / NUM_SYMMETRIES

    return f"torch {torch.__version__}, fp32", play_game


class TorchNetwork:
    """A residual network behind `predict`, which is all that its self-play asks of a network.

    Its own network for this game is of another shape, and by Keras, whose `predict` takes tens of
    milliseconds for a single position. This one is the fastest form that torch has on a CPU at a
    batch of one: scripted with its weights frozen, batch norm folded, channels last, without
    gradients.
    """

    def __init__(self, game: Any, num_blocks: int = 1, num_channels: int = 1) -> None:
        """Makes a network with fresh weights; `Coach` makes a second one, and leaves it alone."""
        del game
        network: Any = Network(num_blocks, num_channels).eval()  # Any: torch's stubs lack two calls
        network = network.to(memory_format=torch.channels_last)
        example = torch.zeros(1, 1, HEIGHT, WIDTH).to(memory_format=torch.channels_last)
        jit: Any = torch.jit
        with torch.inference_mode():
            self._network = jit.freeze(jit.trace(network, example))

    def predict(self, board: Any) -> tuple[Any, float]:
        """Returns probabilities [7] and the value of one board [6, 7]."""
        with torch.inference_mode():
            policy, value = self._network(torch.from_numpy(board.astype(np.float32))[None, None])
        return policy[0].numpy(), float(value)


class Network(nn.Module):
    """A stem, residual blocks and two heads of AlphaGo Zero's kind."""

    def __init__(self, num_blocks: int, num_channels: int) -> None:
        """Creates the layers."""
        super().__init__()
        blocks = [Block(num_channels) for _ in range(num_blocks)]
        self.trunk = nn.Sequential(*_convolution(1, num_channels, size=3), nn.ReLU(), *blocks)
        self.policy = nn.Sequential(*_head(num_channels), nn.Linear(FEATURES, WIDTH), nn.Softmax(1))
        self.value = nn.Sequential(
            *_head(num_channels), nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1)
        )

    def forward(self, boards: Tensor) -> tuple[Tensor, Tensor]:
        """Maps [B, 1, 6, 7] to probabilities [B, 7] and values [B, 1]."""
        planes = self.trunk(boards)
        return self.policy(planes), torch.tanh(self.value(planes))


class Block(nn.Module):
    """Two convolutions and what they are added to."""

    def __init__(self, num_channels: int) -> None:
        """Creates the layers."""
        super().__init__()
        first, second = (_convolution(num_channels, num_channels, size=3) for _ in range(2))
        self.layers = nn.Sequential(*first, nn.ReLU(), *second)

    def forward(self, planes: Tensor) -> Tensor:
        """Maps [B, C, 6, 7] to the same shape."""
        return torch.relu(planes + self.layers(planes))


def _convolution(num_inputs: int, num_outputs: int, *, size: int) -> list[nn.Module]:
    convolution = nn.Conv2d(num_inputs, num_outputs, size, padding=size // 2, bias=False)
    return [convolution, nn.BatchNorm2d(num_outputs)]


def _head(num_inputs: int) -> list[nn.Module]:
    return [*_convolution(num_inputs, HEAD_CHANNELS, size=1), nn.ReLU(), nn.Flatten()]
