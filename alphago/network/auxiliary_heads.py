"""Heads beside policy and value that only training sees: they teach the trunk what decides a game.

A result is one bit for a whole game; who owns which cell in the end says where it was won. KataGo
found the two heads here worth 1.65 times the training (Wu 2019, section 4.1 and table 2). As there
they read the features of the value head, and so shape them. A frozen network has none of them:
they cost play nothing. None has a size that depends on the board.
"""

from torch import Tensor, nn

from alphago.network.heads import ValueFeatures

AUXILIARY_HEADS = ("ownership", "score")
SCORE_UNIT = 20.0  # points; the score head speaks in these, as KataGo's


class OwnershipHead(nn.Module):
    """Who will own each cell when the game is over, as the logit that it is the player to move.

    Tanh of half the logit is the expected owner, from -1, the opponent, to 1.
    """

    def __init__(self, *, value_channels: int) -> None:
        """Creates the layer with fresh weights."""
        super().__init__()
        self.final = nn.Conv2d(value_channels, 1, kernel_size=1)

    def forward(self, features: ValueFeatures) -> Tensor:
        """Returns logits [B, H * W], rows first."""
        logits: Tensor = self.final(features.cells).flatten(1)
        return logits


class ScoreHead(nn.Module):
    """By how much the player to move will lead when the game is over, in units of `SCORE_UNIT`."""

    def __init__(self, *, value_hidden: int) -> None:
        """Creates the layer with fresh weights."""
        super().__init__()
        self.final = nn.Linear(value_hidden, 1)

    def forward(self, features: ValueFeatures) -> Tensor:
        """Returns leads [B]."""
        lead: Tensor = self.final(features.hidden).squeeze(1)
        return lead


def make_auxiliary_head(
    name: str, *, value_channels: int, value_hidden: int
) -> OwnershipHead | ScoreHead:
    """Creates one of `AUXILIARY_HEADS` on top of a value head of these sizes."""
    if name == "ownership":
        return OwnershipHead(value_channels=value_channels)
    assert name == "score", f"no auxiliary head {name}"
    return ScoreHead(value_hidden=value_hidden)


def final_layer(head: nn.Module) -> nn.Conv2d | nn.Linear:
    """Returns the layer whose results are those of an auxiliary head."""
    assert isinstance(head, OwnershipHead | ScoreHead), f"no auxiliary head: {type(head).__name__}"
    return head.final
