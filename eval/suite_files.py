"""Files of positions: found, read, and when one cannot be used, said clearly why.

A file is JSON; its form is described in this package's README.
"""

import difflib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import configs
from alphago.errors import AlphagoError, IllegalActionError, NotationError, SuiteError
from alphago.files import MIB, read_text_file, reason
from alphago.games import Game, GameSpec, game_text, make_game
from alphago.games.go import Go
from alphago.games.notation import format_moves, parse_moves, replay
from alphago.types import BoolArray, States

_SUITES = Path(configs.__file__).parent / "suites"
_PLAYERS: Mapping[object, int] = {"black": 0, "b": 0, "white": 1, "w": 1}  # as GTP has them
_COLORS = ("black", "white")
_MOST_BYTES = 16 * MIB  # of a file


class Position(NamedTuple):
    """One position of a file."""

    label: str  # its id, or its number in the file
    kind: str | None
    state: States  # [1]
    right_actions: BoolArray  # [A], True for each move that counts as right
    is_decisive: bool  # False where every move is as good as any other


class SuiteFile(NamedTuple):
    """What a file of positions holds, the positions still unread."""

    path: str | Path  # as the caller wrote it
    name: str  # without folder and ending
    game: str | None  # that it says it is for, `NAME[:key=value,...]`
    about: str  # what the positions are, "" where the file does not say
    entries: Sequence[object]  # at least one


def shipped_suites() -> list[str]:
    """Returns the names of the suites that come with the project."""
    return sorted(file.stem for file in _SUITES.glob("*.json"))


def open_suite(path: str | Path) -> SuiteFile:
    """Reads a file of positions without looking at the positions.

    Args:
        path: the JSON file, or the name of a suite that comes with the project.

    Raises:
        SuiteError: if the file is missing or no such JSON.
    """
    content = _read_content(_find(path))
    fields = content if isinstance(content, dict) else {}
    game = _optional_text(fields, "game", what=path, allowed="the name of a game")
    about = _optional_text(fields, "about", what=path, allowed="a text")
    entries = fields.get("positions")
    if not isinstance(entries, list) or not entries:
        raise SuiteError(f"{path}: got no list 'positions', allowed: a list of at least one")
    return SuiteFile(path, Path(path).stem, game, about or "", entries)


def read_positions(game: Game, file: SuiteFile) -> list[Position]:
    """Reads the positions of a file and checks every one of them.

    Raises:
        SuiteError: if they are of another game, or one cannot be used; it names the file, the
            position's number (from 1), what was got and what is allowed.
    """
    _check_game(file, game.spec)
    positions = []
    for number, entry in enumerate(file.entries, start=1):
        try:
            positions.append(_read_position(game, entry, number=number))
        except AlphagoError as error:
            place = f"{file.path}: position {number} of {len(file.entries)}"
            raise SuiteError(f"{place}: {error}") from error
    return positions


def _find(path: str | Path) -> Path:
    """Returns the file of a suite given by path or by name; a file of the caller goes first."""
    names = shipped_suites()
    if str(path) in names and not os.path.isfile(path):
        return _SUITES / f"{path}.json"
    if not os.path.exists(path):  # pathlib raises where a name is too long
        nearest = difflib.get_close_matches(str(path), names, n=1)
        hint = f", did you mean {nearest[0]}?" if nearest else ""
        raise SuiteError(f"{path}: no such file{hint} (also allowed: {', '.join(names)})")
    return Path(path)


def _read_content(path: Path) -> object:
    """Returns the JSON of a file."""
    try:
        return json.loads(read_text_file(path, at_most=_MOST_BYTES))
    except OSError as error:
        raise SuiteError(f"{path}: cannot be read: {reason(error)}") from error
    except (ValueError, RecursionError) as error:  # no UTF-8, no JSON, or lists too deep
        raise SuiteError(f"{path}: got no JSON ({error}), allowed: a suite in JSON") from error


def _check_game(file: SuiteFile, spec: GameSpec) -> None:
    """Raises unless a file's positions are for a game."""
    if file.game is None:
        return
    try:
        wanted = make_game(file.game)
    except AlphagoError as error:
        raise SuiteError(f"{file.path}: {error}") from error
    if wanted.spec.name != spec.name or (":" in file.game and not _same_rules(wanted, spec)):
        player_game = game_text(spec)
        raise SuiteError(f"suite {file.name} is for {file.game}, the player plays {player_game}")


def _same_rules(wanted: Game, spec: GameSpec) -> bool:
    """Tells whether moves that are best in one game are so in another of the same name.

    The cap on moves and what a network sees of a board may differ.
    """
    got = make_game(game_text(spec))
    assert isinstance(wanted, Go) and isinstance(got, Go), "only Go has options"
    return (wanted.rules, wanted.handicap) == (got.rules, got.handicap)


