"""When a run ends: a limit that was set, or Ctrl-C."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType

INTERRUPTED = "interrupted"
TARGET_REACHED = "target reached"

SAME_REQUEST_S = 1.0  # signals within so many seconds of the first one are the same request
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Clock:
    """Seconds of work on a run, those of earlier sittings included."""

    def __init__(self, seconds_before: float) -> None:
        """Starts counting on top of what earlier sittings took."""
        self._seconds_before = seconds_before
        self._started = time.monotonic()

    def seconds(self) -> float:
        """Returns the seconds of all sittings so far."""
        return self._seconds_before + time.monotonic() - self._started


class StopRule:
    """Tells whether a run is to end, and how far it is."""

    def __init__(
        self, *, minutes: float | None, games: int | None, steps: int | None, clock: Clock
    ) -> None:
        """Keeps the limits, None for no limit."""
        self._limits = {"minutes": minutes, "games": games, "steps": steps}
        self._clock = clock
        self.interrupted = False
        self.target_reached = False

    def progress(self, *, games: int, steps: int) -> float | None:
        """Returns the share of the run that is done by its nearest limit, None without a limit."""
        done = self._done(games=games, steps=steps)
        shares = [done[name] / limit for name, limit in self._limits.items() if limit is not None]
        return min(max(shares), 1.0) if shares else None

    def is_urgent(self) -> bool:
        """Tells whether to stop within an iteration: Ctrl-C, or no time left.

        The other limits wait for the end of the iteration, so that a run which stops at one and is
        resumed equals a run that never stopped.
        """
        return self.interrupted or self.is_late()

    def is_late(self) -> bool:
        """Tells whether no time is left."""
        minutes = self._limits["minutes"]
        return minutes is not None and self._clock.seconds() >= 60 * minutes

    def reason(self, *, games: int, steps: int) -> str | None:
        """Returns why the run is to end after this iteration, in words, or None."""
        if (reason := self.reason_beside_limits()) is not None:
            return reason
        done = self._done(games=games, steps=steps)
        for name, limit in self._limits.items():
            if limit is not None and done[name] >= limit:
                return f"{name}={limit:g} reached"
        return None

    def reason_beside_limits(self) -> str | None:
        """Returns why the run is to end, Ctrl-C or its target, whatever its limits; or None."""
        if self.interrupted:
            return INTERRUPTED
        return TARGET_REACHED if self.target_reached else None

    def _done(self, *, games: int, steps: int) -> dict[str, float]:
        return {"minutes": self._clock.seconds() / 60, "games": games, "steps": steps}


@contextmanager
def stop_on_signal(rule: StopRule, *, notify: Callable[[str], None]) -> Iterator[None]:
    """Lets the first Ctrl-C end the run cleanly, and another one, a second later, at once.

    A request to terminate and a lost terminal count as the first Ctrl-C, and what `nohup` ignores
    stays ignored. Only a person at the keyboard can be impatient: `timeout`, systemd and shells
    that end send several signals for one request.

    Args:
        rule: is told that the run is to end.
        notify: shows a line; called by another thread.
    """
    signals = [each for each in _STOP_SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
    asked: float | None = None  # when, by time.monotonic()
    with _other_thread(notify) as tell:

        def stop(signum: int, frame: FrameType | None) -> None:
            nonlocal asked
            del frame
            now = time.monotonic()
            if asked is None:
                asked, rule.interrupted = now, True
                tell(
                    f"{signal.Signals(signum).name}: stopping and saving;"
                    " another Ctrl-C ends at once, without saving"
                )
            elif signum == signal.SIGINT and now - asked >= SAME_REQUEST_S:
                raise KeyboardInterrupt

        before = {each: signal.signal(each, stop) for each in signals}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


@contextmanager
def _other_thread(notify: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """Yields a function that has another thread call `notify`, which signal handlers may not.

    A handler may run in the middle of a line that its own thread is writing, and must not write.
    """
    texts = SimpleQueue[str | None]()  # a handler may put something here at any moment

    def notify_all() -> None:
        for text in iter(texts.get, None):
            notify(text)

    thread = threading.Thread(target=notify_all, daemon=True)
    thread.start()
    try:
        yield texts.put
    finally:
        texts.put(None)
        thread.join()
