"""Network players from the folders of runs and checkpoints.

A run keeps its checkpoints as `checkpoints/<step>/`, and in the text file `best` the name of the
one whose network was best. A checkpoint holds `weights.safetensors`, the network of that step, and
`best.safetensors`, the best one at that time; both play.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from alphago.errors import AlphagoError, CheckpointError, PlayerError
from alphago.files import (
    BEST_FILE,
    CHECKPOINTS_FOLDER,
    CONFIG_FILE,
    MANIFEST_FILE,
    mended_by_check,
    read_text_file,
    reason,
)
from alphago.games import make_game
from alphago.games.game import Game, GameSpec
from alphago.network.evaluator import EvaluatorConfig, NetworkEvaluator, choose_device
from alphago.network.inference import choose_backend
from alphago.network.network import NetworkConfig
from alphago.network.symmetric_evaluator import SymmetricEvaluator
from alphago.network.weights import NetworkInfo, load_player_network
from alphago.players.network_player import NetworkPlayer, as_seen
from alphago.search.config import SearchConfig
from alphago.types import UInt8Array, Weights
from alphago.yaml_files import read_yaml

# What a config.yaml written before these options existed does not say of search and evaluator.
_EARLIER_SEARCH: dict[str, Any] = {}
_EARLIER_EVALUATOR: dict[str, Any] = {
    "backend": "auto",
    "policy_kl_limit": 0.005,
    "value_error_limit": 0.02,
    "num_positions": 256,
}

_MOST_NAME_BYTES = 4096  # of the file that names the best checkpoint
NUM_SIMULATIONS = 400  # per move, where nothing else is said; self-play has far fewer
MOST_POSITIONS = 64  # to check precision on; a large network on a CPU takes its time for each

logger = logging.getLogger(__name__)

Step = int | str | None  # an optimiser step, "best", "latest", or None for whatever suits


class FoundNetwork(NamedTuple):
    """A network, and the checkpoint it was found in."""

    folder: Path
    info: NetworkInfo
    weights: Weights
    positions: UInt8Array | None  # see `alphago.network.load_player_network`
    which: Literal["weights", "best"]  # of the checkpoint's networks


class PlaySettings(NamedTuple):
    """What the configuration of a run says about how its networks play."""

    search: SearchConfig
    evaluator: EvaluatorConfig


def make_network_player(
    found: FoundNetwork,
    *,
    game: Game | None,
    num_simulations: int | None,
    precision: str | None,
    name: str,
    seed: int,
    num_symmetries: int = 1,
    seconds: float | None = None,
    constants: Mapping[str, float] = MappingProxyType({}),
) -> NetworkPlayer:
    """Makes the player of a network that was found.

    Args:
        found: the network; the configuration beside it is read.
        game: the game it has to play, None for its own. Its planes do not matter: the network
            sees those it has learnt from.
        num_simulations: per move, 0 for the raw policy; None for `NUM_SIMULATIONS`, or with
            `seconds` for as many as there is time and memory for.
        precision: of the network, see `EvaluatorConfig`; None for that of the run.
        num_symmetries: images of each position that the network is asked about.
        name: how the player is called in results.
        seed: of its random choices.
        seconds: time per move, None for any.
        constants: of the search, by their names in `SearchConfig`; the others are the run's.

    Returns:
        The player, on a GPU if there is one.

    Raises:
        PlayerError: if the network cannot play this game, the game has not so many symmetries,
            memory has no room for so many simulations, or int8 is asked for and there are no
            positions to calibrate it on.
        CheckpointError: if something is missing or broken.
    """
    try:
        own_game = make_game(found.info.game)
    except AlphagoError as error:
        raise CheckpointError(f"{found.folder}: {error}") from error
    if game is None:
        game = own_game
    check_plays(found.info.network, own_game.spec, game.spec, name=name)
    settings = read_play_settings(found.folder / CONFIG_FILE)
    if num_simulations is None and seconds is None:
        num_simulations = NUM_SIMULATIONS
    seen_game = as_seen(game, learnt=own_game)
    most = len(seen_game.spec.symmetries)
    if num_symmetries > most:
        allowed = f"an integer from 1 to {most} ({game.spec.name})"
        raise PlayerError(f"{name}: symmetries: got {num_symmetries}, allowed: {allowed}")
    network = load_evaluator(found, seen_game, settings.evaluator, precision=precision, name=name)
    is_plain = num_symmetries == 1
    return NetworkPlayer(
        game,
        network if is_plain else SymmetricEvaluator(network, num_symmetries=num_symmetries),
        search_config=replace(settings.search, **constants),
        num_simulations=num_simulations,
        name=name,
        seed=seed,
        seconds=seconds,
    )


def load_evaluator(
    found: FoundNetwork, game: Game, config: EvaluatorConfig, *, precision: str | None, name: str
) -> NetworkEvaluator:
    """Loads a network for the game as it sees it; warns where its precision is not the one wanted.

    Raises:
        PlayerError: if int8 is asked for and there are no positions to calibrate it on.
        CheckpointError: if the weights do not fit the network.
    """
    positions = _positions_for(game, found)
    if precision == "int8" and positions is None:
        raise PlayerError(
            f"{name}: precision: got int8, allowed: auto, bf16 or fp32, since {found.folder} has no"
            f" positions of {game.spec.name} to calibrate it on"
        )
    wanted = config.precision if precision is None else precision
    usable = usable_here(config) if precision is None else replace(config, precision=precision)
    evaluator = NetworkEvaluator(game, found.info.network, usable)
    try:
        evaluator.load_weights(found.weights, positions)
    except CheckpointError as error:  # which knows the weights alone
        raise CheckpointError(f"{found.folder}: {error}") from error
    if wanted not in ("auto", evaluator.inference.precision):
        logger.warning("%s: precision: got %s, plays with %s", name, wanted, evaluator.inference)
    return evaluator


def usable_here(config: EvaluatorConfig) -> EvaluatorConfig:
    """Returns a run's settings without an int8 that this machine's backend has not.

    What a run on a CPU asked for is no reason to refuse its network on a machine with a GPU.
    """
    backend = choose_backend(config.backend, choose_device(config.device))
    if config.precision == "int8" and backend == "torch":
        return replace(config, precision="auto")
    return config


def _positions_for(game: Game, found: FoundNetwork) -> UInt8Array | None:
    """Returns positions to check a network's precision on, if the checkpoint has any of the game.

    A network that plays every size of the board has learnt from one of them.
    """
    positions = found.positions
    if positions is None or positions.shape[1:] != game.spec.observation_shape:
        return None
    return positions[:MOST_POSITIONS]


def check_plays(network: NetworkConfig, own: GameSpec, wanted: GameSpec, *, name: str) -> None:
    """Raises unless a network can play a game; the rules may be others than it has learnt.

    Args:
        network: its sizes.
        own: the game it has learnt.
        wanted: the game it has to play.
        name: how the player is called.

    Raises:
        PlayerError: if the game is of another family, or has another board size than a network with
            fixed heads can play.
    """
    own_board, board = own.observation_shape[1:], wanted.observation_shape[1:]
    if own.family != wanted.family:
        raise PlayerError(f"{name}: plays {own.name}, but the game is {wanted.name}")
    if own_board != board and not network.fits_every_size:
        raise PlayerError(
            f"{name}: plays {own.name} alone (network.heads is {network.heads}),"
            f" but the game is {wanted.name}"
        )


def find_network(path: Path, *, step: Step) -> FoundNetwork:
    """Reads a network of a run or a checkpoint.

    Args:
        path: folder of either.
        step: an optimiser step, "best", "latest" or None. None is the best network of a run, if it
            has one, else the latest; of a checkpoint it is the network of that step.

    Returns:
        The network and where it was.

    Raises:
        PlayerError: if there is no network of this step.
        CheckpointError: if the folder is neither run nor checkpoint, or broken.
    """
    if (path / MANIFEST_FILE).exists():
        return _network_of_checkpoint(path, step=step)
    if not (path / CHECKPOINTS_FOLDER).is_dir():
        raise CheckpointError(
            f"{path}: is neither a run (no folder {CHECKPOINTS_FOLDER}) nor a checkpoint"
            f" (no file {MANIFEST_FILE})"
        )
    if step is None:
        step = "best" if (path / BEST_FILE).exists() else "latest"
    if step == "best":
        return _read(_best_checkpoint(path), which="best")
    return _read(_checkpoint_of_step(path, step=step), which="weights")


def read_play_settings(path: Path) -> PlaySettings:
    """Reads from a run's config.yaml how its networks play.

    Raises:
        CheckpointError: if the file is missing or lacks something.
    """
    try:
        config = read_yaml(path, error=CheckpointError)
        evaluator: dict[str, Any] = config["evaluator"]
        if evaluator["device"] == "cuda":
            evaluator["device"] = "auto"  # what was learnt on a GPU plays on any machine
        if evaluator.get("backend") == "openvino":
            evaluator["backend"] = "auto"  # as it is on a CPU; a GPU has none
        return PlaySettings(
            search=SearchConfig(**(_EARLIER_SEARCH | config["search"])),
            evaluator=EvaluatorConfig(**(_EARLIER_EVALUATOR | evaluator)),
        )
    except CheckpointError:
        raise
    except KeyError as error:
        raise CheckpointError(f"{path}: has no entry {error}") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(f"{path}: no configuration of a run ({error})") from error


def _network_of_checkpoint(folder: Path, *, step: Step) -> FoundNetwork:
    """Reads the network of one checkpoint; a number has to be its own step."""
    found = _read(folder, which="best" if step == "best" else "weights")
    if isinstance(step, int) and step != found.info.step:
        raise PlayerError(f"{folder}: step: got {step}, allowed: {found.info.step}, best or latest")
    return found


def _read(folder: Path, *, which: Literal["weights", "best"]) -> FoundNetwork:
    return FoundNetwork(folder, *load_player_network(folder, which=which), which=which)


def _best_checkpoint(run: Path) -> Path:
    """Returns the checkpoint that the file `best` of a run names."""
    pointer = run / BEST_FILE
    try:
        name = read_text_file(pointer, at_most=_MOST_NAME_BYTES).strip()
    except OSError as error:
        raise CheckpointError(f"{pointer}: cannot be read ({reason(error)})") from error
    except ValueError as error:
        raise CheckpointError(f"{pointer}: no text ({error})") from error
    if name not in {folder.name for folder in _checkpoints(run).values()}:
        raise CheckpointError(
            f"{pointer}: names the checkpoint {name[:40]!r}, which is not there;"
            f" {mended_by_check(run)}"
        )
    return run / CHECKPOINTS_FOLDER / name


def _checkpoint_of_step(run: Path, *, step: Step) -> Path:
    """Returns the checkpoint of a step, or the newest for "latest"."""
    checkpoints = _checkpoints(run)
    if not checkpoints:
        raise CheckpointError(f"{run}: has no checkpoint yet")
    wanted = max(checkpoints) if step == "latest" else step
    if not isinstance(wanted, int) or wanted not in checkpoints:
        allowed = ", ".join(map(str, sorted(checkpoints)))
        raise PlayerError(f"{run}: step: got {step}, allowed: {allowed}, best or latest")
    return checkpoints[wanted]


def _checkpoints(run: Path) -> dict[int, Path]:
    """Returns the folders of a run's checkpoints by step; half-written ones have other names."""
    try:
        folders = list((run / CHECKPOINTS_FOLDER).iterdir())
    except OSError as error:
        raise CheckpointError(f"{error.filename}: cannot be read ({reason(error)})") from error
    return {int(folder.name): folder for folder in folders if re.fullmatch("[0-9]+", folder.name)}
