"""`alphago export`: the network of a run as a file for other programs, or for the package."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.arguments import CommandLineError, Parser, hint, parse_words

if TYPE_CHECKING:
    from alphago.games import Game
    from alphago.network.export import Difference, Subject
    from alphago.players.loading import FoundNetwork
    from alphago.types import UInt8Array

BUNDLE = "bundle"
# Those of alphago.network.export, which imports torch, with the names of their files.
SUFFIXES = {
    "safetensors": ".safetensors",
    "torchscript": ".pt",
    "onnx": ".onnx",
    "openvino": ".xml",
    "leela-zero": ".txt",
    BUNDLE: "",  # a folder
}
KEYS = ("game", "output")
_SEED = 0  # of the random positions; any positions tell


def main(argv: Sequence[str]) -> None:
    """Writes the file, checks it and says how exact it is."""
    arguments = _make_parser().parse(argv)
    _refuse_format_words(arguments.words)
    values = parse_words(arguments.words, allowed=KEYS)
    format_name = _check_format(arguments.format)
    if format_name == BUNDLE and "game" in values:
        raise CommandLineError(f"game: got {values['game']!r}, but {BUNDLE} has none")
    found, game = find_subject(arguments.checkpoint, game_name=values.get("game"))
    path = _output_path(values.get("output"), found, format_name=format_name)
    if format_name == BUNDLE:
        from scripts.export_bundle import export_bundle

        print(export_bundle(found, path))
    else:
        _export(found, game, path, format_name=format_name)


def find_subject(text: str, *, game_name: str | None) -> "tuple[FoundNetwork, Game]":
    """Finds the network that a player's text names.

    Args:
        text: `RUN_OR_CHECKPOINT[:step=N]`.
        game_name: the game to export it for, None for the one it has learnt.

    Returns:
        The network, and the game as the network sees it.

    Raises:
        PlayerError: if there is no such network, or it cannot play this game.
        CheckpointError: if the folder is broken.
    """
    from alphago.games import make_game
    from alphago.players.loading import check_plays, find_network
    from alphago.players.network_player import as_seen
    from alphago.players.text import parse_network

    folder, step = parse_network(text)
    found = find_network(folder, step=step)
    own = make_game(found.info.game)
    if game_name is None:
        return found, own
    game = make_game(game_name)
    check_plays(found.info.network, own.spec, game.spec, name=text)
    return found, as_seen(game, learnt=own)


def _export(found: "FoundNetwork", game: "Game", path: Path, *, format_name: str) -> None:
    """Writes, checks and reports."""
    from alphago.network.export import export_network, files_of, make_subject

    files = files_of(format_name, path)
    for file in files:
        if os.path.lexists(file):  # a link that leads nowhere too
            raise CommandLineError(f"output: {file} exists already; write output=ANOTHER")
    subject = make_subject(game, found.info, found.weights)
    positions, source = _positions(found, game)
    difference = export_network(subject, path, format_name=format_name, positions=positions)
    print(_describe(subject, files, difference, f"{len(positions)} positions of {source}"))


def _positions(found: "FoundNetwork", game: "Game") -> "tuple[UInt8Array, str]":
    """Returns positions to check the file on, and where they come from."""
    import numpy as np

    from alphago.games.random_play import random_states
    from alphago.network.export import NUM_POSITIONS

    own, shape = found.positions, game.spec.observation_shape
    if own is not None and own.shape[1:] == shape and len(own) >= NUM_POSITIONS:
        return own[:NUM_POSITIONS], "the run"
    rng = np.random.default_rng(_SEED)
    return game.observe(random_states(game, rng, num_rows=NUM_POSITIONS)), "random games"


def _describe(
    subject: "Subject", files: Sequence[Path], difference: "Difference", positions: str
) -> str:
    """Returns what was done, in lines."""
    from alphago.games import game_text

    info = subject.info
    sizes = f"{info.network.num_blocks} blocks of {info.network.num_channels} channels"
    written = [f"  {file}  {file.stat().st_size:,} bytes" for file in files]
    return "\n".join(
        [
            f"{game_text(subject.game.spec)}, {sizes}, step {info.step}",
            *written,
            f"  on {positions}, greatest difference from torch in fp32:"
            f" {difference.logits:.2g} of a logit, {difference.value:.2g} of a value",
        ]
    )


def _refuse_format_words(words: Sequence[str]) -> None:
    """Checks that the format was not written as a key.

    Raises:
        CommandLineError: if it was.
    """
    for word in words:
        if word.startswith("format="):
            raise CommandLineError(f"{word}: write --format {word.removeprefix('format=')}")


def _check_format(name: str | None) -> str:
    """Returns the name of a format.

    Raises:
        CommandLineError: if there is none of this name, or none was given.
    """
    allowed = ", ".join(SUFFIXES)
    if name is None:
        raise CommandLineError(f"which format? write --format FORMAT, allowed: {allowed}")
    if name not in SUFFIXES:
        near = hint(name, SUFFIXES)
        raise CommandLineError(f"--format: got {name!r}{near}; allowed: {allowed}")
    return name


def _output_path(text: str | None, found: "FoundNetwork", *, format_name: str) -> Path:
    """Returns where to write.

    Raises:
        CommandLineError: if the name has not the ending of the format, or is not that of the game
            for a bundle.
    """
    from alphago.games import make_game

    suffix, game_name = SUFFIXES[format_name], make_game(found.info.game).spec.name
    if text is None:
        own = f"{_name_of(found.folder)}-{found.info.step}{suffix}"
        return Path(game_name if format_name == BUNDLE else own)
    path = Path(text)
    if format_name == BUNDLE and path.name != game_name:
        raise CommandLineError(f"output: got {text!r}, allowed for bundle: FOLDER/{game_name}")
    if suffix and path.suffix != suffix:
        raise CommandLineError(f"output: got {text!r}, allowed for {format_name}: NAME{suffix}")
    if not os.path.isdir(path.parent):  # also of a name that is too long to ask for
        raise CommandLineError(f"output: got {text!r}, but {path.parent} is no folder")
    return path


def _name_of(checkpoint: Path) -> str:
    """Returns the name of a checkpoint's run, or its own where it lies elsewhere."""
    from alphago.files import CHECKPOINTS_FOLDER

    folder = checkpoint.resolve()
    return folder.parent.parent.name if folder.parent.name == CHECKPOINTS_FOLDER else folder.name


