"""What auxiliary heads shall say of a position, from the end of its game."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.errors import check_config
from alphago.games.game import Game, GameSpec
from alphago.games.territory import TerritoryGame
from alphago.types import EMPTY, Int8Array, States, signs_for


class AuxiliaryTarget(NamedTuple):
    """How the target of a head is kept."""

    dtype: type[np.generic]
    # [R, H * W], rows first, each -1, 0 or 1, and transformed as planes are; else [R].
    is_per_cell: bool


# All in the view of the player to move, of the final position, also where a game was truncated.
AUXILIARY_TARGETS = {
    "ownership": AuxiliaryTarget(np.int8, is_per_cell=True),  # 1 the mover's cell, -1 not, 0 nobody
    "score": AuxiliaryTarget(np.float32, is_per_cell=False),  # the mover's lead in points
}


def check_auxiliary(game: Game, heads: Sequence[str]) -> None:
    """Raises ConfigError if a network shall have heads that the game has no targets for."""
    knows = isinstance(game, TerritoryGame)
    allowed = f"[], since {game.spec.name} knows no territory"
    check_config("network.auxiliary", heads, knows or not heads, allowed)


def empty_auxiliary(
    spec: GameSpec, heads: Sequence[str], *, num_rows: int
) -> dict[str, npt.NDArray[Any]]:
    """Returns arrays of zeros for the targets of some heads of `num_rows` positions."""
    _, height, width = spec.observation_shape
    targets = {name: AUXILIARY_TARGETS[name] for name in heads}
    return {
        name: np.zeros((num_rows, height * width) if each.is_per_cell else num_rows, each.dtype)
        for name, each in targets.items()
    }


def auxiliary_targets(
    game: Game,
    ends: States,
    heads: Sequence[str],
    *,
    games: npt.NDArray[np.int64],
    to_play: Int8Array,
) -> dict[str, npt.NDArray[Any]]:
    """Computes the targets of some heads.

    Args:
        game: the rules, which know territory if there are heads.
        ends: [G] the final positions.
        heads: names of `AUXILIARY_TARGETS`.
        games: int64 [R], the game of each position.
        to_play: int8 [R], its player to move.

    Returns:
        Arrays by head.
    """
    if not heads:
        return {}
    assert isinstance(game, TerritoryGame), f"{game.spec.name} knows no territory"
    signs = signs_for(to_play)
    _, height, width = game.spec.observation_shape
    owners = game.owners(ends).reshape(len(ends), height * width)
    shares = np.where(owners == EMPTY, 0, 1 - 2 * owners).astype(np.int8)
    found = {
        "ownership": shares[games] * signs[:, None],
        "score": game.score(ends)[games] * signs,
    }
    return {name: found[name] for name in heads}
