"""Checks the folder of a run as a whole."""

import itertools
from pathlib import Path

from alphago.files import BROKEN_FOLDER, CHECKPOINTS_FOLDER
from alphago.games import make_game
from alphago.games.game import Game
from alphago.network.weights import read_info
from scripts.checks.checkpoints import (
    CheckedCheckpoint,
    check_best,
    check_checkpoints,
    find_faults,
    sound_ones,
)
from scripts.checks.config import check_config
from scripts.checks.counters import check_log, check_sittings, check_summary, read_summary
from scripts.checks.findings import NOTE, CheckResult, Finding, repair_all
from scripts.checks.records import check_records, find_lost_games
from scripts.progress_bar import Show
from selfplay.record_store import record_files
from train.checkpoint import find_checkpoints
from train.config import RunConfig
from train.run_folder import RECORDS_FOLDER, is_in_use, locked


def check_run(run: Path, *, show: Show) -> CheckResult:
    """Reads all of a run's folder and changes nothing in it; a process may be working on it.

    What such a process writes in one step is read in an order in which each thing is at least as
    new as what it is compared with.

    Args:
        run: the folder.
        show: told how much of the work is done.

    Raises:
        CheckpointError: if the folder, or its lock, cannot be read.
        RecordError: if the folder of the games cannot be read.
    """
    return _check(run, show=show, in_use=is_in_use(run))


def repair_run(run: Path, *, show: Show) -> CheckResult:
    """Checks the folder of a run, and sets aside what is broken, so that the run can go on.

    Args:
        run: the folder; nobody else can use it meanwhile.
        show: told how much of the work is done.

    Raises:
        CheckpointError: if a process works on the run, or something cannot be written.
        RecordError: likewise.
    """
    with locked(run):
        return repair_all(_check(run, show=show, in_use=False))


def _check(run: Path, *, show: Show, in_use: bool) -> CheckResult:
    summary = read_summary(run)
    folders = find_checkpoints(run / CHECKPOINTS_FOLDER)
    files = record_files(run / RECORDS_FOLDER)
    done = itertools.count()

    def tick(where: str) -> None:
        show(next(done), len(folders) + len(files), where)

    config, config_findings = check_config(run, folders)
    checked = check_checkpoints(folders, config, tick=tick)
    sound = sound_ones(checked)
    log, log_findings = check_log(run, sound)
    seed = None if config is None else config.seed
    games = check_records(run, files, game=_game_of(config, checked), seed=seed, tick=tick)
    num_sittings = max(games.num_sittings, 0 if log is None else len(log.sittings))
    findings = [
        *config_findings,
        *find_faults(run, checked, has_games=bool(files)),
        *check_best(run, checked),
        *games.findings,
        *find_lost_games(run, sound[-1].state.num_games if sound else 0),
        *check_summary(run, summary, checked),
        *log_findings,
        *check_sittings(run, num_sittings),
        *_set_aside_before(run),
    ]
    counts = {
        "checkpoints": len(checked),
        "files of games": len(files),
        "games": games.num_games,
        "iterations of the log": 0 if log is None else len(log.iterations),
    }
    return CheckResult(run, in_use, counts, findings)


def _game_of(config: RunConfig | None, checked: list[CheckedCheckpoint]) -> Game | None:
    """Returns the rules of a run; without a configuration those that a checkpoint tells."""
    if config is not None:
        return make_game(config.game.text)
    for each in reversed(checked):
        if each.state is not None:
            return make_game(read_info(each.folder).game)
    return None


def _set_aside_before(run: Path) -> list[Finding]:
    """Tells what earlier repairs, and runs that went on, have set aside."""
    findings = []
    for folder in (run, run / CHECKPOINTS_FOLDER, run / RECORDS_FOLDER):
        aside = folder / BROKEN_FOLDER
        number = sum(1 for _ in aside.iterdir()) if aside.is_dir() else 0
        if number:
            where = aside.relative_to(run).as_posix()
            what = f"{number} set aside earlier"
            findings.append(Finding(NOTE, where, what, "nothing reads it; it may be removed"))
    return findings
