"""The auxiliary heads in training: what each shall say of a position, its loss, and its weight.

The heads themselves are modules of `alphago.network.auxiliary_heads`, by the same names.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from alphago.errors import check_config, check_number
from alphago.games.game import Game, GameSpec
from alphago.games.territory import TerritoryGame
from alphago.network.auxiliary_heads import SCORE_UNIT
from alphago.types import EMPTY, FloatArray, Int8Array, signs_for
from train.replayed_games import ReplayedGames

SCORE_ERROR_LIMIT = 12.0  # points; beyond it the score's loss grows linearly (KataGo: 12)


class Layout(Enum):
    """What the numbers of a target belong to: how they are kept, and move with a symmetry."""

    CELLS = auto()  # [R, H * W], rows first, each -1, 0 or 1
    ACTIONS = auto()  # [R, A]
    POSITION = auto()  # [R]


class AuxiliaryTarget(NamedTuple):
    """What a head shall say, in the view of the player to move."""

    layout: Layout
    dtype: type[np.generic]
    of_rows: Callable[[ReplayedGames], npt.NDArray[Any]]  # [R, ...]
    # Of what the head says, float32 [M, ...], and the targets; float32 [M].
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    suits: Callable[[Game], bool]  # whether a game has such a target


@dataclass(kw_only=True)
class AuxiliaryWeights:
    """How much the loss of each head counts.

    Attributes:
        ownership_weight: weight of the ownership head's loss, a mean over cells (KataGo: 1.5).
        score_weight: weight of the score head's loss (KataGo: 0.6 in the same unit).
    """

    ownership_weight: float
    score_weight: float

    def __post_init__(self) -> None:
        """Checks the weights."""
        for field in fields(AuxiliaryWeights):
            check_number(f"train.{field.name}", getattr(self, field.name))

    def weight_of(self, head: str) -> float:
        """Returns the weight of an auxiliary head's loss."""
        weight: float = getattr(self, f"{head}_weight")
        return weight


def check_auxiliary(game: Game, heads: Sequence[str]) -> None:
    """Raises ConfigError if a network shall have heads that the game has no targets for."""
    suitable = [name for name, target in AUXILIARY_TARGETS.items() if target.suits(game)]
    allowed = f"{suitable}, what {game.spec.name} has targets for"
    check_config("network.auxiliary", heads, set(heads) <= set(suitable), allowed)


def empty_auxiliary(
    spec: GameSpec, heads: Sequence[str], *, num_rows: int
) -> dict[str, npt.NDArray[Any]]:
    """Returns arrays of zeros for the targets of some heads of `num_rows` positions."""
    shapes: dict[Layout, tuple[int, ...]] = {
        Layout.CELLS: (math.prod(spec.observation_shape[1:]),),
        Layout.ACTIONS: (spec.num_actions,),
        Layout.POSITION: (),
    }
    targets = {name: AUXILIARY_TARGETS[name] for name in heads}
    return {
        name: np.zeros((num_rows, *shapes[target.layout]), target.dtype)
        for name, target in targets.items()
    }


# ----- ownership and score, of the final position, also where a game was truncated


def find_owners(replayed: ReplayedGames) -> Int8Array:
    """Returns int8 [R, H * W]: 1 for the mover's cells, -1 for the opponent's, 0 for nobody's."""
    game, ends = replayed.game, replayed.ends
    assert isinstance(game, TerritoryGame), f"{game.spec.name} knows no territory"
    owners = game.owners(ends).reshape(len(ends), math.prod(game.spec.observation_shape[1:]))
    shares = np.where(owners == EMPTY, 0, signs_for(owners)).astype(np.int8)
    signs: Int8Array = signs_for(replayed.at_rows(replayed.to_play))
    return shares[replayed.game_of_row] * signs[:, None]


def find_scores(replayed: ReplayedGames) -> FloatArray:
    """Returns the mover's leads in points, float32 [R]."""
    game = replayed.game
    assert isinstance(game, TerritoryGame), f"{game.spec.name} knows no territory"
    signs = signs_for(replayed.at_rows(replayed.to_play))
    return game.score(replayed.ends)[replayed.game_of_row] * signs


def ownership_loss(logits: torch.Tensor, owners: torch.Tensor) -> torch.Tensor:
    """Returns the cross-entropy of who owns a cell, in nats, mean over the cells of each row.

    Args:
        logits: float32 [M, H * W], that the player to move owns the cell.
        owners: int8 [M, H * W], 1 for that player, -1 for the other; 0 for nobody, a half of each.

    Returns:
        float32 [M].
    """
    shares = (1 + owners.float()) / 2
    losses: torch.Tensor = functional.binary_cross_entropy_with_logits(
        logits, shares, reduction="none"
    )
    return losses.mean(dim=1)


def score_loss(leads: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Returns Huber's loss of the lead, in squared `SCORE_UNIT`.

    Args:
        leads: float32 [M], in units of `SCORE_UNIT`.
        scores: float32 [M], points.

    Returns:
        float32 [M], half the square of small errors; of large ones it grows linearly.
    """
    delta = SCORE_ERROR_LIMIT / SCORE_UNIT
    losses: torch.Tensor = functional.huber_loss(
        leads, scores / SCORE_UNIT, reduction="none", delta=delta
    )
    return losses


def knows_territory(game: Game) -> bool:
    """Tells whether the points of a game are cells of its board."""
    return isinstance(game, TerritoryGame)


AUXILIARY_TARGETS = {
    "ownership": AuxiliaryTarget(
        layout=Layout.CELLS,
        dtype=np.int8,
        of_rows=find_owners,
        loss=ownership_loss,
        suits=knows_territory,
    ),
    "score": AuxiliaryTarget(
        layout=Layout.POSITION,
        dtype=np.float32,
        of_rows=find_scores,
        loss=score_loss,
        suits=knows_territory,
    ),
}
