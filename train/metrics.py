"""TensorBoard and `log.jsonl`: the only module that knows either. README.md lists the tags."""

import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from torch.utils.tensorboard.writer import SummaryWriter

from alphago.files import refuse_links
from train.run_folder import write_errors

_BOARD_FOLDER = "tensorboard"
_RATINGS_FOLDER = "ratings"  # in it, for curves that are written anew each time
_RECORD_FRAME = 8 + 4 + 4  # bytes of a TFRecord beside its data


class MetricsWriter:
    """Writes the numbers of a run. Every tag gets at most one value per optimiser step."""

    def __init__(self, run_dir: Path, *, first_step: int) -> None:
        """Opens both files for appending.

        Args:
            run_dir: folder of the run.
            first_step: TensorBoard forgets what an earlier, interrupted sitting logged from this
                step on, so that curves do not run backwards after a resume.

        Raises:
            CheckpointError: if one cannot be written, as from all methods.
        """
        self._board_path = run_dir / _BOARD_FOLDER
        self._log_path = run_dir / "log.jsonl"
        self._last_step = max(0, first_step - 1)  # step 0 is for `baseline`
        with write_errors(self._log_path):
            self._log = open(self._log_path, "ab+", opener=refuse_links)  # noqa: SIM115  # for long
            _end_last_line(self._log)
        with write_errors(self._board_path):
            self._writer = SummaryWriter(str(self._board_path), purge_step=first_step)

    def event(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Appends one line to `log.jsonl`."""
        line = {"time": round(time.time(), 3), "event": kind, **fields}
        with write_errors(self._log_path):
            self._log.write(f"{json.dumps(line)}\n".encode())
            self._log.flush()

    def scalars(self, step: int, values: Mapping[str, float]) -> bool:
        """Logs numbers at an optimiser step; a second call for a step goes to the log alone.

        Returns:
            Whether TensorBoard shows them, and has room for a text and a picture of this step.
        """
        self.event("iteration", {"step": step, **values})
        if step <= self._last_step:
            return False
        self._last_step = step
        self._draw(step, values)
        return True

    def baseline(self, values: Mapping[str, float]) -> None:
        """Logs numbers of the untrained network, at step 0."""
        self.event("baseline", {"step": 0, **values})
        self._draw(0, values)

    def text(self, step: int, tag: str, text: str) -> None:
        """Logs preformatted text, such as a sample game."""
        block = "\n".join("    " + line for line in text.splitlines())
        with write_errors(self._board_path):
            self._writer.add_text(tag, block, step)

    def image(self, step: int, tag: str, pixels: npt.NDArray[np.uint8]) -> None:
        """Logs a picture, uint8 [height, width, 3]."""
        with write_errors(self._board_path):
            self._writer.add_image(tag, pixels, step, dataformats="HWC")

    def _draw(self, step: int, values: Mapping[str, float]) -> None:
        with write_errors(self._board_path):
            for tag, value in values.items():
                self._writer.add_scalar(tag, value, step)
            self._writer.flush()

    def close(self) -> None:
        """Flushes and closes both files."""
        with write_errors(self._log_path):
            self._log.close()
        with write_errors(self._board_path):
            self._writer.close()


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
    with write_errors(path), tempfile.TemporaryDirectory() as elsewhere:
        writer = SummaryWriter(elsewhere, purge_step=0)
        _draw_ratings(writer, rated)
        writer.close()
        (written,) = Path(elsewhere).iterdir()
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab+", opener=refuse_links) as file:
            file.truncate(_end_of_records(file))  # a killed process may have left a part of one
            file.write(written.read_bytes())


def _draw_ratings(writer: SummaryWriter, rated: Sequence[RatedCheckpoint]) -> None:
    """Writes curves over all three axes, a chart of each with its interval, and the alarm."""
    charts = {curve.axis: ["Margin", [curve.elo, curve.low, curve.high]] for curve in _CURVES}
    writer.add_custom_scalars({"Elo": charts})
    for curve in _CURVES:
        points = {round(getattr(each, curve.axis)): each for each in rated}
        for place, each in points.items():
            writer.add_scalar(curve.elo, each.elo, place)
            writer.add_scalar(curve.low, each.low, place)
            writer.add_scalar(curve.high, each.high, place)
    for each in rated:
        writer.add_scalar("elo/alarm", float(each.has_fallen), each.step)
