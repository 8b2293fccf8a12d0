"""Players as text: `KIND_OR_PATH[:key=value,...]`, the one written form used everywhere.

    random | minimax | human
    alphabeta:depth=6                looks so many plies ahead; also nodes=N, positions at most
    flat_mc:playouts=1000            as many random playouts for every move, no tree
    uct:playouts=1000                plain UCT with random playouts; also exploration=C
    uct:seconds=2                    for so long a move; with playouts=N too, what is spent first
    runs/demo                        a run: its best network, 400 simulations a move
    runs/demo:simulations=100        with so many simulations a move; 0 plays the raw policy
    runs/demo:seconds=1              for so long a move; with simulations=N too, what is spent first
    runs/demo:exploration=0.9        with another c of PUCT; also fpu=R, the first-play reduction
    runs/demo:precision=fp32         evaluated in fp32, bf16 or int8; also precision=auto
    runs/demo:symmetries=8           asked about so many images of each position, answers averaged
    runs/demo:step=4000              the network of that optimiser step; also step=best, step=latest
    runs/demo/checkpoints/00004000   one checkpoint
    go_9x9                           a network that comes with the package, with the same options
    gtp:gnugo --mode gtp --level 10  a program that speaks GTP, by its command line

A path may hold colons, blanks, commas and `=`: options are what follows the last colon, if it looks
like options and the whole text is no path that exists. A folder called like a kind, or like a
network that comes with the package, is written `./random`. What follows `gtp:` is split into words
as a shell does, and never taken for options.
"""

import difflib
import logging
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from alphago.errors import PlayerError
from alphago.games import make_game
from alphago.games.game import Game
from alphago.players.alphabeta import AlphaBetaPlayer
from alphago.players.bundled import bundled_networks
from alphago.players.flat_mc_player import FlatMcPlayer
from alphago.players.human import HumanPlayer
from alphago.players.minimax import MinimaxPlayer
from alphago.players.options import (
    check_keys,
    read_constant,
    read_integer,
    read_playouts,
    read_seconds,
    read_step,
)
from alphago.players.player import Player
from alphago.players.random_player import RandomPlayer
from alphago.players.uct_player import UctPlayer
from alphago.types import MAX_SIMULATIONS

if TYPE_CHECKING:
    from alphago.players.engine import EngineSettings
    from alphago.players.loading import FoundNetwork

logger = logging.getLogger(__name__)

KINDS = ("random", "minimax", "alphabeta", "flat_mc", "uct", "human")
ENGINE_PREFIX = "gtp:"
DEFAULT_DEPTH = 6  # of alphabeta: sees most traps of Connect Four
DEFAULT_NODES = 100_000  # of alphabeta, positions a move: 0.3 s on Go 9x9, 0.9 s on 19x19
MAX_NODES = 1_000_000_000  # of alphabeta

# Of uct. UCB1 proves its bound for sqrt(2), which spreads few playouts over too many moves: on 9x9
# it scored 17 % of 60 games against this, at 300 playouts a move (README.md has more).
DEFAULT_EXPLORATION = 0.4

_KEYS: Mapping[str, tuple[str, ...]] = {
    "random": (),
    "minimax": (),
    "alphabeta": ("depth", "nodes"),
    "flat_mc": ("playouts",),
    "uct": ("playouts", "seconds", "exploration"),
    "human": (),
    ENGINE_PREFIX: (),
}
_PATH_KEYS = ("simulations", "seconds", "exploration", "fpu", "precision", "symmetries", "step")
MAX_SYMMETRIES = 8  # of a square
# What they are in `SearchConfig`.
_SEARCH_KEYS = {"exploration": "exploration_init", "fpu": "fpu_reduction"}
_PRECISIONS = ("auto", "int8", "bf16", "fp32")  # the network's, without importing torch
_OPTIONS = re.compile(r"\s*\w+\s*=[^,]*(,\s*\w+\s*=[^,]*)*")


def make_player(
    text: str,
    *,
    game: Game | str | None = None,
    seed: int = 0,
    engines: "EngineSettings | None" = None,
    name: str | None = None,
) -> Player:
    """Makes the player that a text names.

    Args:
        text: the player, see the module.
        game: the game, or its name. None is enough for a run or checkpoint, which tells it.
        seed: of the player's random choices.
        engines: how GTP programs are run; None for the defaults.
        name: how the player of a run or checkpoint is called; None for its text.

    Returns:
        The player.

    Raises:
        PlayerError: if the text names no player, has a wrong option, or the player's game is
            another one.
        UnknownGameError: if no game has this name.
        CheckpointError: if the run or checkpoint is broken.
    """
    game = make_game(game) if isinstance(game, str) else game
    subject, options = split_text(text)
    if subject not in (*KINDS, ENGINE_PREFIX):
        folder = _existing_folder(text, subject)
        return _make_network_player(name or text, folder, options, game=game, seed=seed)
    check_keys(text, options, _KEYS[subject])
    if game is None:
        raise PlayerError(f"{text}: which game? Only a run or a checkpoint tells it by itself")
    return _make_kind(text, subject, options, game=game, seed=seed, engines=engines)


