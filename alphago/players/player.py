"""What a player is, and the few things that every player needs."""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from alphago.errors import FinishedGameError
from alphago.games.game import Game, check_states
from alphago.search.action_choice import choose_actions
from alphago.types import BoolArray, States


class Player(Protocol):
    """Anything that can choose a move in each position of a batch."""

    @property
    def name(self) -> str:
        """How the player is called in results, usually the text that made it."""
        ...

    def choose_actions(self, states: States) -> npt.NDArray[np.int64]:
        """Chooses a legal action in every position.

        Args:
            states: [B] positions, none over. They need not follow those of the last call.

        Returns:
            int64 [B].

        Raises:
            FinishedGameError: if a position is over.
        """
        ...


class NamedPlayer:
    """Base of our players: one that is printed shows its name.

    Attributes:
        name: see `Player`.
    """

    name: str

    def __repr__(self) -> str:
        """Returns kind and name, such as `RandomPlayer('random')`."""
        return f"{type(self).__name__}({self.name!r})"


class SeededPlayer(NamedPlayer):
    """Base of our players that choose at random, if only between equals."""

    _rng: np.random.Generator

    def reseed(self, seed: int) -> None:
        """Begins the random stream anew: from here on a player made with this seed does the same.

        So matches can be played in parts, in any order and anywhere, with the same result.
        """
        self._rng = np.random.default_rng(seed)


class MoveAdvice(NamedTuple):
    """What an advisor thinks of one legal move."""

    action: int
    move: str  # the action as people write it
    visit_share: float  # share of the search's visits, 0 without a search
    value: float | None  # in [-1, 1], view of who would make the move; None where not tried
    prior: float  # probability before the search, 0 where there is none
    standard_error: float | None = None  # of the value, in its unit; None where not known
    num_visits: int = 0  # simulations or playouts that tried the move, 0 without a search
    is_bound: bool = False  # the true value may be less than `value`, but is not more
    plies_to_end: int | None = None  # until the win or loss, this move included; None if not known
    depth: int | None = None  # plies looked ahead for the value, of players that count them


@runtime_checkable
class Advisor(Protocol):
    """A player that can explain itself."""

    def analyse(self, states: States) -> list[list[MoveAdvice]]:
        """Returns the legal moves of each position [B], the best first."""
        ...


def legal_actions_to_choose(game: Game, states: States) -> BoolArray:
    """Returns the legal actions of positions in which a player has to move.

    Args:
        game: the rules.
        states: [B] positions.

    Returns:
        bool [B, A], at least one True per row.

    Raises:
        StateError: if the states are not those of the game.
        FinishedGameError: if a position is over or has no legal action.
    """
    check_states(game, states)
    legal = game.legal_actions(states)
    stuck = np.flatnonzero(game.is_over(states) | ~legal.any(axis=1))
    if stuck.size:
        raise FinishedGameError(
            f"{game.spec.name}: the game of row {stuck[0]} is over, there is no move to choose"
        )
    return legal


def choose_uniformly(candidates: BoolArray, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draws one of the candidates per row.

    Args:
        candidates: bool [B, A], at least one True per row.
        rng: the player's random stream.

    Returns:
        int64 [B].
    """
    return choose_actions(candidates / candidates.sum(axis=1, keepdims=True), rng)