def _make_parser() -> Parser:
    listed = "\n".join(f"  {name:<12} {_SUMMARIES[name]}" for name in SUFFIXES)
    parser = Parser(
        "export",
        description=(
            "Write the network of a run or checkpoint as a file that other programs load. The\n"
            "file is read back and has to answer as the network does; else it is removed.\n"
            "What its numbers mean stands in the file, and in alphago/network/EXPORT.md.\n"
            "\n"
            f"{listed}\n"
            "\n"
            "  output=FILE  where to write (RUN-STEP with the format's ending, in this folder)\n"
            "  game=GAME    NAME[:key=value,...], of another board size where the network plays\n"
            "               every size; else it is the game that the network has learnt\n"
            "\n"
            f"Of a {BUNDLE}, which has the name of its game and belongs into alphago/networks:\n"
            "\n"
            "  output=FOLDER  where to write (GAME in this folder)"
        ),
        examples=(
            "alphago export runs/first --format onnx",
            "alphago export runs/go:step=4000 --format leela-zero output=network.txt",
            "alphago export runs/go --format bundle",
        ),
        usage="CHECKPOINT --format FORMAT [output=FILE] [game=GAME]",
        keys=lambda: KEYS,
    )
    parser.add_argument(
        "checkpoint",
        metavar="CHECKPOINT",
        help="the folder of a run or checkpoint: RUN:step=N (or best, latest)",
    )
    parser.add_argument("--format", metavar="FORMAT", help=", ".join(SUFFIXES))
    parser.add_argument("words", nargs="*", default=[], metavar="key=value", help=", ".join(KEYS))
    return parser


_SUMMARIES = {
    "safetensors": "weights by name, for torch and this project's own code",
    "torchscript": "the network with its weights, for libtorch (C++) and torch",
    "onnx": "the same for ONNX Runtime and many others; needs the extra `export`",
    "openvino": "the same for OpenVINO: an .xml and a .bin file",
    "leela-zero": "weights of Go on 19x19 for Leela Zero, of networks like Leela Zero's",
    BUNDLE: "a folder in half precision that plays by its name, for the package",
}