def is_engine(text: str) -> bool:
    """Tells whether a player's text is the command line of a GTP program."""
    return text.startswith(ENGINE_PREFIX)


def game_of_player(text: str) -> str | None:
    """Returns the name of the game that a player's run or checkpoint was made for.

    Args:
        text: the player, see the module.

    Returns:
        The game's name; None for the kinds that play any game.

    Raises:
        PlayerError: if the text names no player.
        CheckpointError: if the run or checkpoint is broken.
    """
    subject, options = split_text(text)
    if subject in (*KINDS, ENGINE_PREFIX):
        return None
    path = _existing_folder(text, subject)
    from alphago.players.loading import find_network  # torch takes seconds, kinds need none

    return find_network(path, step=read_step(text, options)).info.game


def parse_network(text: str) -> tuple[Path, int | str | None]:
    """Reads the text of a network alone: the folder of a run or a checkpoint, and its step.

    Returns:
        The folder, and the step as `alphago.players.loading.find_network` takes it.

    Raises:
        PlayerError: if the text names no folder, or has another option than `step`.
    """
    subject, options = split_text(text)
    if subject in (*KINDS, ENGINE_PREFIX):
        raise PlayerError(f"{text}: has no network, allowed: the folder of a run or a checkpoint")
    folder = _existing_folder(text, subject)
    check_keys(text, options, ("step",))
    return folder, read_step(text, options)


def pin_network(text: str) -> "tuple[str, FoundNetwork] | None":
    """Finds the network of a player of a run or checkpoint once, so that it stays the same.

    What is the best or the latest network of a run that trains may be another one a moment later.

    Returns:
        The player's text with the checkpoint that the network is in, and the network; None for the
        kinds that have none.

    Raises:
        PlayerError: if the text names no player or has an unknown option.
        CheckpointError: if the run or checkpoint is broken.
    """
    subject, options = split_text(text)
    if subject in (*KINDS, ENGINE_PREFIX):
        return None
    folder = _existing_folder(text, subject)
    check_keys(text, options, _PATH_KEYS)
    from alphago.players.loading import find_network  # torch takes seconds, kinds need none

    found = find_network(folder, step=read_step(text, options))
    kept = [f"{key}={value}" for key, value in options.items() if key != "step"]
    if found.which == "best":
        kept.append("step=best")
    pinned = str(found.folder.resolve())
    return ":".join([pinned, ",".join(kept)]) if kept else pinned, found


def split_text(text: str) -> tuple[str, dict[str, str]]:
    """Splits a player's text into kind, path or `gtp:`, and options.

    Raises:
        PlayerError: if a key occurs twice.
    """
    if is_engine(text):
        return ENGINE_PREFIX, {}
    subject, colon, tail = text.rpartition(":")
    if not colon or not _OPTIONS.fullmatch(tail) or os.path.exists(text):
        return text, {}
    options: dict[str, str] = {}
    for part in tail.split(","):
        key, _, value = part.partition("=")
        if key.strip() in options:
            raise PlayerError(f"{text}: {key.strip()} is given twice")
        options[key.strip()] = value.strip()
    return subject, options


def _make_kind(
    text: str,
    subject: str,
    options: Mapping[str, str],
    *,
    game: Game,
    seed: int,
    engines: "EngineSettings | None",
) -> Player:
    """Makes a player of one of the kinds, or that of a GTP program."""
    if subject == ENGINE_PREFIX:
        return _make_engine_player(text, game, engines)
    if subject == "random":
        return RandomPlayer(game, seed=seed)
    if subject == "minimax":
        return MinimaxPlayer(game, seed=seed)
    if subject == "flat_mc":
        num_playouts = read_playouts(text, options)
        return FlatMcPlayer(game, num_playouts=num_playouts, seed=seed)
    if subject == "uct":
        return _make_uct_player(text, options, game=game, seed=seed)
    if subject == "human":
        return HumanPlayer(game, lines=sys.stdin, screen=sys.stdout)
    return _make_alphabeta_player(text, options, game=game, seed=seed)


