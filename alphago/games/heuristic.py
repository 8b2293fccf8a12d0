"""Hand-written guesses at the value of a position, an optional part of what a game can tell."""

from typing import Protocol, runtime_checkable

import numpy as np

from alphago.games.game import Game
from alphago.types import FloatArray, States


@runtime_checkable
class HeuristicGame(Protocol):
    """A game with rules of thumb about who is ahead.

    The values mean nothing but an order: a larger one looks better to the player to move, 0 looks
    even. They do not see what the next moves bring; looking ahead is for players.
    """

    def heuristic_values(self, states: States) -> FloatArray:
        """Guesses what positions are worth, as they stand.

        Args:
            states: [B] states; the answer for finished ones is not used.

        Returns:
            float32 [B], inside (-1, 1), the view of the player to move.
        """
        ...


class NoHeuristic:
    """The guesses of a game that makes none: everything looks even."""

    def heuristic_values(self, states: States) -> FloatArray:
        """Returns float32 [B], zeros."""
        return np.zeros(len(states), np.float32)


def heuristic_of(game: Game) -> HeuristicGame:
    """Returns the game itself if it can guess, else guesses that everything is even."""
    return game if isinstance(game, HeuristicGame) else NoHeuristic()
