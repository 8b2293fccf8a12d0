"""Trains the runs of an ablation, each in a process of its own with its own share of the CPUs."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import configs
from alphago.files import reason
from scripts.ablations.file import AblationError
from scripts.ablations.runs import budget_used, lay_down, short_runs
from selfplay.cpus import keep_process_on
from train.run_folder import write_errors, write_text

if TYPE_CHECKING:
    from train.config import RunConfig

_LOGS_FOLDER = "logs"  # in the folder of an ablation
_CPUS_FILE = "cpus"  # how many each run has, as part of its budget
_POLL_S = 0.2  # between two looks at the processes
# Share of a budget that counts as all of it: minutes that a run needs to save itself at its end
# are not in its checkpoint.
_ALL = 0.99

# Where our own packages lie, which the processes use too, whatever the current folder holds.
_ROOT = Path(configs.__file__).resolve().parents[1]

Tell = Callable[[str], None]


class _Training(NamedTuple):
    """A run that is being trained."""

    name: str
    process: "subprocess.Popen[bytes]"
    log_start: int  # bytes of its log that an earlier process has written


class Trainings:
    """The runs of an ablation that are yet to be trained.

    Attributes:
        missing: the names of those that have not used up their budget.
        faults: by name, what ended those that have failed in this process, in one line.
    """

    def __init__(
        self, folder: Path, runs: Mapping[str, Path], configs: "Mapping[str, RunConfig]"
    ) -> None:
        """Reads how far the runs are.

        Args:
            folder: of the ablation.
            runs: the folder of each run, laid down.
            configs: the configuration of each run.

        Raises:
            CheckpointError: if a checkpoint is broken.
        """
        self._folder, self._runs, self._configs = folder, runs, configs
        used = {name: self._budget_used(name) for name in runs}
        self.missing = [name for name, share in used.items() if share < _ALL]
        self.have_begun = any(used.values())
        self.faults: dict[str, str] = {}

    def train(self, shares: Sequence[Sequence[int]], *, tell: Tell) -> None:
        """Trains what is missing; a run that was begun goes on.

        Args:
            shares: the CPUs of each process; as many as there are shares train at a time.
            tell: is told what begins and ends.

        Raises:
            AblationError: if a process cannot be kept on its CPUs.
            CheckpointError: if a file cannot be written.
            KeyboardInterrupt: on Ctrl-C, once the runs that were going on have been saved.
        """
        waiting = list(self.missing)
        running: dict[int, _Training] = {}  # by the number of their share
        try:
            while waiting or running:
                for place, cpus in enumerate(shares):
                    if waiting and place not in running:
                        name = waiting.pop(0)
                        number = f"{len(self._runs) - len(waiting)} of {len(self._runs)}"
                        tell(f"{name}: trains ({number})")
                        running[place] = self._start(name)  # at once: `_stop` has to know it
                        _keep_on(running[place], cpus)
                place = _wait_for_one(running)
                self._note_end(running.pop(place), tell=tell)
        except BaseException:
            _stop(list(running.values()), tell=tell)
            raise

    def _budget_used(self, name: str) -> float:
        return budget_used(self._runs[name], self._configs[name])

    def _start(self, name: str) -> _Training:
        """Starts the process of a run."""
        path = self._log(name)
        with write_errors(path):
            path.parent.mkdir(exist_ok=True)
            log = path.open("ab")
        found = os.environ.get("PYTHONPATH")
        with log:
            log_start = log.tell()
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "scripts.main", "resume", str(self._runs[name])],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ
                | {"PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, [found])])},
                process_group=0,  # Ctrl-C is for this process alone, which passes it on
            )
        return _Training(name, process, log_start)

    def _log(self, name: str) -> Path:
        """Returns the file of what a run says."""
        return self._folder / _LOGS_FOLDER / f"{name}.log"

    def _note_end(self, training: _Training, *, tell: Tell) -> None:
        """Notes that a run has been trained, or why not."""
        name, code = training.name, training.process.returncode
        used = self._budget_used(name)
        if code < 0:
            fault = f"killed by {signal.Signals(-code).name}"
        elif code > 0:
            fault = _last_line(self._log(name), start=training.log_start) or "left no message"
        elif used < _ALL:  # somebody has ended it, as Ctrl-C would
            fault = f"stopped at {used:.0%} of its budget"
        else:
            self.missing.remove(name)
            tell(f"{name}: has been trained")
            return
        self.faults[name] = fault
        tell(f"{name}: FAILED: {fault}")


def agree_on_cpus(folder: Path, num_cpus: int, *, have_begun: bool) -> None:
    """Checks that all runs have equally many CPUs, in whichever process they are trained.

    Args:
        folder: of the ablation, which remembers the number.
        num_cpus: of each run that is trained now.
        have_begun: whether runs have used some of their budget already.

    Raises:
        AblationError: if they had another number of CPUs, or nobody knows how many.
        CheckpointError: if the file cannot be written.
    """
    if not have_begun:
        write_text(folder / _CPUS_FILE, f"{num_cpus}\n")
    elif (before := read_num_cpus(folder)) != num_cpus:
        raise AblationError(
            f"jobs: CPUs of each run: got {num_cpus}, allowed: {before}, as the runs in {folder}"
            " have had"
        )


def read_num_cpus(folder: Path) -> int:
    """Returns how many CPUs each run of an ablation has had.

    Raises:
        AblationError: if the file that tells it is missing or broken.
    """
    path = folder / _CPUS_FILE
    try:
        return int(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AblationError(f"{path}: the CPUs of each run cannot be read: {error}") from error


def compile_kernels(configs: "Sequence[RunConfig]", *, cpus: Sequence[int]) -> None:
    """Plays a game or two of each kind, so that no run compiles kernels out of its own minutes.

    What fails here fails again in the run, and is told then.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, short = Path(name), short_runs(configs)
        trainings = Trainings(folder, lay_down(short, folder), short)
        trainings.train([cpus], tell=lambda text: None)


def _keep_on(training: _Training, cpus: Sequence[int]) -> None:
    """Keeps a process on its share of the CPUs."""
    try:
        keep_process_on(training.process.pid, cpus)
    except OSError as error:
        where = ", ".join(map(str, cpus))
        raise AblationError(
            f"{training.name}: cannot be kept on CPU {where}: {reason(error)}"
        ) from error


def _wait_for_one(running: Mapping[int, _Training]) -> int:
    """Waits until one of the processes has ended, and returns its place."""
    while True:
        for place, training in running.items():
            try:
                training.process.wait(timeout=_POLL_S)
            except subprocess.TimeoutExpired:
                continue
            return place


def _stop(running: Sequence[_Training], *, tell: Tell) -> None:
    """Asks the processes to save and end, and waits; when interrupted again, ends them at once."""
    if running:
        tell(f"stops and saves {', '.join(training.name for training in running)}")
    for training in running:
        # Not SIGINT: a shell starts background jobs with that one ignored.
        training.process.terminate()
    try:
        for training in running:
            training.process.wait()
    except KeyboardInterrupt:
        for training in running:
            training.process.kill()


def _last_line(path: Path, *, start: int) -> str:
    """Returns the last line of a log that is not empty, beyond so many bytes; "" if none is."""
    lines = path.read_bytes()[start:].decode("utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
