"""The facts of a run and of its report: configuration, counters, network, files, versions."""

import dataclasses
import importlib.metadata
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from alphago.errors import CheckpointError
from alphago.files import CHECKPOINTS_FOLDER, CONFIG_FILE, reason
from alphago.games import Game, make_game
from alphago.network.precision import BITS
from alphago.players.loading import FoundNetwork
from scripts.machine import describe_machine
from scripts.main import DISTRIBUTION
from scripts.report_page.run_log import LOG_FILE, Json, RunLog
from train.config import GameConfig
from train.run_folder import RECORDS_FOLDER, STATE_FILE

_NO_PARAMETERS = ("running_mean", "running_var", "num_batches_tracked")  # of batch norm
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
        The values, and the text of the file.

    Raises:
        CheckpointError: if it cannot be read or is no configuration.
    """
    path = run / CONFIG_FILE
    try:
        text = path.read_text(encoding="utf-8")
        config = yaml.safe_load(text)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {reason(error)}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise CheckpointError(f"{path}: no configuration of a run ({error})") from error
    if not (isinstance(config, dict) and isinstance(config.get("game"), dict)):
        raise CheckpointError(f"{path}: no configuration of a run (it names no game)")
    return config, text


def game_of(run: Path, config: Json) -> tuple[str, Game]:
    """Returns the game of a run, as text and as rules.

    Raises:
        CheckpointError: if this program has no such game.
    """
    names = [field.name for field in dataclasses.fields(GameConfig)]
    try:
        text = GameConfig(**(dict.fromkeys(names) | config["game"])).text
        return text, make_game(text)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{run / CONFIG_FILE}: game: {error}") from error


def counters_of(run: Path, log: RunLog) -> Json:
    """Returns iterations, steps, games and minutes so far, of which a young run has none.

    Where `state.json` is newer than the log, or the other way round, the larger number counts.
    """
    last = log.iterations[-1] if log.iterations else {}
    state = _read_state(run / STATE_FILE)
    seconds = state.get("seconds")
    return {
        "iterations": max(len(log.iterations), _number(state.get("iteration"))),
        "steps": max(_number(last.get("step")), _number(state.get("step"))),
        "games": max(_number(last.get("selfplay/games")), _number(state.get("games"))),
        "minutes": max(_number(last.get("time/minutes")), _number(seconds) / 60),
        "best": state.get("best"),
    }


def network_of(config: Json, found: FoundNetwork | None) -> Json:
    """Returns the sizes of a run's network; the number of parameters once there is a checkpoint."""
    sizes = config.get("network") or {}
    num_parameters = None
    if found is not None:
        arrays = found.weights.items()
        num_parameters = sum(a.size for name, a in arrays if not name.endswith(_NO_PARAMETERS))
    return {
        "num_blocks": sizes.get("num_blocks"),
        "num_channels": sizes.get("num_channels"),
        "num_parameters": num_parameters,
        "step": None if found is None else found.info.step,
    }


def inference_of(log: RunLog, config: Json) -> Json:
    """Returns the precision in which self-play evaluated the newest network, and its errors."""
    last = log.iterations[-1] if log.iterations else {}
    bits = last.get("inference/bits")
    return {
        "precision": next((name for name in BITS if BITS[name] == bits), None),
        "wanted": (config.get("evaluator") or {}).get("precision"),
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


def about_this_report() -> Json:
    """Returns when, where and with which versions the report is made."""
    machine = describe_machine()
    version = importlib.metadata.version(DISTRIBUTION)
    return {"time": _utc(datetime.now(UTC)), "alphago": version, **machine}


def sittings_of(log: RunLog) -> list[Json]:
    """Returns when each process began to work on the run, and where."""
    return [
        {
            "time": _utc(datetime.fromtimestamp(sitting["time"], UTC)) if "time" in sitting else "",
            "step": sitting.get("step"),
            "games": sitting.get("games"),
        }
        for sitting in log.sittings
    ]


def _utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _read_state(path: Path) -> dict[str, Any]:
    """Reads `state.json`, nothing where the run has just begun."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {reason(error)}") from error
    except ValueError as error:
        raise CheckpointError(f"{path}: no JSON ({error})") from error
    return state if isinstance(state, dict) else {}


def _number(value: object) -> float:
    """Returns a number of a file, 0 where it holds none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else 0  # type: ignore[return-value]


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
