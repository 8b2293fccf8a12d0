"""The classical Monte-Carlo player: plain UCT with random playouts, no network."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from alphago.errors import PlayerError
from alphago.games.game import Game
from alphago.players.advice import advice_of, most_visited
from alphago.players.player import MoveAdvice, SeededPlayer, legal_actions_to_choose
from alphago.search.uct import run_uct, uct_row_bytes
from alphago.types import SearchResult, States

_MAX_ROWS = 64  # positions in one search; more make none faster
_MAX_BYTES = 1 << 28  # of the trees of one search, unless a single row needs more


class UctPlayer(SeededPlayer):
    """Plays the most visited move of a UCT search; equals by value, then at random by seed.

    Every call searches anew, so a move depends on its position and the random stream alone.

    Attributes:
        should_stop: asked after each playout whether to answer at once; None for never. For those
            who play against a clock.
    """

    should_stop: Callable[[], bool] | None

    def __init__(
        self, game: Game, *, num_playouts: int, exploration: float, name: str, seed: int
    ) -> None:
        """Keeps everything.

        Args:
            game: the rules.
            num_playouts: playouts per move, at least 1.
            exploration: the constant of UCB1, at least 0, see `ucb1_score`.
            name: how the player is called in results.
            seed: of the playouts and the order of untried moves.

        Raises:
            PlayerError: if a number is out of range.
        """
        if num_playouts < 1:
            raise PlayerError(
                f"uct: playouts: got {num_playouts}, allowed: an integer of at least 1"
            )
        if not 0 <= exploration < math.inf:
            raise PlayerError(
                f"uct: exploration: got {exploration}, allowed: a number of at least 0"
            )
        self.game = game
        self.num_playouts = num_playouts
        self.exploration = exploration
        self.name = name
        self.should_stop = None
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

        Raises:
            FinishedGameError: if a position is over.
        """
        row_bytes = uct_row_bytes(self.game, self.num_playouts)
        num_rows = max(1, min(_MAX_ROWS, _MAX_BYTES // row_bytes))
        parts = [
            run_uct(
                self.game,
                states[start : start + num_rows],
                num_playouts=self.num_playouts,
                exploration=self.exploration,
                rng=self._rng,
                should_stop=self.should_stop,
            )
            for start in range(0, max(1, len(states)), num_rows)
        ]
        return SearchResult(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
