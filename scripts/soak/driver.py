"""The run that a soak harms: one process after the other, each with its family of Ray's."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

_ACTOR = "ray::SelfPlayActor"  # beginning of the title of an actor's process
_RAY = ("raylet", "gcs_server")  # programs of Ray that a run has one of each of
_COPY_S = 10.0  # longest time until the last of what was printed is in its file
_ROOT = Path(__file__).parents[2]


class Driver:
    """A process of `alphago train` or `resume`, and all that it has started.

    Attributes:
        output: file of what it prints.
        family: every process that was seen below it, itself included.
    """

    def __init__(self, words: Sequence[str], *, output: Path) -> None:
        """Starts it.

        Args:
            words: what follows `alphago`.
            output: a new file.
        """
        self.output = output
        paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        # Through a pipe: a limit on the size of files is not to hit what it prints.
        with output.open("wb") as stream:
            self._copier = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=stream)
        assert self._copier.stdin is not None, "a pipe was asked for"
        with self._copier.stdin as pipe:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "scripts.main", *words],
                stdout=pipe,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,
            )
        self._started = time.monotonic()
        self._root = psutil.Process(self._process.pid)
        self.family = {self._root}

    @property
    def pid(self) -> int:
        """The number of the process that learns."""
        return self._process.pid

    def look(self) -> int | None:
        """Notes new members of the family; returns the exit code, None while it runs."""
        with contextlib.suppress(psutil.Error):
            self.family |= set(self._root.children(recursive=True))
        return self._process.poll()

    def seconds(self) -> float:
        """Returns for how long it has been there."""
        return time.monotonic() - self._started

    def send(self, signum: int) -> None:
        """Sends the process that learns a signal, and nobody else.

        Raises:
            psutil.NoSuchProcess: if it has ended.
        """
        if self._process.poll() is not None:
            raise psutil.NoSuchProcess(self.pid)
        self._process.send_signal(signum)

    def end(self) -> None:
        """Ends all of the family at once."""
        self.look()
        for process in self.family:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self._process.wait()

    def actors(self) -> list[psutil.Process]:
        """Returns the processes of the actors that live, in the order of their numbers."""
        self.look()
        found = [each for each in self.family if _title(each).startswith(_ACTOR)]
        return sorted(found, key=lambda process: process.pid)

    def ray_processes(self) -> list[psutil.Process]:
        """Returns Ray's own processes that live: those of the node, and of the cluster's state."""
        self.look()
        return [each for each in self.family if Path(_program(each)).name in _RAY]

    def living(self) -> list[psutil.Process]:
        """Returns the members of the family that still live."""
        return [each for each in self.family if is_alive(each)]

    def text(self) -> str:
        """Returns all that it has printed, once it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # something it has left holds the pipe
            self._copier.wait(timeout=_COPY_S)
        return self.output.read_text(encoding="utf-8", errors="replace")


def last_line(text: str) -> str:
    """Returns the last line of a text that is not blank, empty if none."""
    return next((line for line in reversed(text.split("\n")) if line.strip()), "")


def is_alive(process: psutil.Process) -> bool:
    """Tells whether a process lives; one that nobody has waited for does not."""
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _title(process: psutil.Process) -> str:
    """Returns the command line of a process that lives, else an empty text."""
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline()) if is_alive(process) else ""
    return ""


def _program(process: psutil.Process) -> str:
    """Returns the program that a process runs, an empty text if it does not live."""
    with contextlib.suppress(psutil.Error):
        return (process.cmdline() or [""])[0] if is_alive(process) else ""
    return ""
