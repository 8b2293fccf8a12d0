"""TensorBoard and `log.jsonl`: the only module that knows either. README.md lists the tags."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch.utils.tensorboard.writer import SummaryWriter


class MetricsWriter:
    """Writes the numbers of a run. Every tag gets at most one value per optimiser step."""

    def __init__(self, run_dir: Path, *, first_step: int) -> None:
        """Opens both files for appending.

        Args:
            run_dir: folder of the run.
            first_step: TensorBoard forgets what an earlier, interrupted sitting logged from this
                step on, so that curves do not run backwards after a resume.
        """
        self._writer = SummaryWriter(str(run_dir / "tensorboard"), purge_step=first_step)
        self._log = (run_dir / "log.jsonl").open("a", encoding="utf-8")
        self._last_step = first_step - 1

    def event(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Appends one line to `log.jsonl`."""
        line = {"time": round(time.time(), 3), "event": kind, **fields}
        self._log.write(json.dumps(line, allow_nan=True) + "\n")
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
        for tag, value in values.items():
            self._writer.add_scalar(tag, value, step)
        self._writer.flush()
        return True

    def text(self, step: int, tag: str, text: str) -> None:
        """Logs preformatted text, such as a sample game."""
        block = "\n".join("    " + line for line in text.splitlines())
        self._writer.add_text(tag, block, step)

    def image(self, step: int, tag: str, pixels: npt.NDArray[np.uint8]) -> None:
        """Logs a picture, uint8 [height, width, 3]."""
        self._writer.add_image(tag, pixels, step, dataformats="HWC")

    def close(self) -> None:
        """Flushes and closes both files."""
        self._writer.close()
        self._log.close()
