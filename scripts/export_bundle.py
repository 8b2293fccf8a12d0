"""`alphago export --format bundle`: a network for the package, checked by playing it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import yaml

from alphago.errors import CheckpointError, ExportError, MismatchError
from alphago.files import CONFIG_FILE, read_text_file, reason, replace_file, sync_folder
from alphago.games import make_game
from alphago.network.bundle import CARD_FILE, write_bundle
from alphago.network.evaluator import NetworkEvaluator
from alphago.network.precision import PrecisionError, measure_error
from alphago.players.loading import (
    MOST_POSITIONS,
    FoundNetwork,
    find_network,
    load_evaluator,
    read_play_settings,
)
from alphago.types import UInt8Array
from alphago.yaml_files import MOST_BYTES
from scripts.arguments import CommandLineError
from train.checkpoint import read_state

# Of half precision: a fraction of what int8 may differ by, which costs no strength that shows.
_LIMIT = PrecisionError(policy_kl=1e-3, value_error=5e-3)
NOT_MEASURED = "not measured yet"


class _Checked(NamedTuple):
    """What was found out about a bundle."""

    error: PrecisionError  # of half precision, both networks in float32
    inference: str  # how it plays on this machine
    num_weights: int


def export_bundle(found: FoundNetwork, path: Path) -> str:
    """Writes a bundle, whole or not at all.

    Args:
        found: the network of a run, with the run's positions and counters.
        path: its folder, which must not exist.

    Returns:
        What was done, in lines.

    Raises:
        CommandLineError: if there is something of this name.
        CheckpointError: if the checkpoint lacks something.
        ExportError: if it cannot be written.
        MismatchError: if half precision plays something else.
    """
    if path.exists() or path.is_symlink():
        raise CommandLineError(f"output: {path} exists already; write output=ANOTHER")
    if found.positions is None:
        raise CheckpointError(f"{found.folder}: has no positions to calibrate int8 on")
    positions = found.positions[:MOST_POSITIONS]
    config_text = _play_config(found.folder / CONFIG_FILE)
    recipe = _recipe(found.folder / CONFIG_FILE)
    with _written_as(path) as folder:
        write_bundle(
            folder,
            found.info,
            found.weights,
            positions=positions,
            config_text=config_text,
        )
        checked = _check(found, folder, positions)
        with replace_file(folder / CARD_FILE) as file:
            file.write(_card(path.name, found, checked, recipe).encode())
    return _describe(path, found, checked)


@contextmanager
def _written_as(path: Path) -> Iterator[Path]:
    """Yields a folder that gets its final name when the block has come to its end.

    Raises:
        ExportError: if it cannot be written.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as temporary:
            folder = Path(temporary) / path.name
            folder.mkdir()
            yield folder
            folder.rename(path)
            sync_folder(path.parent)
    except OSError as error:
        raise ExportError(f"{path}: cannot be written ({reason(error)})") from error


def _play_config(path: Path) -> str:
    """Returns what players read of a run's configuration, but for its machine, as YAML."""
    settings = read_play_settings(path)
    # One thread: a network so small is fastest by it, above all beside other programs.
    anywhere = {"device": "auto", "backend": "auto", "precision": "auto", "num_threads": 1}
    config = {
        "search": asdict(settings.search),
        "evaluator": asdict(settings.evaluator) | anywhere,
    }
    return yaml.safe_dump(config, sort_keys=False)


def _check(found: FoundNetwork, folder: Path, positions: UInt8Array) -> _Checked:
    """Reads a bundle as players do, and compares it with the network it was made from.

    Raises:
        MismatchError: if they differ by more than rounding explains.
    """
    written = find_network(folder, step=None)
    exact, rounded = (
        _evaluator_of(each, "fp32").evaluate_observations(positions) for each in (found, written)
    )
    error = measure_error(exact, rounded)
    if not error.is_within(_LIMIT):
        raise MismatchError(f"half precision is too far off: {error}, allowed: {_LIMIT}")
    num_weights = sum(array.size for array in written.weights.values())
    inference = str(_evaluator_of(written, None).inference)
    return _Checked(error, inference, num_weights)


def _evaluator_of(found: FoundNetwork, precision: str | None) -> NetworkEvaluator:
    """Loads a network as the players of its own game do."""
    config = read_play_settings(found.folder / CONFIG_FILE).evaluator
    game = make_game(found.info.game)
    return load_evaluator(found, game, config, precision=precision, name=str(found.folder))


def _describe(path: Path, found: FoundNetwork, checked: _Checked) -> str:
    """Returns what was done, in lines."""
    files = [f"  {file}  {file.stat().st_size:,} bytes" for file in sorted(path.iterdir())]
    return "\n".join(
        [
            f"{found.info.game}, {_sizes(found)}, step {found.info.step}",
            *files,
            f"  half precision differs from fp32 by: {checked.error}",
            f"  plays with {checked.inference}",
            f"Write into {path / CARD_FILE} how strong it is, and how that was measured.",
        ]
    )


def _sizes(found: FoundNetwork) -> str:
    network = found.info.network
    return f"{network.num_blocks} blocks of {network.num_channels} channels"


def _card(name: str, found: FoundNetwork, checked: _Checked, recipe: str) -> str:
    """Returns what people should know of a network, in Markdown.

    Raises:
        CheckpointError: if the run's counters are not in the checkpoint.
    """
    state = read_state(found.folder)
    try:
        hours = state["counters"]["seconds"] / 3600
        num_games, num_positions = state["num_games"], state["buffer"]["positions_seen"]
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{found.folder}: its state has no entry {error}") from error
    rows = {
        "game": f"`{found.info.game}`",
        "network": f"{_sizes(found)}, {found.info.network.heads} heads",
        "data": f"{num_games:,} games of its own from nothing, {num_positions:,} positions",
        "training": f"{hours:.1f} hours, {found.info.step:,} steps",
        "weights": f"{checked.num_weights:,} in half precision, which differs by: {checked.error}",
        "computes in": f"{checked.inference}, on the machine that wrote this",
        "strength": NOT_MEASURED,
        "licence": "MIT, as the rest of the package",
    }
    lines = [
        f"# {name}",
        "",
        f"A network that comes with the package: `alphago play {name}` needs no run.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {key} | {text} |" for key, text in rows.items()),
        "",
        "## Configuration of its run",
        "",
        f"```yaml\n{recipe}\n```",
    ]
    return "\n".join(lines) + "\n"


def _recipe(path: Path) -> str:
    """Returns the configuration of a run without the folder it was in.

    Raises:
        CheckpointError: if it cannot be read.
    """
    try:
        lines = read_text_file(path, at_most=MOST_BYTES).strip().splitlines()
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({reason(error)})") from error
    except ValueError as error:
        raise CheckpointError(f"{path}: no text ({error})") from error
    return "\n".join(line for line in lines if not line.startswith("run_dir:"))
