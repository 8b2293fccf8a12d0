"""The heads of the network: what turns the trunk's planes into logits and a value.

The fixed ones are AlphaGo Zero's, fully connected and therefore of one board size. The pooled ones
are KataGo's (Wu 2019, section 3.3): convolutions and global pooling, so that the same weights serve
every size of the board.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from alphago.errors import ConfigError
from alphago.games.game import GameSpec
from alphago.network.blocks import NUM_POOLED, GlobalPooling, pool_means, relu_


class ValueFeatures(NamedTuple):
    """What a value head knows before it says one number."""

    cells: Tensor  # [B, channels, H, W]
    hidden: Tensor  # [B, units] of the hidden layer


class FixedPolicyHead(nn.Module):
    """A 1x1 convolution with batch norm, then one logit per action."""

    def __init__(self, spec: GameSpec, *, num_inputs: int, num_channels: int) -> None:
        """Creates the layers with fresh weights."""
        super().__init__()
        _, height, width = spec.observation_shape
        self.conv = nn.Conv2d(num_inputs, num_channels, kernel_size=1, bias=False)
        self.norm = nn.BatchNorm2d(num_channels)
        self.logits = nn.Linear(num_channels * height * width, spec.num_actions)

    def forward(self, planes: Tensor) -> Tensor:
        """Maps [B, inputs, H, W] to logits [B, A]."""
        logits: Tensor = self.logits(relu_(self.norm(self.conv(planes))).flatten(1))
        return logits

    def final_layers(self) -> list[nn.Linear]:
        """Returns the layers whose results are logits."""
        return [self.logits]


class FixedValueHead(nn.Module):
    """A 1x1 convolution with batch norm, a hidden layer, then one number in [-1, 1]."""

    def __init__(
        self, spec: GameSpec, *, num_inputs: int, num_channels: int, num_hidden: int
    ) -> None:
        """Creates the layers with fresh weights."""
        super().__init__()
        _, height, width = spec.observation_shape
        self.conv = nn.Conv2d(num_inputs, num_channels, kernel_size=1, bias=False)
        self.norm = nn.BatchNorm2d(num_channels)
        self.hidden = nn.Linear(num_channels * height * width, num_hidden)
        self.value = nn.Linear(num_hidden, 1)

    def forward(self, planes: Tensor) -> Tensor:
        """Maps [B, inputs, H, W] to values [B], the view of the player to move."""
        return self.read(self.features(planes))

    def features(self, planes: Tensor) -> ValueFeatures:
        """Maps [B, inputs, H, W] to what value and auxiliary heads read."""
        cells = relu_(self.norm(self.conv(planes)))
        return ValueFeatures(cells, functional.relu(self.hidden(cells.flatten(1))))

    def read(self, features: ValueFeatures) -> Tensor:
        """Returns the values [B] of features."""
        return torch.tanh(self.value(features.hidden)).squeeze(1)


class PooledPolicyHead(nn.Module):
    """One logit per cell from the cell itself and pooled features, the pass from the latter alone.

    For games whose actions are the cells, rows first, and at most a pass behind them.
    """

    def __init__(self, spec: GameSpec, *, num_inputs: int, num_channels: int) -> None:
        """Creates the layers with fresh weights.

        Raises:
            ConfigError: if the game's actions are anything else.
        """
        super().__init__()
        check_actions_are_cells(spec)
        self.pooling = GlobalPooling(num_inputs, num_channels, kernel_size=1)
        self.bias = nn.Linear(NUM_POOLED * num_channels, num_channels, bias=False)
        self.conv = nn.Conv2d(num_inputs, num_channels, kernel_size=1, bias=False)
        self.norm = nn.BatchNorm2d(num_channels)
        self.logits = nn.Linear(num_channels, 1)  # of one cell
        self.pass_logit = (
            None if spec.pass_action is None else nn.Linear(NUM_POOLED * num_channels, 1)
        )

    def forward(self, planes: Tensor) -> Tensor:
        """Maps [B, inputs, H, W] to logits [B, A]."""
        pooled = self.pooling(planes)
        bias = self.bias(pooled)[:, :, None, None]
        cells = relu_(self.norm(self.conv(planes).add_(bias)))
        logits: Tensor = self.logits(cells.permute(0, 2, 3, 1)).flatten(1)
        if self.pass_logit is None:
            return logits
        return torch.cat([logits, self.pass_logit(pooled)], dim=1)

    def final_layers(self) -> list[nn.Linear]:
        """Returns the layers whose results are logits."""
        return [self.logits] if self.pass_logit is None else [self.logits, self.pass_logit]


class PooledValueHead(nn.Module):
    """A 1x1 convolution with batch norm, means over the board, a hidden layer, then one number."""

    def __init__(
        self, spec: GameSpec, *, num_inputs: int, num_channels: int, num_hidden: int
    ) -> None:
        """Creates the layers with fresh weights; they are the same for every game."""
        super().__init__()
        del spec  # only fixed heads want to know
        self.conv = nn.Conv2d(num_inputs, num_channels, kernel_size=1, bias=False)
        self.norm = nn.BatchNorm2d(num_channels)
        self.hidden = nn.Linear(NUM_POOLED * num_channels, num_hidden)
        self.value = nn.Linear(num_hidden, 1)

    def forward(self, planes: Tensor) -> Tensor:
        """Maps [B, inputs, H, W] to values [B] in [-1, 1], the view of the player to move."""
        return self.read(self.features(planes))

    def features(self, planes: Tensor) -> ValueFeatures:
        """Maps [B, inputs, H, W] to what value and auxiliary heads read."""
        cells = relu_(self.norm(self.conv(planes)))
        return ValueFeatures(cells, functional.relu(self.hidden(pool_means(cells))))

    def read(self, features: ValueFeatures) -> Tensor:
        """Returns the values [B] of features."""
        return torch.tanh(self.value(features.hidden)).squeeze(1)


def check_actions_are_cells(spec: GameSpec) -> None:
    """Raises unless the actions are the cells, rows first, and at most a pass behind them.

    Raises:
        ConfigError: if they are not.
    """
    _, height, width = spec.observation_shape
    num_cells = height * width
    without_pass = spec.pass_action is None and spec.num_actions == num_cells
    with_pass = spec.pass_action == num_cells and spec.num_actions == num_cells + 1
    if not (without_pass or with_pass):
        raise ConfigError(
            "network.heads",
            "pooled",
            f"fixed, since the actions of {spec.name} are not one per cell and at most a pass",
        )
