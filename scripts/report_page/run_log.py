"""What `log.jsonl` of a run says, in the order in which it happened."""

from pathlib import Path
from typing import NamedTuple, TypeAlias

from alphago.errors import CheckpointError
from alphago.files import MIB, read_file, reason
from scripts.report_page.json_files import Json, number, parse_json

LOG_FILE = "log.jsonl"
_MOST_BYTES = 1024 * MIB
MAX_ROWS = 400  # iterations a page shows; of longer runs evenly spaced ones, the last included

Numbers: TypeAlias = dict[str, float | None]  # of a line by key; None where it holds no number

_COUNTERS = {"minutes": "time/minutes", "steps": "step", "games": "selfplay/games"}
_NO_TAGS = {"time", "step"}
_RESULTS = (
    "gate/",
    "suite/",
    "yardstick/",
)  # tags of what an iteration may have done beside play and learning
_SPEED = "selfplay/positions_per_s"
_RATES = (  # of self-play, which are 0 and say nothing where nothing was played
    _SPEED,
    "selfplay/evaluations_per_s",
    "selfplay/simulations_per_s",
    "selfplay/evaluation_share",
)


class RunLog(NamedTuple):
    """The lines of a log by kind, of which everything but the kind is a number.

    Attributes:
        sittings: where each process began.
        baseline: the suite before learning, None without one.
        iterations: those that count, oldest first; what an interrupted process logged after the
            checkpoint from which the next one went on is left out, and so are idle ones.
        num_idle: iterations that were interrupted before they did anything.
        num_unreadable: lines that are none, such as one that is being written.
    """

    sittings: list[Numbers]
    baseline: Numbers | None
    iterations: list[Numbers]
    num_idle: int
    num_unreadable: int


def read_log(run: Path) -> RunLog:
    """Reads the log of a run, which may be going on; a run that has just begun has none.

    Raises:
        CheckpointError: if it cannot be read.
    """
    path = run / LOG_FILE
    try:
        lines = read_file(path, at_most=_MOST_BYTES).splitlines()
    except FileNotFoundError:
        lines = []
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {reason(error)}") from error
    events = [_read_event(line) for line in lines if line.strip()]
    readable = [event for event in events if event is not None]
    return _sort(readable, num_unreadable=len(events) - len(readable))


def curves_of(log: RunLog) -> Json:
    """Returns the numbers of all iterations as columns.

    Returns:
        `x`: minutes, steps and games of each row. `tags`: the column of each tag. `num_iterations`:
        of the run, of which there may be fewer rows. A baseline is the first row.
    """
    rows = [_iteration_row(iteration) for iteration in _thin(log.iterations)]
    if log.baseline is not None:
        rows.insert(0, _baseline_row(log.baseline))
    tags = sorted({tag for row in rows for tag in row} - _COUNTERS.keys())
    return {
        "x": {name: [row.get(name) for row in rows] for name in _COUNTERS},
        "tags": {tag: [row.get(tag) for row in rows] for tag in tags},
        "num_iterations": len(log.iterations),
    }


def _read_event(line: bytes) -> tuple[str, Numbers] | None:
    """Returns the kind of a line, and its numbers."""
    try:
        event = parse_json(line)
    except ValueError:  # a UnicodeDecodeError is one
        return None
    if not (isinstance(event, dict) and isinstance(event.get("event"), str)):
        return None
    kind = event.pop("event")
    return kind, {key: number(value) for key, value in event.items()}


def _sort(events: list[tuple[str, Numbers]], *, num_unreadable: int) -> RunLog:
    sittings: list[Numbers] = []
    iterations: list[Numbers] = []
    baseline = None
    for kind, numbers in events:
        step = numbers.get("step")
        if kind == "sitting":
            sittings.append(numbers)
            iterations = [row for row in iterations if (row["step"] or 0) <= (step or 0)]
        elif kind == "baseline":
            baseline = numbers
        elif kind == "iteration" and step is not None:
            iterations.append(numbers)
    busy = _without_idle(iterations)
    return RunLog(sittings, baseline, busy, len(iterations) - len(busy), num_unreadable)


def _without_idle(iterations: list[Numbers]) -> list[Numbers]:
    """Leaves out iterations without a new game, a step or a result."""
    busy = []
    before: tuple[float, float] = (0, 0)
    for row in iterations:
        now = (row["step"] or 0, row.get(_COUNTERS["games"]) or 0)
        if now != before or any(tag.startswith(_RESULTS) for tag in row):
            busy.append(row)
        before = now
    return busy


def _thin(rows: list[Numbers]) -> list[Numbers]:
    """Returns at most MAX_ROWS of the iterations, evenly spaced."""
    if len(rows) <= MAX_ROWS:
        return rows
    last = len(rows) - 1
    return [rows[round(row * last / (MAX_ROWS - 1))] for row in range(MAX_ROWS)]


def _iteration_row(iteration: Numbers) -> Numbers:
    counters = {name: iteration.get(key) for name, key in _COUNTERS.items()}
    without = {} if iteration.get(_SPEED) else dict.fromkeys(iteration.keys() & set(_RATES))
    return counters | {tag: iteration[tag] for tag in iteration.keys() - _NO_TAGS} | without


def _baseline_row(baseline: Numbers) -> Numbers:
    suite = {tag: baseline[tag] for tag in baseline.keys() - _NO_TAGS}
    return {"minutes": suite.get("suite/minutes") or 0.0, "steps": 0, "games": 0, **suite}
