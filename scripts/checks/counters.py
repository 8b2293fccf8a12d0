"""Checks the small files of a run against its checkpoints and games."""

from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from alphago.errors import AlphagoError, CheckpointError
from alphago.files import BROKEN_FOLDER, CHECKPOINTS_FOLDER, reason, set_aside
from scripts.checks.checkpoints import CheckedCheckpoint, SoundCheckpoint, sound_ones
from scripts.checks.findings import FAULT, NOTE, Finding, Repair
from scripts.report_page.json_files import Json, read_json
from scripts.report_page.run_log import LOG_FILE, RunLog, read_log
from train.run_folder import SITTINGS_FILE, STATE_FILE, read_sittings, write_text

_MADE_ANEW = "the next checkpoint of the run writes it anew"
# Keys of the log that never fall, with their names in words.
_RISING = {"step": "steps", "selfplay/games": "games", "time/minutes": "minutes"}


class Summary(NamedTuple):
    """What `state.json` says, None where it is missing; or why it cannot be read."""

    content: Json | None
    fault: str = ""


def read_summary(run: Path) -> Summary:
    """Reads `state.json`, before the checkpoints: a run may be saving one."""
    try:
        return Summary(read_json(run / STATE_FILE))
    except CheckpointError as error:
        return Summary(None, str(error).removeprefix(f"{run / STATE_FILE}: "))


def check_summary(
    run: Path, summary: Summary, checked: Sequence[CheckedCheckpoint]
) -> list[Finding]:
    """Compares `state.json` with the newest sound checkpoint."""
    sound = sound_ones(checked)
    if summary.fault:
        return [_bad_summary(run, summary.fault)]
    if not sound:
        return []
    if summary.content is None:
        return [Finding(NOTE, STATE_FILE, "missing", _MADE_ANEW)]
    return _compare_summary(run, summary.content, sound[-1], checked)


def _compare_summary(
    run: Path, summary: Json, newest: SoundCheckpoint, checked: Sequence[CheckedCheckpoint]
) -> list[Finding]:
    step, iteration = summary.get("step"), summary.get("iteration")
    if not isinstance(step, int) or not isinstance(iteration, int):
        return [_bad_summary(run, f"step and iteration: got {step!r} and {iteration!r}")]
    if step > newest.step:
        name = f"{step:08d}"
        # Broken, it was told already; set aside, it was repaired.
        is_known = any(each.name == name for each in checked)
        if is_known or (run / CHECKPOINTS_FOLDER / BROKEN_FOLDER / name).exists():
            what = f"tells of checkpoint {name}, which is broken"
            return [Finding(NOTE, STATE_FILE, what, _MADE_ANEW)]
        return [_bad_summary(run, f"tells of checkpoint {name}, which is gone")]
    if (step, iteration) < (newest.step, newest.state.counters.iteration):
        what = f"older than checkpoint {newest.name}"
        return [Finding(NOTE, STATE_FILE, what, _MADE_ANEW)]
    differing = [
        f"{name}: got {summary.get(name)!r}, checkpoint {newest.name} says {expected!r}"
        for name, expected in _summary_of(newest).items()
        if summary.get(name) != expected
    ]
    return [_bad_summary(run, "; ".join(differing))] if differing else []


def _summary_of(checkpoint: SoundCheckpoint) -> dict[str, object]:
    """Returns the entries of `state.json` that a checkpoint knows."""
    state = checkpoint.state
    # Runs saved before these were kept lack them.
    later = ("judged_step", "best_progress", "games_at_start", "step_at_start")
    counters = {name: n for name, n in vars(state.counters).items() if name not in later}
    return counters | {
        "games": state.num_games,
        "checkpoint": checkpoint.name,
        "best": state.best_checkpoint,
    }


def _bad_summary(run: Path, what: str) -> Finding:
    path = run / STATE_FILE

    def repair() -> str:
        try:
            return f"set aside as {set_aside(path).relative_to(run)}"
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be set aside: {reason(error)}") from error

    return Finding(FAULT, STATE_FILE, what, f"tools are misled until {_MADE_ANEW}", repair)


def check_sittings(run: Path, num_needed: int) -> list[Finding]:
    """Checks the count of processes that have worked on the run.

    Args:
        run: folder of the run.
        num_needed: processes that must have, by its games and its log.
    """
    write = _count_as(run, num_needed)
    try:
        count = read_sittings(run)
    except CheckpointError as error:
        what = str(error).removeprefix(f"{run / SITTINGS_FILE}: ")
        return [Finding(FAULT, SITTINGS_FILE, what, "`alphago resume` is refused", write)]
    if count >= num_needed:
        return []
    what = f"says that {count} processes have worked on the run; it must be {num_needed}"
    follows = "a run that goes on uses random streams again, and plays games twice"
    return [Finding(FAULT, SITTINGS_FILE, what, follows, write)]


def _count_as(run: Path, number: int) -> Repair:
    def repair() -> str:
        path, done = run / SITTINGS_FILE, f"says {number} now"
        try:
            if path.exists():
                done += f"; the old one set aside as {set_aside(path).relative_to(run)}"
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be set aside: {reason(error)}") from error
        write_text(path, f"{number}\n")
        return done

    return repair


def check_log(run: Path, sound: Sequence[SoundCheckpoint]) -> tuple[RunLog | None, list[Finding]]:
    """Checks that the counters of `log.jsonl` rise, up to those of the newest checkpoint.

    Args:
        run: folder of the run.
        sound: its sound checkpoints, oldest first, found before: a run logs an iteration first.

    Returns:
        The log, None where it cannot be read; and what was found.
    """
    try:
        log = read_log(run)
    except AlphagoError as error:
        what = str(error).removeprefix(f"{run / LOG_FILE}: ")
        return None, [Finding(FAULT, LOG_FILE, what, "a run that goes on stops")]
    findings = _unreadable_lines(log) + _falling_counters(log)
    last = max((row["step"] or 0 for row in log.iterations), default=0)
    if sound and last < sound[-1].step:
        what = f"ends at step {last:,.0f}, before checkpoint {sound[-1].name}"
        follows = "the report lacks these iterations; learning does not need them"
        findings.append(Finding(FAULT, LOG_FILE, what, follows))
    return log, findings


def _falling_counters(log: RunLog) -> list[Finding]:
    """Tells which counters fall.

    Of several iterations at a step only the first counts: of those that followed it, the process
    may have been stopped before it saved the last, and the next one goes on before it.
    """
    groups = groupby(log.iterations, key=lambda row: row["step"])
    rows = [next(group) for _, group in groups]
    findings = []
    for key, name in _RISING.items():
        numbers = [number for row in rows if (number := row.get(key)) is not None]
        fallen = [(before, after) for before, after in pairwise(numbers) if after < before]
        if fallen:
            first = "from {:,.6g} to {:,.6g}".format(*fallen[0])
            what = f"{name} fall {len(fallen)} times, first {first}"
            findings.append(Finding(FAULT, LOG_FILE, what, "its curves run backwards"))
    return findings


def _unreadable_lines(log: RunLog) -> list[Finding]:
    """Tells of lines that are none; each process may have been stopped in the middle of one."""
    if not log.num_unreadable:
        return []
    is_normal = log.num_unreadable <= len(log.sittings)
    what = f"{log.num_unreadable} lines cannot be read"
    follows = "broken off when a process was stopped" if is_normal else "curves lack them"
    return [Finding(NOTE if is_normal else FAULT, LOG_FILE, what, follows)]
