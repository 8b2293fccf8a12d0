"""What a player is that follows whole games, where others look at positions alone."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

from alphago.types import States


class ForfeitKind(StrEnum):
    """The ways to lose a game other than by its rules."""

    RESIGNATION = "resignation"
    ILLEGAL_MOVE = "illegal move"
    REFUSAL = "refusal"  # of a legal move of the opponent, or to move at all
    TIMEOUT = "timeout"
    CRASH = "crash"
    PROTOCOL_ERROR = "protocol error"


class Forfeit(NamedTuple):
    """What a player did instead of moving: it has lost the game."""

    kind: ForfeitKind
    reason: str  # one line


class GameSoFar(NamedTuple):
    """One game, as it is told to a player that follows it."""

    number: int  # tells the games of a match apart
    actions: Sequence[int]  # from the game's initial state
    state: States  # [1], the position they lead to


@runtime_checkable
class GameFollower(Protocol):
    """A player that is asked with the games so far: it keeps boards of its own.

    It may fail without the caller having made a mistake, so its answers tell of that as well.
    """

    def choose_in_games(self, games: Sequence[GameSoFar]) -> list[int | Forfeit]:
        """Chooses a legal action in every game, or forfeits it.

        Args:
            games: none over. They need not go on from those of the last call.

        Returns:
            An answer for each game.

        Raises:
            PlayerError: if the player cannot play at all.
        """
        ...

    def final_scores(self, games: Sequence[GameSoFar]) -> list[float | str]:
        """Counts finished games.

        Args:
            games: each ended by its rules.

        Returns:
            For each game player 0's points less player 1's, or in a line why there is no count.
        """
        ...

    def close(self) -> None:
        """Ends what the player keeps running."""
        ...
