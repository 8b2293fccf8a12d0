"""Ladders as files: the anchors of a game, weakest first, with their Elo where it is known.

    game: connect_four   # what the fixed ratings hold for; without it none may be fixed
    opening_plies: 4     # random moves before a game starts
    anchors:
      random: 0          # Elo
      uct:playouts=10: 350
      uct:playouts=32:   # null: rated together with whoever is measured

Those of the project lie in `configs/ladders/`: one for a game with fixed ratings, one for a family
of games, and `default.yaml` for all others.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import configs
from alphago.errors import AlphagoError, PlayerError
from alphago.games.game import GameSpec, game_text
from alphago.players.engine_process import find_program
from alphago.players.text import ENGINE_PREFIX, is_engine
from alphago.yaml_files import read_yaml
from eval.elo import MAX_ELO

LADDERS = Path(configs.__file__).resolve().parent / "ladders"
DEFAULT_LADDER = "default"

# Options of a game that change neither its rules nor how strong a player is: how long a game may
# last before it is cut off, and what networks see of it.
_OTHER_OPTIONS = ("max_moves", "planes")
_KEYS = {"game", "opening_plies", "anchors"}


class LadderError(AlphagoError):
    """A ladder's file cannot be read, or is none."""


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """The anchors of a game.

    Attributes:
        game: the game that the fixed ratings hold for, as text; None if none is fixed.
        opening_plies: random moves before a game starts.
        anchors: Elo by player, weakest first; None where it is not fixed. At least one.
    """

    game: str | None
    opening_plies: int
    anchors: Mapping[str, float | None]


def find_ladder(spec: GameSpec) -> Ladder:
    """Returns the ladder that the project has for a game.

    Args:
        spec: the game. Fixed ratings are those of a game with the same rules.

    Raises:
        LadderError: if its file is broken.
    """
    path = LADDERS / f"{spec.name}.yaml"
    if path.is_file():
        ladder = load_ladder(path)
        if ladder.game is None or has_rules_of(game_text(spec), ladder.game):
            return ladder
    family = LADDERS / f"{spec.family}.yaml"
    ladder = load_ladder(family if family.is_file() else LADDERS / f"{DEFAULT_LADDER}.yaml")
    return ladder if ladder.game is None else without_ratings(ladder)


def load_ladder(path: Path) -> Ladder:
    """Reads a ladder's file.

    Raises:
        LadderError: naming what is wrong with it.
    """
    data = read_yaml(path, error=LadderError)
    if not isinstance(data, dict) or not {"opening_plies", "anchors"} <= set(data) <= _KEYS:
        raise LadderError(f"{path}: no ladder, allowed: opening_plies, anchors and, maybe, game")
    return read_ladder(data, where=str(path))


def read_ladder(data: Mapping[str, Any], *, where: str) -> Ladder:
    """Makes a ladder of what a file holds.

    Args:
        data: its keys and values.
        where: the file, for errors.

    Raises:
        LadderError: naming what is wrong.
    """
    plies, game, anchors = data["opening_plies"], data.get("game"), data["anchors"]
    if isinstance(plies, bool) or not isinstance(plies, int) or plies < 0:
        raise LadderError(f"{where}: opening_plies: got {plies!r}, allowed: an integer from 0")
    if game is not None and not isinstance(game, str):
        raise LadderError(f"{where}: game: got {game!r}, allowed: NAME[:key=value,...]")
    if not isinstance(anchors, dict) or not anchors:
        raise LadderError(f"{where}: anchors: got {anchors!r}, allowed: PLAYER: ELO, weakest first")
    for player, elo in anchors.items():
        is_number = isinstance(elo, int | float) and not isinstance(elo, bool)
        is_elo = elo is None or (is_number and abs(elo) <= MAX_ELO)  # NaN is refused as well
        if not isinstance(player, str) or not is_elo:
            raise LadderError(
                f"{where}: anchors: got {player!r}: {elo!r}, allowed: a player and its Elo, from"
                f" -{MAX_ELO} to {MAX_ELO} or null"
            )
        if elo is not None and game is None:
            raise LadderError(f"{where}: {player} has a rating; `game` must say of which game")
    return Ladder(game=game, opening_plies=plies, anchors=anchors)


def fixed_ratings(anchors: Mapping[str, float | None]) -> dict[str, float]:
    """Returns the ratings that never change: where there are none, 0 for the weakest anchor."""
    fixed = {player: elo for player, elo in anchors.items() if elo is not None}
    return fixed or {next(iter(anchors)): 0.0}


def without_ratings(ladder: Ladder) -> Ladder:
    """Returns a ladder with the same anchors for other rules, where their ratings mean nothing."""
    return replace(ladder, game=None, anchors=dict.fromkeys(ladder.anchors))


def without_missing_programs(ladder: Ladder) -> tuple[Ladder, list[str]]:
    """Returns a ladder without the GTP programs that are not installed, and those left out.

    Raises:
        LadderError: if no anchor is left.
    """
    missing = [player for player in ladder.anchors if not _is_installed(player)]
    left = {player: elo for player, elo in ladder.anchors.items() if player not in missing}
    if not left:
        raise LadderError(f"no anchor is left: {', '.join(missing)} is not installed")
    return replace(ladder, anchors=left), missing


def has_rules_of(game: str, other: str) -> bool:
    """Tells whether two games, as texts, are the same but for a cap on moves and input planes."""
    return _rules(game) == _rules(other)


def _rules(game: str) -> tuple[str, frozenset[str]]:
    """Returns name and rules of a game."""
    name, _, options = game.partition(":")
    kept = [part for part in options.split(",") if part.partition("=")[0] not in _OTHER_OPTIONS]
    return name, frozenset(part for part in kept if part)


def _is_installed(player: str) -> bool:
    """Tells whether an anchor's program is there; other players always are."""
    if not is_engine(player):
        return True
    try:
        find_program(shlex.split(player.removeprefix(ENGINE_PREFIX)))
    except (PlayerError, ValueError):  # the latter for an open quotation
        return False
    return True
