"""Thinkers: players as an engine needs them, who are asked about one position after another.

A network thinks in a tree that it keeps (`TreeThinker`). Any other player is asked once for each
move. Of these, only UCT tells win rates; those with a budget can be interrupted.
"""

from collections.abc import Callable

import numpy as np

from alphago.errors import PlayerError
from alphago.games.game import Game
from alphago.games.go.game import Go
from alphago.players.alphabeta import AlphaBetaPlayer
from alphago.players.flat_mc_player import FlatMcPlayer
from alphago.players.game_follower import GameFollower
from alphago.players.network_player import NetworkPlayer
from alphago.players.player import Player
from alphago.players.uct_player import UctPlayer
from alphago.protocols.gtp_analysis import MoveInfo, Report
from alphago.protocols.tree_thinker import TreeThinker
from alphago.types import Evaluator, States


class PlayerThinker:
    """A player that is asked once for each move.

    Attributes:
        game: the rules.
        can_report: whether it tells what it thinks of the moves.
    """

    game: Go
    can_report: bool

    def __init__(self, game: Go, player: Player) -> None:
        """Keeps the player."""
        self.game = game
        self.can_report = isinstance(player, UctPlayer)
        self._player = player

    def set_stop(self, should_stop: Callable[[], bool]) -> None:
        """Says when to answer at once, to a player that can be told."""
        if isinstance(self._player, UctPlayer | FlatMcPlayer | AlphaBetaPlayer):
            self._player.should_stop = should_stop

    def choose(self, states: States) -> int:
        """Returns the player's action in a position [1]."""
        return int(self._player.choose_actions(states)[0])

    def report(self, states: States) -> Report:
        """Returns what the player thinks of the moves of a position [1], the most visited first.

        Equals are ordered by value, then by action. Of each variation only the first move is known.
        """
        assert isinstance(self._player, UctPlayer), "asked for a report that it cannot make"
        result = self._player.search(states)
        visits, values = result.visit_counts[0], result.action_values[0]
        root_value = float(result.root_values[0])
        tried = np.flatnonzero(result.priors[0])
        moves = [
            MoveInfo(
                move=(text := self.game.action_to_text(int(action))),
                visits=int(visits[action]),
                value=float(values[action]) if visits[action] else root_value,
                prior=float(result.priors[0, action]),
                variation=(text,),
                variation_visits=(int(visits[action]),),
            )
            for action in tried[np.lexsort((-values[tried], -visits[tried]))]
        ]
        return Report(int(visits.sum()), root_value, moves)


class Thinkers:
    """Makes the thinker of the game that is played, anew when size or rules have changed.

    A network is read from its files once for each size, and stays whatever becomes of rules, komi
    and the number of moves: that would take time from a clock.
    """

    def __init__(self, make: Callable[[Game], Player]) -> None:
        """Takes what makes the player of a game."""
        self._make = make
        self._networks: dict[str, NetworkPlayer] = {}  # by board
        self._current: TreeThinker | PlayerThinker | None = None
        self._key: tuple[object, ...] = ()
        self.num_simulations = 0  # a network's for one move
        self.seconds: float | None = None  # likewise, None for any time

    def check(self, game: Go) -> None:
        """Makes sure that there is a player of a game.

        Raises:
            PlayerError: if the player cannot play it, of which boards of other sizes are the usual
                reason.
            CheckpointError: if its files are broken.
        """
        self.of(game)

    def of(self, game: Go) -> TreeThinker | PlayerThinker:
        """Returns the thinker of a game.

        Raises:
            PlayerError: if the player cannot play it.
            CheckpointError: if its files are broken.
        """
        key = (game.spec.name, game.rules, game.spec.max_moves)
        if self._current is None or key != self._key:
            self._current, self._key = self._new(game), key
        return self._current

    def forget(self) -> None:
        """Drops what was searched."""
        if isinstance(self._current, TreeThinker):
            self._current.forget()

    def _new(self, game: Go) -> TreeThinker | PlayerThinker:
        network = self._networks.get(game.spec.name)
        if network is not None:
            return _tree_thinker(network, game, network.evaluator_for(game))
        player = self._make(game)
        if isinstance(player, GameFollower):
            raise PlayerError(f"{player.name}: is a GTP engine itself")
        if not isinstance(player, NetworkPlayer):
            return PlayerThinker(game, player)
        self._networks[game.spec.name] = player
        self.num_simulations, self.seconds = player.num_simulations, player.seconds
        return _tree_thinker(player, game, player.evaluator)


def _tree_thinker(player: NetworkPlayer, game: Go, evaluator: Evaluator) -> TreeThinker:
    return TreeThinker(
        game,
        evaluator,
        search_config=player.search_config,
        # Where time limits the number, it says nothing of how large a tree is needed.
        num_simulations=player.num_simulations if player.seconds is None else 0,
    )
