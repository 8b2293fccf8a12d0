"""Games that are won by points and by territory, optional parts of what a game can tell."""

from typing import Protocol, runtime_checkable

from alphago.types import FloatArray, Int8Array, States


@runtime_checkable
class ScoredGame(Protocol):
    """A game that is won by points, such as Go."""

    def score(self, states: States) -> FloatArray:
        """Returns float32 [B], player 0's points less player 1's; 0 is a draw."""
        ...


@runtime_checkable
class TerritoryGame(ScoredGame, Protocol):
    """A game in which the points are cells that somebody owns in the end, such as Go."""

    def owners(self, states: States) -> Int8Array:
        """Returns int8 [B, H, W], the player who owns a cell as the board stands, or EMPTY.

        A cell is owned by whoever has a piece on it, or alone surrounds it.
        """
        ...
