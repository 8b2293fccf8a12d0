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
_LARGEST_BOARD = 19


def is_installed() -> bool:
    """Tells whether OpenSpiel can be imported."""
    return importlib.util.find_spec("pyspiel") is not None


def openspiel_name(game: Game) -> str | None:
    """Returns what OpenSpiel calls a game, made with the same cap on moves; None if it has none."""
    if isinstance(game, Go) and not _differences(game):
        size, cap = game.height, game.spec.max_moves
        return f"go(board_size={size},komi={game.rules.komi},max_game_length={cap})"
    return game.spec.name if game.spec.name in _SAME_NAMES else None


def remark(game: Game) -> str:
    """Returns how a game of OpenSpiel's differs from ours, or why it has none; "" if it is alike.

    Its Go forbids suicide and to take back in a ko, counts area, and knows no other rules. A board
    that occurred before ends its game; ours forbids the move, which is rare in random games.
    """
    if not isinstance(game, Go):
        return "" if game.spec.name in _SAME_NAMES else "it does not have this game"
    differences = _differences(game)
    if differences:
        return f"its Go does not have {', '.join(differences)}"
    return "a repeated board ends its games, and is forbidden in ours"


def _differences(game: Go) -> list[str]:
    """Returns what there is of a game of Go that OpenSpiel's does not have."""
    rules, size = game.rules, f"boards of {game.width}x{game.height}"
    found = {
        size: game.height != game.width or game.height > _LARGEST_BOARD,
        f"ko={rules.ko}": rules.ko != "positional",
        "suicide": rules.suicide,
        f"scoring={rules.scoring}": rules.scoring != "area",
        "our handicap": game.handicap > 0,
    }
    return [difference for difference, is_there in found.items() if is_there]


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
