"""The player that knows only the rules."""

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.players.player import SeededPlayer, choose_uniformly, legal_actions_to_choose
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
