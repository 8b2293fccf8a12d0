"""How games of Go are named: `go_9x9`, columns times rows, and the options behind the name."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from alphago.errors import RulesError, UnknownGameError
from alphago.games.go.planes import NUM_PLANES
from alphago.games.go.rules import RULE_KEYS, GoRules, check_choice, parse_rules, rules_options
from alphago.games.go.vertices import MAX_SIZE

FAMILY = "go"
DEFAULT_PLANES = "history"
MOST_MOVES = 10_000  # of the cap on moves: it sizes every state

_GAME_KEYS = ("handicap", "max_moves", "planes")
_MIN_MAX_MOVES = 100


class GoOptions(NamedTuple):
    """What the options of a game's text say."""

    rules: GoRules
    handicap: int
    max_moves: int | None
    planes: str


def default_max_moves(height: int, width: int) -> int:
    """Returns the cap on the number of moves where nobody sets one."""
    return max(_MIN_MAX_MOVES, 2 * height * width)


def go_name(height: int, width: int) -> str:
    """Returns the name of a board size."""
    return f"{FAMILY}_{width}x{height}"


def parse_size(name: str) -> tuple[int, int]:
    """Reads a name such as `go_9x9`.

    Returns:
        Height and width.

    Raises:
        UnknownGameError: if it names no board of 1 to 25 columns and rows.
    """
    match = re.fullmatch(rf"{FAMILY}_([1-9][0-9]?)x([1-9][0-9]?)", name)
    if match is None or max(int(match[1]), int(match[2])) > MAX_SIZE:
        raise UnknownGameError(
            f"game: got {name!r}, allowed: {FAMILY}_COLUMNSxROWS, each from 1 to {MAX_SIZE},"
            f" such as {go_name(9, 9)}"
        )
    return int(match[2]), int(match[1])


def parse_go_options(options: Mapping[str, str]) -> GoOptions:
    """Reads the options behind a name.

    Args:
        options: text by key: those of `parse_rules`, and handicap, max_moves and planes.

    Returns:
        What they say.

    Raises:
        RulesError: if a key or a value is not allowed.
    """
    for key in options:
        check_choice("option", key, RULE_KEYS + _GAME_KEYS)
    rules = parse_rules({key: text for key, text in options.items() if key in RULE_KEYS})
    return GoOptions(
        rules,
        _parse_count("handicap", options["handicap"]) if "handicap" in options else 0,
        _parse_count("max_moves", options["max_moves"]) if "max_moves" in options else None,
        options.get("planes", DEFAULT_PLANES),
    )


def options_text(
    height: int, width: int, *, rules: GoRules, handicap: int, max_moves: int, planes: str
) -> str:
    """Returns the fewest options, as `key=value,...`, that make the same game on a board."""
    options = rules_options(rules)
    if handicap > 0:
        options["handicap"] = str(handicap)
    if max_moves != default_max_moves(height, width):
        options["max_moves"] = str(max_moves)
    if planes != DEFAULT_PLANES:
        options["planes"] = planes
    return ",".join(f"{key}={value}" for key, value in options.items())


def check_go(height: int, width: int, *, max_moves: int, planes: str) -> None:
    """Raises unless there is such a game.

    Raises:
        RulesError: if the size, the cap on moves or the planes are not allowed.
    """
    for key, size in (("height", height), ("width", width)):
        if not 1 <= size <= MAX_SIZE:
            raise RulesError(f"{key}: got {size}, allowed: 1 to {MAX_SIZE}")
    if not 1 <= max_moves <= MOST_MOVES:
        raise RulesError(f"max_moves: got {max_moves}, allowed: 1 to {MOST_MOVES}")
    check_choice("planes", planes, tuple(NUM_PLANES))


def _parse_count(key: str, text: str) -> int:
    if re.fullmatch(r"[0-9]{1,9}", text) is None:
        raise RulesError(f"{key}: got {text!r}, allowed: a whole number")
    return int(text)
