"""The facts of a run and of its report: configuration, counters, network, files, versions."""

import dataclasses
import importlib.metadata
import os
from datetime import UTC, datetime
from pathlib import Path

import yaml

from alphago.errors import CheckpointError
from alphago.files import CHECKPOINTS_FOLDER, CONFIG_FILE
from alphago.games import Game, make_game
from alphago.network.precision import BITS
from alphago.players.loading import FoundNetwork
from alphago.yaml_files import read_bounded_yaml
from scripts.machine import describe_machine
from scripts.main import DISTRIBUTION
from scripts.report_page.json_files import Json, number, read_json, text
from scripts.report_page.run_log import LOG_FILE, RunLog
from train.config import GameConfig
from train.run_folder import RECORDS_FOLDER, STATE_FILE

_NO_PARAMETERS = ("running_mean", "running_var", "num_batches_tracked")  # of batch norm
_SECTIONS = (
    "game",
    "network",
    "evaluator",
    "gate",
    "suite",
    "yardstick",
)  # of a configuration, as shown
_CONTENTS = {  # of a run's folder, in this order
    CONFIG_FILE: "the whole configuration",
    STATE_FILE: "counters, newest and best checkpoint",
    LOG_FILE: "the numbers of every iteration",
    "best": "name of the checkpoint that was promoted last",
    CHECKPOINTS_FOLDER: "networks, and what is needed to go on",
    RECORDS_FOLDER: "finished games, from which the network learns",
    "games": "the newest games as SGF",
    "ratings": "matches and Elo ratings of the checkpoints",
    "tensorboard": "the same numbers for TensorBoard",
}


def read_config(run: Path) -> tuple[Json, str]:
    """Reads a run's configuration, which may lack what newer versions have.

    Returns:
        The sections that the page shows, empty where there is none; and the text of the file.

    Raises:
        CheckpointError: if it cannot be read or is no configuration.
    """
    path = run / CONFIG_FILE
    try:
        written = read_bounded_yaml(path, error=CheckpointError)
        config = yaml.safe_load(written)
    except CheckpointError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: no configuration of a run ({error})") from error
    if not isinstance(config, dict):
        raise CheckpointError(f"{path}: no configuration of a run (it is no mapping)")
    sections = {name: config.get(name) or {} for name in _SECTIONS}
    for name, section in sections.items():
        if not isinstance(section, dict):
            raise CheckpointError(f"{path}: {name}: got {section!r}, allowed: a mapping")
    if not text(sections["game"].get("name")):
        raise CheckpointError(f"{path}: no configuration of a run (it names no game)")
    return sections, written


def game_of(run: Path, config: Json) -> tuple[str, Game]:
    """Returns the game of a run, as text and as rules.

    Raises:
        CheckpointError: if this program has no such game.
    """
    names = [field.name for field in dataclasses.fields(GameConfig)]
    try:
        game_text = GameConfig(**(dict.fromkeys(names) | config["game"])).text
        return game_text, make_game(game_text)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{run / CONFIG_FILE}: game: {error}") from error


def counters_of(run: Path, log: RunLog) -> Json:
    """Returns iterations, steps, games and minutes so far, of which a young run has none.

    Iterations that were interrupted before they did anything do not count. Where `state.json` is
    newer than the log, or the other way round, the larger number counts.
    """
    last = log.iterations[-1] if log.iterations else {}
    state = read_json(run / STATE_FILE) or {}

    def largest(logged: float | None, kept: object) -> float:
        return max(logged or 0, number(kept) or 0)

    return {
        "iterations": max(
            len(log.iterations), (number(state.get("iteration")) or 0) - log.num_idle
        ),
        "steps": largest(last.get("step"), state.get("step")),
        "games": largest(last.get("selfplay/games"), state.get("games")),
        "minutes": max(last.get("time/minutes") or 0, (number(state.get("seconds")) or 0) / 60),
        "best": text(state.get("best")),
    }


def network_of(config: Json, found: FoundNetwork | None) -> Json:
    """Returns the sizes of a run's network; the number of parameters once there is a checkpoint."""
    sizes = config["network"]
    num_parameters = None
    if found is not None:
        arrays = found.weights.items()
        num_parameters = sum(a.size for name, a in arrays if not name.endswith(_NO_PARAMETERS))
    return {
        "num_blocks": number(sizes.get("num_blocks")),
        "num_channels": number(sizes.get("num_channels")),
        "num_parameters": num_parameters,
        "step": None if found is None else found.info.step,
    }


def inference_of(log: RunLog, config: Json) -> Json:
    """Returns the precision in which self-play evaluated networks last, and its errors."""
    told = (row for row in reversed(log.iterations) if row.get("inference/bits") is not None)
    last = next(told, {})
    bits = last.get("inference/bits")
    return {
        "precision": next((name for name in BITS if BITS[name] == bits), None),
        "wanted": text(config["evaluator"].get("precision")),
        "policy_kl": last.get("inference/policy_kl"),
        "value_error": last.get("inference/value_error"),
    }


def files_of(run: Path) -> list[Json]:
    """Returns what lies in a run's folder: name, what it is, number of files, bytes."""
    found = []
    for name, meaning in _CONTENTS.items():
        path = run / name
        if path.exists():
            count, size = _size(path)
            found.append({"name": name, "meaning": meaning, "files": count, "bytes": size})
    return found


def path_text(path: str | Path) -> str:
    """Returns a path as people read it: names of files are bytes, which need not be UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def about_this_report() -> Json:
    """Returns when, where and with which versions the report is made."""
    machine = describe_machine()
    version = importlib.metadata.version(DISTRIBUTION)
    return {"time": _utc(datetime.now(UTC)), "alphago": version, **machine}


def sittings_of(log: RunLog) -> list[Json]:
    """Returns when each process began to work on the run, and where."""
    return [
        {
            "time": _when(sitting.get("time")),
            "step": sitting.get("step"),
            "games": sitting.get("games"),
        }
        for sitting in log.sittings
    ]


def _utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _when(seconds: float | None) -> str:
    """Returns a time of the log, nothing where it holds none that a calendar has."""
    try:
        return "" if seconds is None else _utc(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def _size(path: Path) -> tuple[int, int]:
    """Returns the number of files and their bytes; a run that goes on may remove some meanwhile."""
    count = size = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        try:
            if file.is_file():
                size += file.stat().st_size
                count += 1
        except FileNotFoundError:
            continue
    return count, size
