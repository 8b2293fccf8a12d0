"""Heads beside policy and value that only training sees: they teach the trunk what decides a game.

A result is one bit for a whole game; who owns which cell in the end says where it was won. KataGo
found the two heads here worth 1.65 times the training (Wu 2019, section 4.1 and table 2). As there
they read the features of the value head, and so shape them. A frozen network has none of them:
they cost play nothing. None has a size that depends on the board. What they shall say stands in
`train.auxiliary`, by the same names.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor, nn

from alphago.games.game import GameSpec
from alphago.network.heads import ValueFeatures

if TYPE_CHECKING:
    from alphago.network.network import NetworkConfig

SCORE_UNIT = 20.0  # points; the score head speaks in these, as KataGo's


class HeadInputs(NamedTuple):
    """What the network knows of a batch, for heads to read."""

    planes: Tensor  # [B, channels, H, W], those of the trunk
    value: ValueFeatures


class AuxiliaryHead(nn.Module, ABC):
    """A head that only training sees."""

    @abstractmethod
    def forward(self, inputs: HeadInputs) -> Tensor:
        """Returns what it says of each position, [B, ...] in the layout of its target."""

    @abstractmethod
    def final_layers(self) -> Sequence[nn.Conv2d | nn.Linear]:
        """Returns the layers whose results it says."""


class OwnershipHead(AuxiliaryHead):
    """Who will own each cell when the game is over, as the logit that it is the player to move.

    Tanh of half the logit is the expected owner, from -1, the opponent, to 1.
    """

    def __init__(self, spec: GameSpec, config: "NetworkConfig") -> None:
        """Creates the layer with fresh weights."""
        super().__init__()
        del spec  # no size depends on the board
        self.final = nn.Conv2d(config.value_channels, 1, kernel_size=1)

    def forward(self, inputs: HeadInputs) -> Tensor:
        """Returns logits [B, H * W], rows first."""
        logits: Tensor = self.final(inputs.value.cells).flatten(1)
        return logits

    def final_layers(self) -> list[nn.Conv2d]:
        """Returns the layer whose results are logits."""
        return [self.final]


class ScoreHead(AuxiliaryHead):
    """By how much the player to move will lead when the game is over, in units of `SCORE_UNIT`."""

    def __init__(self, spec: GameSpec, config: "NetworkConfig") -> None:
        """Creates the layer with fresh weights."""
        super().__init__()
        del spec  # no size depends on the board
        self.final = nn.Linear(config.value_hidden, 1)

    def forward(self, inputs: HeadInputs) -> Tensor:
        """Returns leads [B]."""
        lead: Tensor = self.final(inputs.value.hidden).squeeze(1)
        return lead

    def final_layers(self) -> list[nn.Linear]:
        """Returns the layer whose results are leads."""
        return [self.final]


AUXILIARY_HEADS: dict[str, Callable[[GameSpec, "NetworkConfig"], AuxiliaryHead]] = {
    "ownership": OwnershipHead,
    "score": ScoreHead,
}
