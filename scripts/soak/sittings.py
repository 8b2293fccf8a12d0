"""The sittings of the run of a soak: started, watched, and judged when they end."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from alphago.files import CONFIG_FILE
from scripts.soak.disk import Disk
from scripts.soak.driver import Driver, last_line
from scripts.soak.endings import fault_of_ending
from scripts.soak.observer import Observer

START_S = 300.0  # longest time until a run that was started has finished its first game
HANG_S = 180.0  # longest time without a finished game
END_S = 120.0  # longest time for a run to end that was asked to
_POLL_S = 0.2


@dataclass(kw_only=True)
class Sitting:
    """One process that worked on the run.

    Attributes:
        fault: kind of the last fault before it ended.
        code: exit code; minus the number of a signal that ended it.
        seconds: how long it was there.
        last_line: what it printed last.
    """

    fault: str
    code: int
    seconds: float
    last_line: str


class Sittings:
    """A run that is started again whenever it has ended.

    Attributes:
        run: its folder.
        disk: where that lies.
        observer: what was seen of it.
        driver: the process at work, or the last one that was.
        ended: the sittings so far.
        families: all processes that any of them has started.
        silence_limit_minutes: after which an actor counts as hung.
    """

    driver: Driver

    def __init__(
        self,
        *,
        disk: Disk,
        outputs: Path,
        options: Sequence[str],
        silence_limit_minutes: float,
    ) -> None:
        """Starts nothing yet.

        Args:
            disk: where the run is to lie.
            outputs: folder for what the processes print.
            options: of `alphago train`.
            silence_limit_minutes: as in `options`.
        """
        self.run = disk.folder / "run"
        self.disk = disk
        self.observer = Observer(self.run)
        self.ended: list[Sitting] = []
        self.families: set[psutil.Process] = set()
        self.silence_limit_minutes = silence_limit_minutes
        self._outputs, self._options = outputs, list(options)
        self._is_at_work = False
        self._fault = ""  # kind of the last one

    def start(self, *changes: str) -> None:
        """Begins the run, or goes on with it.

        Args:
            changes: options that are not as they were.
        """
        words = ["train", *self._options, f"run_dir={self.run}"]
        if (self.run / CONFIG_FILE).is_file():
            words = ["resume", str(self.run)]
        self.driver = Driver(
            [*words, *changes],
            output=self._outputs / f"{len(self.ended):04d}.txt",
        )
        self._is_at_work, self._fault = True, "start"

    def is_at_work(self) -> bool:
        """Tells whether a process works on the run; one that has ended is judged."""
        if not self._is_at_work:
            return False
        code = self.driver.look()
        self.families |= self.driver.family
        self.observer.look()
        if code is None:
            return True
        self._is_at_work = False
        self._judge(code)
        return False

    def note_fault(self, kind: str) -> None:
        """Remembers what is about to be done to the run."""
        self._fault = kind

    def pause(self, seconds: float) -> None:
        """Waits without looking, for a time in which nothing can be seen."""
        time.sleep(seconds)

    def watch(self, seconds: float) -> None:
        """Watches for some time, or until the process has ended."""
        self.watch_until(lambda: False, seconds=seconds)

    def watch_until(
        self, is_so: Callable[[], bool], *, seconds: float, poll_s: float = _POLL_S
    ) -> bool:
        """Watches until something is so, the process has ended, or the time is over.

        Returns:
            Whether it is so.
        """
        deadline, next_look = time.monotonic() + seconds, 0.0
        while time.monotonic() < deadline:
            if is_so():
                return True
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + _POLL_S
                if not self.is_at_work():
                    break
            time.sleep(poll_s)
        return is_so()

    def wait_for_games(self, *, seconds: float) -> bool:
        """Waits for a finished game; returns whether the process is still at work.

        A process that finishes none is ended, and noted as one that hangs.
        """
        before = self.observer.num_games
        came = self.watch_until(lambda: self.observer.num_games > before, seconds=seconds)
        if not came and self.is_at_work():
            self.observer.faults.append(f"no game within {seconds:.0f} s after {self._fault}")
            self._fault = "hang"
            self.driver.end()
        return self.is_at_work()

    def wait_for_end(self, *, seconds: float = END_S) -> None:
        """Waits until the process ends; one that does not is ended, and noted."""
        self.watch_until(lambda: False, seconds=seconds)
        if self.is_at_work():
            self.observer.faults.append(f"it did not end within {seconds:.0f} s: {self._fault}")
            self._fault = "hang"
            self.driver.end()
            self.is_at_work()

    def _judge(self, code: int) -> None:
        """Notes a sitting that has ended, and what is wrong with its end."""
        text = self.driver.text()
        fault = "" if self._fault == "hang" else fault_of_ending(self._fault, code=code, text=text)
        if fault:
            number = len(self.ended)
            self.observer.faults.append(f"sitting {number}, after {self._fault}: {fault}")
        self.ended.append(
            Sitting(
                fault=self._fault,
                code=code,
                seconds=self.driver.seconds(),
                last_line=last_line(text),
            )
        )
        self.observer.note_sitting()
