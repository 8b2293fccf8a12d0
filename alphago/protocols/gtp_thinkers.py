"""Thinkers: players as an engine needs them, who are asked about one position after another.

A network thinks in a tree that it keeps (`TreeThinker`). Any other player is asked once for each
move. It tells win rates if it is an `Advisor`; of these others, only UCT can be interrupted.
"""

from collections.abc import Callable

from alphago.errors import PlayerError
from alphago.games.game import Game
from alphago.games.go.game import Go
from alphago.players.game_follower import GameFollower
from alphago.players.network_player import NetworkPlayer
from alphago.players.player import Advisor, Player
from alphago.players.uct_player import UctPlayer
from alphago.protocols.gtp_analysis import MoveInfo, Report
from alphago.protocols.tree_thinker import TreeThinker
from alphago.types import States

_SHARES = 10_000  # an advisor tells shares of visits, a controller wants numbers


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
        self.can_report = isinstance(player, Advisor)
        self._player = player

    def set_stop(self, should_stop: Callable[[], bool]) -> None:
        """Says when to answer at once, to a player that can be told."""
        if isinstance(self._player, UctPlayer):
            self._player.should_stop = should_stop

    def choose(self, states: States) -> int:
        """Returns the player's action in a position [1]."""
        return int(self._player.choose_actions(states)[0])

    def report(self, states: States) -> Report:
        """Returns what the player thinks of the moves of a position [1], the best first."""
        assert isinstance(self._player, Advisor), "asked for a report that it cannot make"
        (advice,) = self._player.analyse(states)
        values = [move.value for move in advice if move.value is not None]
        best = values[0] if values else 0.0
        moves = [
            MoveInfo(
                move=move.move,
                visits=round(move.visit_share * _SHARES),
                value=best if move.value is None else move.value,
                prior=move.prior,
                variation=(move.move,),
                variation_visits=(round(move.visit_share * _SHARES),),
            )
            for move in advice
        ]
        return Report(sum(move.visits for move in moves), best, moves)


class Thinkers:
    """Makes the thinker of the game that is played, anew when size or rules have changed."""

    def __init__(self, make: Callable[[Game], Player]) -> None:
        """Takes what makes the player of a game."""
        self._make = make
        self._current: TreeThinker | PlayerThinker | None = None
        self._key: tuple[object, ...] = ()
        self.num_simulations = 0  # a network's for one move

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
        player = self._make(game)
        if isinstance(player, GameFollower):
            raise PlayerError(f"{player.name}: is a GTP engine itself")
        if not isinstance(player, NetworkPlayer):
            return PlayerThinker(game, player)
        self.num_simulations = player.num_simulations
        return TreeThinker(
            game,
            player.evaluator,
            search_config=player.search_config,
            num_simulations=player.num_simulations,
        )
