"""A soak: a run under faults, one after the other, and what holds at its end."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from alphago.errors import TrainingError
from scripts.soak import invariants
from scripts.soak.disk import Disk, open_disk
from scripts.soak.harm import FATAL, HARMS, MissedError
from scripts.soak.observer import Counters, newest_counters
from scripts.soak.plan import KINDS, Fault, Kind, make_plan
from scripts.soak.sittings import HANG_S, START_S, Sitting, Sittings

_LAST_GAMES = 40  # that the run is to play beyond its faults
_TRIES = 3  # to make a fault
_SILENCE_LIMIT_MINUTES = 0.25

OPTIONS = (
    "network=tiny",
    "suite.file=null",
    "selfplay.num_actors=2",
    "selfplay.num_simulations=12",
    "selfplay.fast_num_simulations=6",
    "selfplay.num_games=16",
    "selfplay.max_restarts=6",
    f"selfplay.silence_limit_minutes={_SILENCE_LIMIT_MINUTES}",
    "games_per_iteration=60",
    "gate.num_games=4",
    "gate.num_simulations=8",
    "gate.opening_plies=2",
    "train.batch_size=32",
    "train.num_threads=1",
    "minutes=null",
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a soak is to do.

    Attributes:
        minutes: over which the faults are spread; it ends when all are made.
        num_faults: how many.
        seed: decides them.
        game: what the run learns.
        loop: of the run.
        folder: of the run, what it prints, and the report.
        only: kinds of faults that may be made; None for all.
    """

    minutes: float
    num_faults: int
    seed: int
    game: str
    loop: str
    folder: Path
    only: tuple[str, ...] | None


@dataclass
class Made:
    """A fault that was made.

    Attributes:
        kind: name of its kind.
        at_s: seconds since the beginning.
        ended: whether the process had to be started again.
        recovered_s: seconds until the next game was finished.
    """

    kind: str
    at_s: float
    ended: bool
    recovered_s: float


