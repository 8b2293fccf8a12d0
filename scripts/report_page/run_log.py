"""What `log.jsonl` of a run says, in the order in which it happened."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from alphago.errors import CheckpointError
from alphago.files import reason

LOG_FILE = "log.jsonl"
MAX_ROWS = 400  # iterations a page shows; of longer runs evenly spaced ones, the last included

Json: TypeAlias = dict[str, Any]
Columns: TypeAlias = dict[str, list[float | None]]  # one number per row, None where there is none

_COUNTERS = {"minutes": "time/minutes", "steps": "step", "games": "selfplay/games"}
_NO_TAGS = {"time", "event", "step"}


class RunLog(NamedTuple):
    """The lines of a log by kind.

    Attributes:
        sittings: where each process began.
        baseline: the suite before learning, None without one.
        iterations: those that count, oldest first; what an interrupted process logged after the
            checkpoint from which the next one went on is left out.
        num_unreadable: lines that are no JSON, such as one that is being written.
    """

    sittings: list[Json]
    baseline: Json | None
    iterations: list[Json]
    num_unreadable: int


def read_log(run: Path) -> RunLog:
    """Reads the log of a run, which may be going on; a run that has just begun has none.

    Raises:
        CheckpointError: if it cannot be read.
    """
    path = run / LOG_FILE
    try:
        lines = path.read_bytes().splitlines()
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
    rows = [_iteration_row(event) for event in _thin(log.iterations)]
    if log.baseline is not None:
        rows.insert(0, _baseline_row(log.baseline))
    tags = sorted({tag for row in rows for tag in row} - _COUNTERS.keys())
    return {
        "x": {name: [row.get(name) for row in rows] for name in _COUNTERS},
        "tags": {tag: [row.get(tag) for row in rows] for tag in tags},
        "num_iterations": len(log.iterations),
    }


def _read_event(line: bytes) -> Json | None:
    """Reads a line; numbers that are not finite become None, as JSON has no others."""
    try:
        event = json.loads(line, parse_constant=lambda text: None)
    except ValueError:  # a UnicodeDecodeError is one
        return None
    if not (isinstance(event, dict) and isinstance(event.get("event"), str)):
        return None
    return {key: None if _is_infinite(value) else value for key, value in event.items()}


def _is_infinite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)  # 1e999 is read as infinity


def _sort(events: list[Json], *, num_unreadable: int) -> RunLog:
    sittings: list[Json] = []
    iterations: list[Json] = []
    baseline = None
    for event in events:
        if event["event"] == "sitting":
            sittings.append(event)
            begun_at = _number(event.get("step")) or 0
            iterations = [row for row in iterations if row["step"] <= begun_at]
        elif event["event"] == "baseline":
            baseline = event
        elif event["event"] == "iteration" and isinstance(event.get("step"), int):
            iterations.append(event)
    return RunLog(sittings, baseline, iterations, num_unreadable)


def _thin(events: list[Json]) -> list[Json]:
    """Returns at most MAX_ROWS of the events, evenly spaced."""
    if len(events) <= MAX_ROWS:
        return events
    last = len(events) - 1
    return [events[round(row * last / (MAX_ROWS - 1))] for row in range(MAX_ROWS)]


def _iteration_row(event: Json) -> dict[str, float | None]:
    counters = {name: _number(event.get(key)) for name, key in _COUNTERS.items()}
    return counters | {tag: _number(event[tag]) for tag in event.keys() - _NO_TAGS}


def _baseline_row(event: Json) -> dict[str, float | None]:
    suite = {tag: _number(event[tag]) for tag in event.keys() - _NO_TAGS}
    return {"minutes": suite.get("suite/minutes") or 0.0, "steps": 0, "games": 0, **suite}


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]
