"""`collect_report`: everything that the report of a run shows, as plain data."""

import logging
from pathlib import Path

import numpy as np

from alphago.errors import CheckpointError
from alphago.files import CHECKPOINTS_FOLDER, reason
from alphago.players.loading import FoundNetwork, find_network, make_network_player
from alphago.types import Evaluator
from scripts.report_page import facts
from scripts.report_page.calibration import CALIBRATION_GAMES, calibration_of
from scripts.report_page.json_files import Json, text
from scripts.report_page.recorded_games import newest_records, spread_records
from scripts.report_page.run_log import RunLog, curves_of, read_log
from scripts.report_page.sample_games import board_of, sample_games
from scripts.report_page.strength import final_rating, gate_of, last_suite, read_ratings
from selfplay.record_store import record_files
from train.run_folder import RECORDS_FOLDER

_log = logging.getLogger(__name__)


def collect_report(run: Path, *, num_games: int) -> Json:
    """Collects what a run's folder holds. Nothing in it is changed; the run may be going on.

    Args:
        run: folder of the run.
        num_games: sample games to step through, at most.

    Returns:
        The data of the page, ready for JSON: numbers that are not finite are None. Values of sample
        games are in the view of player 0, those of the calibration in that of the player to move.

    Raises:
        CheckpointError: if a file that people or the run wrote cannot be understood.
        RecordError: if the folder of the records cannot be read.
    """
    config, config_text = facts.read_config(run)
    game_text, game = facts.game_of(run, config)
    log = read_log(run)
    found, evaluator = _load_network(run)
    files = record_files(run / RECORDS_FOLDER)
    ratings = read_ratings(run)
    samples = sample_games(game, spread_records(game, files, num_games), evaluator)
    _add_minutes(samples, log)
    return {
        "name": facts.path_text(run.resolve().name),
        "game": game_text,
        "about": facts.about_this_report(),
        "counters": facts.counters_of(run, log),
        "network": facts.network_of(config, found),
        "inference": facts.inference_of(log, config),
        "gate": gate_of(log, config),
        "suite": {"file": text(config["suite"].get("file")), "last": last_suite(log)},
        "rating": final_rating(ratings),
        "ratings": ratings,
        "curves": curves_of(log),
        "calibration": calibration_of(game, newest_records(game, files, CALIBRATION_GAMES)),
        "board": board_of(game),
        "samples": samples,
        "config": config_text,
        "sittings": facts.sittings_of(log),
        "files": facts.files_of(run),
        "num_unreadable_lines": log.num_unreadable,
    }


def _load_network(run: Path) -> tuple[FoundNetwork | None, Evaluator | None]:
    """Returns the best network of a run, and the same, exact, to be asked for its raw policy.

    Both are None before the first checkpoint, and with a warning where it is broken.
    """
    if not _has_checkpoint(run):
        return None, None
    for is_last in (False, True):  # a run that goes on may remove a checkpoint while it is read
        try:
            found = find_network(run, step=None)
            player = make_network_player(
                found, game=None, num_simulations=0, precision="fp32", name=str(run), seed=0
            )
            return found, player.evaluator
        except CheckpointError as error:
            if is_last:
                _log.warning("%s; the report goes without the network", error)
    return None, None


def _has_checkpoint(run: Path) -> bool:
    folder = run / CHECKPOINTS_FOLDER
    try:
        return any(path.name.isdigit() for path in folder.iterdir())
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be read: {reason(error)}") from error


def _add_minutes(samples: list[Json], log: RunLog) -> None:
    """Adds to each game when about it was played, by the number of games at each iteration."""
    logged = [(row.get("selfplay/games"), row.get("time/minutes")) for row in log.iterations]
    rows = [(games, minutes) for games, minutes in logged if None not in (games, minutes)]
    games, minutes = zip((0, 0.0), *rows, strict=True)
    for sample in samples:
        known = sample["number"] < games[-1]
        sample["minutes"] = float(np.interp(sample["number"], games, minutes)) if known else None