@dataclass(kw_only=True)
class Faults:
    """What became of the faults of a plan.

    Attributes:
        made: those that were made.
        missed: kinds of those that were not, though tried again and again.
    """

    made: list[Made] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class Result:
    """How a soak went.

    Attributes:
        seconds: how long it took.
        faults: what was made of the plan.
        left_out: kinds that cannot be made here, and why.
        sittings: the processes that worked on the run.
        counters: what the newest checkpoint says at the end.
        invariants: what must hold, each with all that speaks against it.
    """

    seconds: float
    faults: Faults
    left_out: dict[str, str]
    sittings: list[Sitting]
    counters: Counters | None
    invariants: dict[str, list[str]]

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against any invariant."""
        return not any(self.invariants.values())


def run_soak(settings: Settings, *, report: Callable[[str], None]) -> Result:
    """Runs training under faults.

    Args:
        settings: what to do.
        report: is told what happens, line by line.
    """
    began, shared_before = time.monotonic(), invariants.shared_memory()
    outputs = settings.folder / "output"
    outputs.mkdir(parents=True)
    with open_disk(settings.folder) as disk:
        kinds, left_out = possible_kinds(disk, only=settings.only)
        sittings = Sittings(
            disk=disk,
            outputs=outputs,
            options=[f"game={settings.game}", f"loop={settings.loop}", *OPTIONS],
            silence_limit_minutes=_SILENCE_LIMIT_MINUTES,
        )
        try:
            plan = make_plan(kinds, num_faults=settings.num_faults, seed=settings.seed)
            pace_s = 60 * settings.minutes / max(1, len(plan))
            faults = make_faults(sittings, plan, pace_s=pace_s, report=report)
            ends_well = finish(sittings)
        except BaseException:
            end_all(sittings)
            keep(sittings.run, settings.folder)
            raise
        end_all(sittings)
        found = check(sittings, game=settings.game, shared_before=shared_before)
        result = Result(
            seconds=time.monotonic() - began,
            faults=faults,
            left_out=left_out,
            sittings=sittings.ended,
            counters=newest_counters(sittings.run),
            invariants={"the run ends as it is configured to": ends_well, **found},
        )
        if not result.holds:
            keep(sittings.run, settings.folder)
        return result


def keep(run: Path, folder: Path) -> None:
    """Copies a run to where it can be looked at: its own disk goes at the end."""
    if run.is_dir():
        shutil.copytree(run, folder / "run")


def possible_kinds(
    disk: Disk, *, only: tuple[str, ...] | None
) -> tuple[list[Kind], dict[str, str]]:
    """Returns the kinds of faults that can be made here, and why the others cannot."""
    left_out = {}
    if not disk.may_be_filled:
        left_out["disk_full"] = "no disk may be mounted (be root, or use unshare -rm)"
    if not disk.may_be_frozen:
        left_out["disk_slow"] = "no disk of its own that can be frozen (be root, with fsfreeze)"
    if only is not None:
        chosen = {kind.name: "was not asked for" for kind in KINDS if kind.name not in only}
        left_out = {**chosen, **left_out}
    return [kind for kind in KINDS if kind.name not in left_out], left_out


def make_faults(
    sittings: Sittings, plan: list[Fault], *, pace_s: float, report: Callable[[str], None]
) -> Faults:
    """Makes the faults, each in a run that has finished a game since the last one."""
    began, faults = time.monotonic(), Faults()
    for number, fault in enumerate(plan):
        get_to_work(sittings)
        due_s = number * pace_s - (time.monotonic() - began)
        sittings.watch(max(fault.pause_s, due_s))
        at_s = make_fault(sittings, fault)
        if at_s is None:
            faults.missed.append(fault.kind)
            report(f"{number + 1} of {len(plan)}: {fault.kind} could not be made")
            continue
        has_ended = not sittings.wait_for_games(seconds=HANG_S)
        if has_ended:
            get_to_work(sittings)
        recovered_s = time.monotonic() - at_s
        faults.made.append(Made(fault.kind, at_s - began, has_ended, recovered_s))
        report(
            f"{number + 1} of {len(plan)}: {fault.kind}, works again after {recovered_s:.1f} s;"
            f" {sittings.observer.num_games} games"
        )
    return faults


def make_fault(sittings: Sittings, fault: Fault) -> float | None:
    """Tries to make a fault a few times, since a run may end by itself.

    Returns:
        The moment at which the try that succeeded began, None if none did.
    """
    for _ in range(_TRIES):
        get_to_work(sittings)
        began = time.monotonic()
        sittings.note_fault(fault.kind)
        try:
            HARMS[fault.kind](sittings, fault)
        except (MissedError, psutil.NoSuchProcess):  # it has just ended by itself
            continue
        if fault.kind in FATAL:
            sittings.wait_for_end()
        return began
    return None


def get_to_work(sittings: Sittings) -> None:
    """Starts a process unless one is at work, until it finishes games."""
    for _ in range(3):
        if sittings.is_at_work():
            return
        sittings.start()
        if sittings.wait_for_games(seconds=START_S):
            return
    raise TrainingError(f"the run does not start: {sittings.ended[-1].last_line}")


def finish(sittings: Sittings) -> list[str]:
    """Lets the run reach a limit on games; returns what is wrong with its end."""
    if sittings.is_at_work():
        sittings.note_fault("driver_terminated")
        HARMS["driver_terminated"](sittings, Fault("driver_terminated", 0.0, 0.0, 0.0))
        sittings.wait_for_end()
    limit = sittings.observer.num_games + _LAST_GAMES
    sittings.start(f"games={limit}")
    sittings.note_fault("limit")
    sittings.wait_for_end(seconds=START_S)
    text, code = sittings.driver.text(), sittings.ended[-1].code
    if code == 0 and f"stopped: games={limit} reached" in text:
        return []
    return [f"exit code {code}: {sittings.ended[-1].last_line}"]


def end_all(sittings: Sittings) -> None:
    """Ends the process at work, if the soak itself was stopped."""
    if sittings.is_at_work():
        sittings.driver.end()


def check(sittings: Sittings, *, game: str, shared_before: set[str]) -> dict[str, list[str]]:
    """Returns what must hold of a run that has ended, each with all that speaks against it."""
    observer = sittings.observer
    observer.look()
    left = invariants.processes_left(sittings.families)  # first: the 60 seconds count from now
    shared = invariants.shared_memory_left(shared_before)
    records, unread = invariants.all_records(observer)
    fallen = [fault for fault in observer.faults if " fell from " in fault]
    return {
        "every sitting ends as its fault allows, and none hangs": [
            fault for fault in observer.faults if fault not in fallen
        ],
        "no finished game is lost": invariants.lost_games(observer) + unread,
        "no game is stored twice": invariants.stored_twice(records),
        "every game replays by the rules": invariants.not_replayed(records, game_name=game),
        "counters never fall": fallen,
        "all checkpoints are sound": invariants.broken_checkpoints(sittings.run),
        "no process is left behind": left,
        "no shared memory and no folder of Ray is left behind": shared,
    }
