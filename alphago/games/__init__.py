"""The games, by name, and the contract they fulfil (`game.py`)."""

import difflib
from collections.abc import Callable, Mapping

from alphago.errors import UnknownGameError
from alphago.games.connect_four import ConnectFour
from alphago.games.game import Game, GameSpec, Symmetry, game_text
from alphago.games.tic_tac_toe import TicTacToe

_GAMES: Mapping[str, Callable[[], Game]] = {
    "tic_tac_toe": TicTacToe,
    "connect_four": ConnectFour,
}

GAME_NAMES: tuple[str, ...] = tuple(_GAMES)


def make_game(name: str) -> Game:
    """Returns the game of a name.

    Raises:
        UnknownGameError: if there is none; it names the nearest one and all the others.
    """
    if name in _GAMES:
        return _GAMES[name]()
    nearest = difflib.get_close_matches(name, GAME_NAMES, n=1)
    hint = f", did you mean {nearest[0]}?" if nearest else ""
    raise UnknownGameError(f"game: got {name!r}{hint} (allowed: {', '.join(GAME_NAMES)})")


__all__ = ["GAME_NAMES", "Game", "GameSpec", "Symmetry", "game_text", "make_game"]