def _read_position(game: Game, entry: object, *, number: int) -> Position:
    """Reads one position."""
    if not isinstance(entry, dict):
        raise SuiteError(f"got {entry!r}, allowed: an object with 'moves' and 'best'")
    label = entry.get("id", f"position {number}")
    kind = _optional_text(entry, "kind", allowed="a text")
    state = _read_state(game, entry)
    right_actions = _read_right_actions(game, entry, game.legal_actions(state)[0])
    decisive = entry.get("decisive", True)
    if not isinstance(decisive, bool):
        raise SuiteError(f"decisive: got {decisive!r}, allowed: true or false")
    return Position(str(label), kind, state, right_actions, decisive)


def _read_state(game: Game, entry: Mapping[str, object]) -> States:
    """Returns the state [1]: moves from the start, or from stones that are set up."""
    is_set_up = any(color in entry for color in _COLORS)
    start = _set_up(game, entry) if is_set_up else None
    moves = entry.get("moves", "" if is_set_up else None)
    if not isinstance(moves, str):
        raise SuiteError(f"moves: got {moves!r}, allowed: the moves as one text")
    try:
        state = replay(game, parse_moves(game, moves), start=start)
    except (NotationError, IllegalActionError) as error:
        raise SuiteError(f"moves {moves!r}: {error}") from error
    if game.is_over(state)[0]:
        raise SuiteError(f"moves {moves!r}: the game is over, allowed: an unfinished game")
    return state


def _set_up(game: Game, entry: Mapping[str, object]) -> States:
    """Returns the position [1] of the stones `black` and `white` with `to_play` to move."""
    if not isinstance(game, Go):
        raise SuiteError(f"{game.spec.name}: got stones set up, allowed: 'moves' from the start")
    to_play = entry.get("to_play")
    player = _PLAYERS.get(to_play.lower()) if isinstance(to_play, str) else None
    if player is None:
        raise SuiteError(f"to_play: got {to_play!r}, allowed: black or white")
    black, white = (_read_stones(game, color, entry.get(color, [])) for color in _COLORS)
    return game.position(black, white, player)


def _read_stones(game: Go, color: str, points: object) -> list[int]:
    """Returns the stones of a colour as actions."""
    if not isinstance(points, list) or not all(isinstance(point, str) for point in points):
        raise SuiteError(f"{color}: got {points!r}, allowed: a list of points such as 'C3'")
    try:
        stones = [game.text_to_action(point) for point in points]
    except NotationError as error:
        raise SuiteError(f"{color}: {error}") from error
    if game.spec.pass_action in stones:
        raise SuiteError(f"{color}: got a pass, allowed: points such as 'C3'")
    return stones


def _read_right_actions(game: Game, entry: Mapping[str, object], legal: BoolArray) -> BoolArray:
    """Returns the right moves [A] of a position with legal moves [A]: `best`, or not `avoid`."""
    best, avoid = _read_list(entry, "best"), _read_list(entry, "avoid")
    if best and avoid:
        raise SuiteError("best and avoid: got both, allowed: one of them")
    if not (best or avoid):
        raise SuiteError("best: got [], allowed: a list of at least one move (or 'avoid')")
    if best:
        return _read_moves(game, "best", best, legal)
    right = legal & ~_read_moves(game, "avoid", avoid, legal)
    if not right.any():
        raise SuiteError("avoid: got every legal move, allowed: at least one less")
    return right


def _read_list(entry: Mapping[str, object], key: str) -> list[object]:
    """Returns a list of moves, empty without the key."""
    moves = entry.get(key, [])
    if not isinstance(moves, list):
        raise SuiteError(f"{key}: got {moves!r}, allowed: a list of at least one move")
    return moves


def _read_moves(game: Game, key: str, moves: Sequence[object], legal: BoolArray) -> BoolArray:
    """Returns the mask [A] of moves, each of which has to be one of the legal ones [A]."""
    mask = np.zeros_like(legal)
    for move in moves:
        action = _action_of(game, move)
        if action is None or not legal[action]:
            allowed = format_moves(game, np.flatnonzero(legal))
            raise SuiteError(f"{key}: got {move!r}, allowed: one of {allowed}")
        mask[action] = True
    return mask


def _action_of(game: Game, move: object) -> int | None:
    """Returns the action of a move, None for what is no move of the game."""
    try:
        return game.text_to_action(move) if isinstance(move, str) else None
    except NotationError:
        return None


def _optional_text(
    fields: Mapping[str, object], key: str, *, allowed: str, what: str | Path = ""
) -> str | None:
    """Returns the text of a key, None without the key."""
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        place = f"{what}: " if what else ""
        raise SuiteError(f"{place}{key}: got {value!r}, allowed: {allowed}")
    return value
