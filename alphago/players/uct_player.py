"""The classical Monte-Carlo player: plain UCT with random playouts, no network."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from alphago.errors import PlayerError
from alphago.games.game import Game
from alphago.players.advice import advice_of, most_visited
from alphago.players.budget import limit_visits, rows_at_once, search_in_parts, stop_after
from alphago.players.player import MoveAdvice, SeededPlayer, legal_actions_to_choose
from alphago.search.uct import run_uct, uct_node_bytes
from alphago.types import SearchResult, States

_MAX_ROWS = 64  # positions in one search; more make none faster
_WARM_UP_PLAYOUTS = 2


class UctPlayer(SeededPlayer):
    """Plays the most visited move of a UCT search; equals by value, then at random by seed.

    Every call searches anew, so a move depends on its position and the random stream alone. A
    weaker player is one with a smaller budget; no move is ever drawn from the visits, since few of
    them say little of any move but the first. With a limit of time moves also depend on the
    machine, and are not the same twice.

    Attributes:
        num_playouts: the most playouts for a move.
        seconds: the most time for a move, None for any.
        should_stop: asked after each playout whether to answer at once; None for never. For those
            who play against a clock.
    """

    num_playouts: int
    seconds: float | None
    should_stop: Callable[[], bool] | None

    def __init__(
        self,
        game: Game,
        *,
        num_playouts: int | None,
        exploration: float,
        name: str,
        seed: int,
        seconds: float | None = None,
    ) -> None:
        """Keeps everything.

        Args:
            game: the rules.
            num_playouts: playouts per move, at least 1; None for as many as there is time for. With
                a limit of time no more than there is memory for (1 GB).
            exploration: the constant of UCB1, at least 0, see `ucb1_score`.
            name: how the player is called in results.
            seed: of the playouts and the order of untried moves.
            seconds: time per move, above 0; whatever is spent first ends the search. None for any.

        Raises:
            PlayerError: if a number is out of range, nothing limits the search, or memory has no
                room for so many playouts.
        """
        _check(num_playouts, exploration, seconds)
        self._node_bytes = uct_node_bytes(game)
        self.game = game
        self.num_playouts = limit_visits(
            num_playouts,
            node_bytes=self._node_bytes,
            seconds=seconds,
            what=f"{name}: playouts of {game.spec.name}",
        )
        self.seconds = seconds
        self.exploration = exploration
        self.name = name
        self.should_stop = None
        self._is_warm = False
        self.reseed(seed)

    def choose_actions(self, states: States) -> npt.NDArray[np.int64]:
        """Chooses an action [B] for each position, see `Player`."""
        legal_actions_to_choose(self.game, states)
        return most_visited(self.search(states), self._rng)

    def analyse(self, states: States) -> list[list[MoveAdvice]]:
        """Returns the legal moves of each position [B], the best first.

        Raises:
            FinishedGameError: if a position is over.
        """
        legal = legal_actions_to_choose(self.game, states)
        return advice_of(self.game, self.search(states), legal)

    def search(self, states: States) -> SearchResult:
        """Searches positions [B], none over, in batches of bounded memory.

        With a limit of time each position has it for itself.

        Raises:
            FinishedGameError: if a position is over.
        """
        if self.seconds is not None:
            self._warm_up()
            return search_in_parts(states, num_rows=1, search=self._search)
        num_rows = rows_at_once(self.num_playouts, node_bytes=self._node_bytes, most_rows=_MAX_ROWS)
        return search_in_parts(states, num_rows=num_rows, search=self._search)

    def _search(self, states: States) -> SearchResult:
        """Searches positions [B] at once."""
        return run_uct(
            self.game,
            states,
            num_playouts=self.num_playouts,
            exploration=self.exploration,
            rng=self._rng,
            should_stop=stop_after(self.seconds, or_when=self.should_stop),
        )

    def _warm_up(self) -> None:
        """Loads what is compiled before the first clock runs; that may take seconds."""
        if not self._is_warm:
            run_uct(
                self.game,
                self.game.initial_states(1),
                num_playouts=_WARM_UP_PLAYOUTS,
                exploration=self.exploration,
                rng=np.random.default_rng(0),
            )
            self._is_warm = True


def _check(num_playouts: int | None, exploration: float, seconds: float | None) -> None:
    """Raises unless the numbers are in range."""
    if num_playouts is not None and num_playouts < 1:
        raise PlayerError(f"uct: playouts: got {num_playouts}, allowed: an integer of at least 1")
    if not 0 <= exploration < math.inf:
        raise PlayerError(f"uct: exploration: got {exploration}, allowed: a number of at least 0")
    if seconds is not None and not 0 < seconds < math.inf:
        raise PlayerError(f"uct: seconds: got {seconds}, allowed: a number above 0")
