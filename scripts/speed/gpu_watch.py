"""How busy the GPUs are while something runs, by all processes together."""

import subprocess
from statistics import fmean
from types import TracebackType
from typing import Self

_PERIOD_MS = 200
# The share of the time in which a kernel was running, in percent, a line per GPU and period.
_COMMAND = (
    "nvidia-smi",
    "--query-gpu=utilization.gpu",
    "--format=csv,noheader,nounits",
    f"--loop-ms={_PERIOD_MS}",
)


class GpuWatch:
    """Looks at all GPUs while its context lasts, by the driver's own program.

    Events in the streams of one process would not do: its streams run side by side, and other
    actors have processes of their own.

    Attributes:
        share: share of the time in which a kernel was running, mean over the GPUs; None where no
            driver tells it, or for less than a few tenths of a second.
    """

    def __init__(self) -> None:
        """Knows nothing yet."""
        self.share: float | None = None
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Starts to look."""
        try:
            self._process = subprocess.Popen(
                _COMMAND, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        except OSError:  # no driver of NVIDIA's here
            self._process = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends it and takes the mean."""
        if self._process is None:
            return
        self._process.terminate()
        output, _ = self._process.communicate()
        # The driver may not know ("[N/A]", on a part of a GPU), and the last line may be cut short.
        lines = output.rpartition("\n")[0].splitlines()
        percents = [int(line) for line in lines if line.strip().isdigit()]
        self.share = fmean(percents) / 100 if percents else None
