"""Games that are won by points, an optional part of what a game can tell."""

from typing import Protocol, runtime_checkable

from alphago.types import FloatArray, States


@runtime_checkable
class ScoredGame(Protocol):
    """A game that is won by points, such as Go."""

    def score(self, states: States) -> FloatArray:
        """Returns float32 [B], player 0's points less player 1's; 0 is a draw."""
        ...
