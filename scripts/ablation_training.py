"""Trains the runs of an ablation, each in a process of its own with its own share of the CPUs."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import configs
from alphago.files import replace_file
from scripts.ablation_file import AblationError
from selfplay.cpus import keep_process_on, shares_of_cpus
from train.run_folder import write_errors

_LOGS_FOLDER = "logs"  # in the folder of an ablation
_TRAINED_FILE = "trained.json"
_POLL_S = 0.2  # between two looks at the processes

# Where our own packages lie, which the processes use too, whatever the current folder holds.
_ROOT = Path(configs.__file__).resolve().parents[1]

Tell = Callable[[str], None]


class _Training(NamedTuple):
    """A run that is being trained."""

    name: str
    process: "subprocess.Popen[bytes]"


class Trainings:
    """The runs of an ablation, and which of them have been trained.

    Attributes:
        trained: the names of those that have, in the order in which they ended.
        faults: by name, what ended those that have failed in this process, in one line.
    """

    def __init__(self, folder: Path, runs: Mapping[str, Path]) -> None:
        """Reads which runs have been trained.

        Args:
            folder: of the ablation.
            runs: the folder of each run, laid down.

        Raises:
            AblationError: if the file that tells it holds something else.
        """
        self.trained = [name for name in _read_trained(folder / _TRAINED_FILE) if name in runs]
        self.faults: dict[str, str] = {}
        self._folder, self._runs = folder, runs

    def missing(self) -> list[str]:
        """Returns the runs that have neither been trained nor failed."""
        return [name for name in self._runs if name not in {*self.trained, *self.faults}]

    def train(self, *, num_jobs: int, tell: Tell) -> None:
        """Trains what is missing; a run that was begun goes on.

        Args:
            num_jobs: how many at a time; each has its own share of the CPUs.
            tell: is told what begins and ends.

        Raises:
            CheckpointError: if a file cannot be written.
            KeyboardInterrupt: on Ctrl-C, once the runs that were going on have been saved.
        """
        waiting = self.missing()
        shares = shares_of_cpus(num_jobs)
        running: dict[int, _Training] = {}  # by the number of their share
        try:
            while waiting or running:
                for place in range(num_jobs):
                    if waiting and place not in running:
                        name = waiting.pop(0)
                        number = f"{len(self._runs) - len(waiting)} of {len(self._runs)}"
                        tell(f"{name}: trains ({number})")
                        running[place] = self._start(name, cpus=shares[place])
                place = _wait_for_one(running)
                self._note_end(running.pop(place), tell=tell)
        except BaseException:
            _stop(list(running.values()), tell=tell)
            raise

    def _start(self, name: str, *, cpus: Sequence[int] | None) -> _Training:
        """Starts the process of a run."""
        path = self._log(name)
        with write_errors(path):
            path.parent.mkdir(exist_ok=True)
            log = path.open("ab")
        found = os.environ.get("PYTHONPATH")
        with log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "scripts.main", "resume", str(self._runs[name])],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ
                | {"PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, [found])])},
                process_group=0,  # Ctrl-C is for this process alone, which passes it on
            )
        keep_process_on(process.pid, cpus)
        return _Training(name, process)

    def _log(self, name: str) -> Path:
        """Returns the file of what a run says."""
        return self._folder / _LOGS_FOLDER / f"{name}.log"

    def _note_end(self, training: _Training, *, tell: Tell) -> None:
        """Notes that a run has been trained, or why not."""
        if training.process.returncode:
            fault = _last_line(self._log(training.name)) or "left no message"
            self.faults[training.name] = fault
            tell(f"{training.name}: FAILED: {fault}")
            return
        self.trained.append(training.name)
        path = self._folder / _TRAINED_FILE
        with write_errors(path), replace_file(path) as file:
            file.write((json.dumps(self.trained) + "\n").encode())
        tell(f"{training.name}: has been trained")


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


def _read_trained(path: Path) -> list[str]:
    """Returns the names in a file; none where there is no file."""
    try:
        names = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise AblationError(f"{path}: cannot be read: {error}") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise AblationError(f"{path}: not the names of runs")
    return names


def _last_line(path: Path) -> str:
    """Returns the last line of a log that is not empty; "" if there is none."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
