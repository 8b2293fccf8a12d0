"""OpenSpiel's random playouts beside our own: the same games, the same policy, in C++.

OpenSpiel is an extra of the bench, `pip install "alphago-selfplay[bench]"`.
"""

import importlib
import importlib.util
from typing import Any

from alphago.games import Game
from alphago.games.go import Go

ROLLOUTS = 64  # per call into C++
_SAME_NAMES = ("tic_tac_toe", "connect_four")


def is_installed() -> bool:
    """Tells whether OpenSpiel can be imported."""
    return importlib.util.find_spec("pyspiel") is not None


def openspiel_name(game: Game) -> str | None:
    """Returns what OpenSpiel calls a game; None if it has none like it.

    Its Go has square boards, area scoring and superko; the cap of moves is made the same.
    """
    if isinstance(game, Go) and game.height == game.width:
        size, cap = game.height, game.spec.max_moves
        return f"go(board_size={size},komi={game.rules.komi},max_game_length={cap})"
    return game.spec.name if game.spec.name in _SAME_NAMES else None


class OpenSpielPlayouts:
    """Uniformly random playouts from the start of a game."""

    def __init__(self, name: str) -> None:
        """Loads the game that OpenSpiel calls `name`."""
        pyspiel: Any = importlib.import_module("pyspiel")
        game = pyspiel.load_game(name)
        self._state = game.new_initial_state()
        # Of all that Python can call, a search of one simulation is the one that stays in C++ for
        # many playouts: it evaluates the root by them and ends.
        evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS, 1)
        self._bot = pyspiel.MCTSBot(game, evaluator, 1.0, 1, 10, False, 1, False)

    def play(self) -> None:
        """Plays `ROLLOUTS` playouts."""
        self._bot.mcts_search(self._state)
