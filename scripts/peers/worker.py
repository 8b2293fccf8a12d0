"""A process that measures one runner, and the talk with it."""

import contextlib
import json
import os
import select
import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from scripts.arguments import one_line
from scripts.peers.environments import PeerError
from scripts.peers.tasks import OURS, Runner

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
WARM_UP_TIMEOUT_S = 1800  # loading, compiling and one piece of work
LATE_S = 600  # for the last piece of work, above the time asked for
END_TIMEOUT_S = 20

# One thread each; OpenMP's threads that wait sleep, and no GPU, which not all of them would use.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
}


class Sample(NamedTuple):
    """What a runner did in one stretch of time."""

    amount: float  # positions or simulations
    seconds: float  # wall time
    cpu_seconds: float  # of all its threads

    @property
    def per_second(self) -> float:
        """The amount per second of wall time."""
        return self.amount / self.seconds

    @property
    def core_share(self) -> float:
        """The share of the time that it had the core; below 1 other programs took the rest."""
        return self.cpu_seconds / self.seconds


class Worker:
    """A runner in a process of its own, warm and waiting; to be used in a `with` block.

    Attributes:
        computed_by: library and precision, in the runner's words.
    """

    computed_by: str

    def __init__(self, runner: Runner, *, python: Path, core: int, log: Path) -> None:
        """Starts the process and waits until it is warm.

        Args:
            runner: what it measures.
            python: of the runner's environment.
            core: the one it stays on.
            log: file for what it writes.

        Raises:
            PeerError: if it fails.
        """
        self._log = log
        words = [FOLDER / "serve.py", FOLDER / runner.file, core, json.dumps(runner.settings)]
        with log.open("w", encoding="utf-8") as output:
            try:
                self._process = subprocess.Popen(
                    [str(python), "-P", *map(str, words)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=output,
                    env=_environment(runner),
                    text=True,
                )
            except OSError as error:
                raise PeerError(f"{python}: {error.strerror}") from None
        try:
            self.computed_by = str(self._answer(timeout_s=WARM_UP_TIMEOUT_S)["computed_by"])
        except BaseException:
            self.close()
            raise

    def measure(self, seconds: float) -> Sample:
        """Works for this time, and until the last piece of work is done.

        Raises:
            PeerError: if it fails.
        """
        try:
            print(seconds, file=_pipe(self._process.stdin), flush=True)
        except BrokenPipeError:
            raise PeerError(f"it has ended; see {self._log}") from None
        return Sample(**self._answer(timeout_s=seconds + LATE_S))

    def close(self) -> None:
        """Ends the process, which stops at the end of its input."""
        with contextlib.suppress(BrokenPipeError):  # it has ended, and did not read all
            _pipe(self._process.stdin).close()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends the process."""
        self.close()

    def _answer(self, *, timeout_s: float) -> dict[str, Any]:
        """Waits for the next answer.

        Raises:
            PeerError: if it is an error, or none comes.
        """
        output = _pipe(self._process.stdout)
        if not select.select([output], [], [], timeout_s)[0]:
            self._process.kill()
            raise PeerError(f"no answer for {timeout_s:.0f} seconds; see {self._log}")
        line = output.readline()
        if not line:
            code = self._process.wait()
            raise PeerError(f"it ended with exit code {code}; see {self._log}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{one_line(answer['error'])}; see {self._log}")
        return answer


def _environment(runner: Runner) -> dict[str, str]:
    """Returns the environment variables of a runner's process; only ours finds our packages."""
    variables = {**os.environ, **ENVIRONMENT}
    variables.pop("PYTHONPATH", None)
    if runner.environment == OURS:
        variables["PYTHONPATH"] = str(ROOT)
    return variables


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None, "the process was started without pipes"
    return pipe
