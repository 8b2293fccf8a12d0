"""The player that knows only the rules."""

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.players.player import (
    MoveAdvice,
    SeededPlayer,
    choose_uniformly,
    legal_actions_to_choose,
)
from alphago.types import States


class RandomPlayer(SeededPlayer):
    """Plays every legal move with the same probability."""

    name = "random"

    def __init__(self, game: Game, *, seed: int) -> None:
        """Starts the player's random stream."""
        self.game = game
        self.reseed(seed)

    def choose_actions(self, states: States) -> npt.NDArray[np.int64]:
        """Chooses an action [B] for each position, see `Player`."""
        return choose_uniformly(legal_actions_to_choose(self.game, states), self._rng)

    def analyse(self, states: States) -> list[list[MoveAdvice]]:
        """Returns the legal moves of each position [B], with the probability of each.

        Raises:
            FinishedGameError: if a position is over.
        """
        return [
            [
                MoveAdvice(
                    action=action,
                    move=self.game.action_to_text(action),
                    visit_share=0.0,
                    value=None,
                    prior=1 / len(actions),
                )
                for action in actions
            ]
            for actions in (
                np.flatnonzero(row).tolist() for row in legal_actions_to_choose(self.game, states)
            )
        ]
