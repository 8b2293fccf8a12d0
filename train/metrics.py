"""TensorBoard and `log.jsonl`: the only module that writes them. README.md lists the tags."""

import io
import json
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.record_writer import RecordWriter
from torch.utils.tensorboard import summary

from alphago.files import refuse_links
from train.run_folder import write_errors

_BOARD_FOLDER = "tensorboard"
_RATINGS_FOLDER = "ratings"  # in it, for curves that are written anew each time
_EVENT_FILE = re.compile(r"events\.out\.tfevents\.(\d+)\.")
_FILE_VERSION = "brain.Event:2"
_RECORD_FRAME = 8 + 4 + 4  # bytes of a TFRecord beside its data


class MetricsWriter:
    """Writes the numbers of a run. Every tag gets at most one value per optimiser step.

    Whatever is written is in the file when a method returns. TensorBoard's own writer has a thread
    for it, in which a full disk would go unnoticed for a while, and end in a traceback.
    """

    def __init__(self, run_dir: Path, *, first_step: int) -> None:
        """Begins a file for TensorBoard, and ends a line of the log that was broken off.

        Args:
            run_dir: folder of the run.
            first_step: TensorBoard forgets what an earlier, interrupted sitting logged from this
                step on, so that curves do not run backwards after a resume.

        Raises:
            CheckpointError: if one cannot be written, as from all methods.
        """
        self._log_path = run_dir / "log.jsonl"
        self._last_step = max(0, first_step - 1)  # step 0 is for `baseline`
        with write_errors(self._log_path), _open_to_append(self._log_path) as file:
            _end_last_line(file)
        folder = run_dir / _BOARD_FOLDER
        with write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._board_path = _next_event_file(folder)
        self._draw(_beginning(first_step))

    def event(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Appends one line to `log.jsonl`."""
        line = {"time": round(time.time(), 3), "event": kind, **fields}
        _append(self._log_path, f"{json.dumps(line)}\n".encode())

    def scalars(self, step: int, values: Mapping[str, float]) -> bool:
        """Logs numbers at an optimiser step; a second call for a step goes to the log alone.

        Returns:
            Whether TensorBoard shows them, and has room for a text and a picture of this step.
        """
        self.event("iteration", {"step": step, **values})
        if step <= self._last_step:
            return False
        self._last_step = step
        self._draw(_scalars(step, values))
        return True

    def baseline(self, values: Mapping[str, float]) -> None:
        """Logs numbers of the untrained network, at step 0."""
        self.event("baseline", {"step": 0, **values})
        self._draw(_scalars(0, values))

    def text(self, step: int, tag: str, text: str) -> None:
        """Logs preformatted text, such as a sample game."""
        block = "\n".join("    " + line for line in text.splitlines())
        self._draw([_event(step, summary.text(tag, block))])  # type: ignore[no-untyped-call]

    def image(self, step: int, tag: str, pixels: npt.NDArray[np.uint8]) -> None:
        """Logs a picture, uint8 [height, width, 3]."""
        content = summary.image(tag, pixels, dataformats="HWC")  # type: ignore[no-untyped-call]
        self._draw([_event(step, content)])

    def _draw(self, events: Iterable[Event]) -> None:
        _append(self._board_path, _records(events))


def _append(path: Path, data: bytes) -> None:
    """Adds bytes to a file."""
    with write_errors(path), _open_to_append(path) as file:
        file.write(data)


def _open_to_append(path: Path) -> BinaryIO:
    """Opens a file of the run to be read and added to."""
    return open(path, "ab+", opener=refuse_links)


def _next_event_file(folder: Path) -> Path:
    """Returns the path of a new event file, behind all others by its name.

    TensorBoard reads them in this order, which the clock would break where it was set back.
    """
    names = [_EVENT_FILE.match(path.name) for path in folder.iterdir()]
    newest = max((int(name[1]) for name in names if name), default=0)
    seconds = max(int(time.time()), newest + 1)
    return folder / f"events.out.tfevents.{seconds:010d}.{socket.gethostname()}.{os.getpid()}"


def _records(events: Iterable[Event]) -> bytes:
    """Returns events as they stand in an event file."""
    stream = io.BytesIO()
    writer = RecordWriter(stream)
    for event in events:
        writer.write(event.SerializeToString())
    return stream.getvalue()


def _beginning(first_step: int) -> Iterator[Event]:
    """Returns what begins an event file, and makes TensorBoard forget all from a step on."""
    now = time.time()  # of each: TensorBoard takes the earliest for the start of the run
    yield Event(wall_time=now, file_version=_FILE_VERSION)
    yield Event(wall_time=now, step=first_step, session_log=SessionLog(status=SessionLog.START))


def _event(step: int, content: Any) -> Event:
    """Returns the event of a summary."""
    return Event(wall_time=time.time(), step=step, summary=content)


def _scalars(step: int, values: Mapping[str, float]) -> Iterator[Event]:
    for tag, value in values.items():
        yield _event(step, summary.scalar(tag, value))  # type: ignore[no-untyped-call]


def _end_of_records(file: BinaryIO) -> int:
    """Returns where the last whole record of an event file ends (TFRecord: length, CRC, data, CRC).

    Whatever follows the part of one could not be read.
    """
    size, end = file.seek(0, os.SEEK_END), 0
    while end + _RECORD_FRAME <= size:
        file.seek(end)
        length = int.from_bytes(file.read(8), "little")
        if end + _RECORD_FRAME + length > size:
            break
        end += _RECORD_FRAME + length
    return end


def _end_last_line(file: BinaryIO) -> None:
    """Ends the line that a full disk or a power cut has broken off, so that the next is its own."""
    if file.tell() == 0:
        return
    file.seek(-1, os.SEEK_END)
    if file.read() != b"\n":
        file.write(b"\n")


class RatedCheckpoint(NamedTuple):
    """A checkpoint and its rating."""

    step: int  # optimiser steps
    games: int  # finished games of the run
    minutes: float  # wall time of the run
    elo: float
    low: float  # lower end of the 95 % interval
    high: float  # upper end
    has_fallen: bool  # whether it is weaker than an earlier one, by more than chance

    @property
    def seconds(self) -> float:
        """Wall time of the run: in minutes, checkpoints of a short run would share a point."""
        return 60 * self.minutes


class _Curve(NamedTuple):
    """Tags of the ratings over one axis."""

    axis: str  # field or property of `RatedCheckpoint`
    elo: str
    low: str
    high: str


_CURVES = (
    _Curve("step", "elo/steps", "elo/steps_low", "elo/steps_high"),
    _Curve("games", "elo/games", "elo/games_low", "elo/games_high"),
    _Curve("seconds", "elo/seconds", "elo/seconds_low", "elo/seconds_high"),
)


def write_rating_curves(run_dir: Path, rated: Sequence[RatedCheckpoint]) -> None:
    """Writes the curves of a run's ratings for TensorBoard, all of them anew.

    New games change the ratings of old checkpoints too. So the curves have a file of their own, and
    each writing begins with what makes TensorBoard forget all before it. The file is added to and
    never replaced: a TensorBoard that is open would wait for ever at the end of a file that is
    gone. Places on an axis are integers; where two checkpoints share one, the later is drawn.

    Args:
        run_dir: folder of the run.
        rated: the checkpoints, oldest first.

    Raises:
        CheckpointError: if the file cannot be written.
    """
    path = run_dir / _BOARD_FOLDER / _RATINGS_FOLDER / "events.out.tfevents.0"
    written = _records([*_beginning(0), *_rating_events(rated)])
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _open_to_append(path) as file:
            file.truncate(_end_of_records(file))  # a killed process may have left a part of one
            file.write(written)


def _rating_events(rated: Sequence[RatedCheckpoint]) -> Iterator[Event]:
    """Returns curves over all three axes, a chart of each with its interval, and the alarm."""
    charts = {curve.axis: ["Margin", [curve.elo, curve.low, curve.high]] for curve in _CURVES}
    yield _event(0, summary.custom_scalars({"Elo": charts}))  # type: ignore[no-untyped-call]
    for curve in _CURVES:
        points = {round(getattr(each, curve.axis)): each for each in rated}
        for place, each in points.items():
            yield from _scalars(
                place, {curve.elo: each.elo, curve.low: each.low, curve.high: each.high}
            )
    for each in rated:
        yield from _scalars(each.step, {"elo/alarm": float(each.has_fallen)})
