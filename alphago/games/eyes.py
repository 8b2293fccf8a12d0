"""Eyes, an optional part of what a game can tell: points that their owner had better not fill."""

from typing import Protocol, runtime_checkable

from alphago.types import BoolArray, States


@runtime_checkable
class EyeGame(Protocol):
    """A game with eyes. To fill one is legal, and nearly always a mistake."""

    def own_eyes(self, states: States) -> BoolArray:
        """Returns bool [B, A], True where an action would fill an eye of the player to move."""
        ...
