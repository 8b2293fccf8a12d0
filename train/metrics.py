"""TensorBoard and `log.jsonl`: the only module that knows either. README.md lists the tags."""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from torch.utils.tensorboard.writer import SummaryWriter

from train.run_folder import write_errors


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
        self._board_path = run_dir / "tensorboard"
        self._log_path = run_dir / "log.jsonl"
        self._last_step = max(0, first_step - 1)  # step 0 is for `baseline`
        with write_errors(self._log_path):
            self._log = self._log_path.open("ab+")
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


def _end_last_line(file: BinaryIO) -> None:
    """Ends the line that a full disk or a power cut has broken off, so that the next is its own."""
    if file.tell() == 0:
        return
    file.seek(-1, os.SEEK_END)
    if file.read() != b"\n":
        file.write(b"\n")
