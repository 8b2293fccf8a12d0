"""The player that asks a network, with or without a search; for its files see `loading.py`."""

from typing import Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.games.go.game import Go
from alphago.players.advice import advice_of, most_visited
from alphago.players.budget import limit_visits, rows_at_once, search_in_parts, stop_after
from alphago.players.player import MoveAdvice, SeededPlayer, legal_actions_to_choose
from alphago.search.config import SearchConfig
from alphago.search.search import run_search
from alphago.search.search_until import run_search_until
from alphago.search.tree import node_bytes
from alphago.types import Evaluator, SearchResult, States

_MAX_ROWS = 256  # positions in one search; larger batches make no network faster


@runtime_checkable
class GameEvaluator(Evaluator, Protocol):
    """An evaluator that can be turned to other rules, such as that of a network.

    Attributes:
        game: whose positions it sees.
    """

    game: Game

    def for_game(self, game: Game) -> Self:
        """Returns one that sees the positions of a game with the same observation shape."""
        ...


def as_seen(game: Game, *, learnt: Game) -> Game:
    """Returns a game as a network sees it: of Go with the planes that it has learnt from.

    Args:
        game: that is played.
        learnt: that the network has learnt, or plays already.

    Returns:
        The same game with the same states; only its observations may be others.
    """
    if not (isinstance(game, Go) and isinstance(learnt, Go)):
        return game
    return Go(
        height=game.height,
        width=game.width,
        rules=game.rules,
        max_moves=game.spec.max_moves,
        planes=learnt.planes,
        handicap=game.handicap,
    )


class NetworkPlayer(SeededPlayer):
    """Plays the most visited move of a search without root noise (temperature 0).

    Every call searches anew, so a move depends on its position alone; equals are decided by value,
    then at random by seed. With 0 simulations it plays the raw policy. With a limit of time moves
    also depend on the machine, and are not the same twice.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        *,
        search_config: SearchConfig,
        num_simulations: int | None,
        name: str,
        seed: int,
        seconds: float | None = None,
    ) -> None:
        """Keeps everything.

        Args:
            game: the rules.
            evaluator: the network.
            search_config: the constants of the search; its noise is not used.
            num_simulations: simulations per move, 0 for the raw policy; None for as many as there
                is time for. With a limit of time no more than there is memory for (1 GB).
            name: how the player is called in results.
            seed: decides between equally good moves.
            seconds: time per move; whatever is spent first ends the search. None for any.

        Raises:
            PlayerError: if memory has no room for so many simulations.
        """
        self._node_bytes = node_bytes(game.spec)
        self.game = game
        self.evaluator = evaluator
        self.name = name
        self.num_simulations = limit_visits(
            num_simulations,
            node_bytes=self._node_bytes,
            seconds=seconds,
            what=f"{name}: simulations of {game.spec.name}",
        )
        self.seconds = seconds
        self.search_config = search_config
        self._is_warm = False
        self.reseed(seed)

    def evaluator_for(self, game: Game) -> Evaluator:
        """Returns the network for the same board under other rules; nothing is loaded."""
        assert isinstance(self.evaluator, GameEvaluator), "an evaluator for one game alone"
        return self.evaluator.for_game(as_seen(game, learnt=self.evaluator.game))

    def choose_actions(self, states: States) -> npt.NDArray[np.int64]:
        """Chooses an action [B] for each position, see `Player`.

        Raises:
            FinishedGameError: if a position is over.
            EvaluationError: if the network's answer cannot be used.
        """
        return self.most_visited(self.search(states))

    def search(self, states: States) -> SearchResult:
        """Searches positions [B], none over, in batches of bounded memory.

        With a limit of time each position has it for itself.

        Raises:
            FinishedGameError: if a position is over.
            EvaluationError: if the network's answer cannot be used.
        """
        legal_actions_to_choose(self.game, states)
        if self.seconds is not None:
            self._warm_up()
            return search_in_parts(states, num_rows=1, search=self._search)
        num_rows = rows_at_once(
            self.num_simulations, node_bytes=self._node_bytes, most_rows=_MAX_ROWS
        )
        return search_in_parts(states, num_rows=num_rows, search=self._search)

    def _search(self, states: States) -> SearchResult:
        """Searches positions [B] at once."""
        should_stop = stop_after(self.seconds)
        if should_stop is None:
            return run_search(
                self.game,
                self.evaluator,
                states,
                self.search_config,
                num_simulations=self.num_simulations,
            )
        return run_search_until(
            self.game,
            self.evaluator,
            states,
            self.search_config,
            num_simulations=self.num_simulations,
            should_stop=should_stop,
        )

    def _warm_up(self) -> None:
        """Loads what is compiled before the first clock runs; that may take seconds."""
        if not self._is_warm:
            states = self.game.initial_states(1)
            run_search(self.game, self.evaluator, states, self.search_config, num_simulations=1)
            self._is_warm = True

    def most_visited(self, result: SearchResult) -> npt.NDArray[np.int64]:
        """Returns the most visited action [B] of each row, without a search the likeliest."""
        return most_visited(result, self._rng)

    def analyse(self, states: States) -> list[list[MoveAdvice]]:
        """Returns the legal moves of each position [B], the best first, as `most_visited` has it.

        Raises:
            FinishedGameError: if a position is over.
            EvaluationError: if the network's answer cannot be used.
        """
        legal = legal_actions_to_choose(self.game, states)
        return advice_of(self.game, self.search(states), legal)