def _make_engine_player(text: str, game: Game, settings: "EngineSettings | None") -> Player:
    """Makes the player of a GTP program."""
    from alphago.players.engine import EnginePlayer, EngineSettings  # the rules of Go, compiled

    return EnginePlayer(
        game,
        command_line=text.removeprefix(ENGINE_PREFIX),
        name=text,
        settings=settings or EngineSettings(),
    )


def _make_alphabeta_player(
    text: str, options: Mapping[str, str], *, game: Game, seed: int
) -> AlphaBetaPlayer:
    """Makes the player that looks some plies ahead."""
    depth = read_integer(
        text, "depth", options, default=DEFAULT_DEPTH, lowest=1, highest=game.spec.max_moves
    )
    num_nodes = read_integer(
        text, "nodes", options, default=DEFAULT_NODES, lowest=1, highest=MAX_NODES
    )
    name = f"alphabeta:depth={depth}"
    if "nodes" in options:
        name += f",nodes={num_nodes}"
    return AlphaBetaPlayer(game, depth=depth, num_nodes=num_nodes, name=name, seed=seed)


def _make_uct_player(text: str, options: Mapping[str, str], *, game: Game, seed: int) -> UctPlayer:
    """Makes the player of plain UCT; without any limit it has the default number of playouts."""
    num_playouts = seconds = None
    exploration = DEFAULT_EXPLORATION
    parts = []
    if "playouts" in options or "seconds" not in options:
        num_playouts = read_playouts(text, options)
        parts.append(f"playouts={num_playouts}")
    if "seconds" in options:
        seconds = read_seconds(text, options)
        parts.append(f"seconds={seconds:g}")
    if "exploration" in options:
        exploration = read_constant(text, "exploration", options)
        parts.append(f"exploration={exploration:g}")
    return UctPlayer(
        game,
        num_playouts=num_playouts,
        exploration=exploration,
        name=f"uct:{','.join(parts)}",
        seed=seed,
        seconds=seconds,
    )


def _make_network_player(
    text: str, folder: Path, options: Mapping[str, str], *, game: Game | None, seed: int
) -> Player:
    """Makes the player of a run or checkpoint."""
    check_keys(text, options, _PATH_KEYS)
    step = read_step(text, options)
    num_simulations = None
    if "simulations" in options:
        num_simulations = read_integer(
            text, "simulations", options, default=0, lowest=0, highest=MAX_SIMULATIONS
        )
    seconds = read_seconds(text, options) if "seconds" in options else None
    precision = options.get("precision")
    if precision is not None and precision not in _PRECISIONS:
        allowed = ", ".join(_PRECISIONS)
        raise PlayerError(f"{text}: precision: got {precision!r}, allowed: {allowed}")
    num_symmetries = read_integer(
        text, "symmetries", options, default=1, lowest=1, highest=MAX_SYMMETRIES
    )
    constants = {
        name: read_constant(text, key, options)
        for key, name in _SEARCH_KEYS.items()
        if key in options
    }
    if num_simulations == 0 and constants:
        keys = " and ".join(key for key in _SEARCH_KEYS if key in options)
        raise PlayerError(f"{text}: {keys}: of a search, but simulations=0 plays without one")
    from alphago.players.loading import find_network, make_network_player  # torch takes seconds

    return make_network_player(
        find_network(folder, step=step),
        game=game,
        num_simulations=num_simulations,
        constants=constants,
        precision=precision,
        num_symmetries=num_symmetries,
        name=text,
        seed=seed,
        seconds=seconds,
    )


def _existing_folder(text: str, subject: str) -> Path:
    """Returns the folder of a network, or says what the text might have meant."""
    bundled = bundled_networks()
    if subject in bundled:
        if os.path.isdir(subject):
            logger.warning(
                "%s: the network that comes with the package plays, not the folder of this name;"
                " that is ./%s",
                subject,
                subject,
            )
        return bundled[subject]
    # os.path: pathlib raises where a name is too long, and takes "" for the current folder.
    if os.path.isdir(subject):
        return Path(subject)
    if os.path.exists(subject):
        raise PlayerError(f"{text}: got a file, allowed: the folder of a run or a checkpoint")
    before, colon, after = subject.rpartition(":")
    names = (*KINDS, *bundled)
    if colon and (before in names or os.path.isdir(before)):
        raise PlayerError(f"{text}: got option {after!r}, allowed: key=value, separated by commas")
    nearest = difflib.get_close_matches(subject, names, n=1)
    hint = f", did you mean {nearest[0]}?" if nearest else ""
    raise PlayerError(
        f"{text}: no such kind of player and no such file or folder{hint}"
        f" (allowed: {', '.join(names)}, {ENGINE_PREFIX}COMMAND,"
        " or the folder of a run or a checkpoint)"
    )
