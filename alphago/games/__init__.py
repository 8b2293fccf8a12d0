"""The games, by name, and the contract they fulfil (`game.py`).

A game is written `NAME[:key=value,...]`, everywhere alike: `connect_four`, `go_9x9`,
`go_13x13:rules=japanese,komi=6.5`. Go boards are named `go_WIDTHxHEIGHT`.
"""

import difflib
import re
from collections.abc import Callable, Mapping

from alphago.errors import UnknownGameError
from alphago.games.connect_four import ConnectFour
from alphago.games.game import Game, GameSpec, Symmetry, game_text
from alphago.games.go import Go
from alphago.games.tic_tac_toe import TicTacToe

_GAMES: Mapping[str, Callable[[], Game]] = {
    "tic_tac_toe": TicTacToe,
    "connect_four": ConnectFour,
}
_GO_NAME = re.compile(r"go_[0-9]+x[0-9]+")

# Those with a configuration of their own; Go is played on boards of other sizes too.
GAME_NAMES: tuple[str, ...] = (*_GAMES, "go_5x5", "go_7x7", "go_9x9", "go_13x13", "go_19x19")


def make_game(text: str) -> Game:
    """Returns the game that a text names.

    Args:
        text: `NAME[:key=value,...]`.

    Raises:
        UnknownGameError: if there is no such game; it names the nearest one and all the others.
        RulesError: if the game has no such option, or the option no such value.
    """
    name, _, rest = text.partition(":")
    options = _read_options(text, rest)
    if _GO_NAME.fullmatch(name):
        return Go.from_text(name, options)
    if name in _GAMES:
        if options:
            raise UnknownGameError(f"game: got {text!r}, allowed: {name}, which has no options")
        return _GAMES[name]()
    nearest = difflib.get_close_matches(name, GAME_NAMES, n=1)
    hint = f", did you mean {nearest[0]}?" if nearest else ""
    raise UnknownGameError(
        f"game: got {name!r}{hint} (allowed: {', '.join(GAME_NAMES)}, and other go_WIDTHxHEIGHT)"
    )


def _read_options(text: str, rest: str) -> dict[str, str]:
    """Reads `key=value,...`, no option from an empty text."""
    options: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise UnknownGameError(f"game: got {text!r}, allowed: NAME:key=value,key=value")
        if key.strip() in options:
            raise UnknownGameError(f"game: got {text!r}, which gives {key.strip()} twice")
        options[key.strip()] = value.strip()
    return options


__all__ = ["GAME_NAMES", "Game", "GameSpec", "Symmetry", "game_text", "make_game"]
