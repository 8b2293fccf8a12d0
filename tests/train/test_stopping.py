"""When a run ends: limits, progress and signals."""

import io
import os
import signal

import pytest

from train import stopping
from train.progress import PlainProgress
from train.stopping import SAME_REQUEST_S, Clock, StopRule, stop_on_signal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class FakeTime:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr(stopping, "time", fake)
    return fake


def rule(
    *,
    minutes: float | None = None,
    games: int | None = None,
    steps: int | None = None,
    before: float = 0.0,
) -> StopRule:
    return StopRule(minutes=minutes, games=games, steps=steps, clock=Clock(before))


def test_the_clock_counts_earlier_sittings(time: FakeTime) -> None:
    clock = Clock(90.0)
    assert clock.seconds() == 90.0
    time.now += 5.5
    assert clock.seconds() == 95.5


def test_limits_are_reached_at_the_number_itself(time: FakeTime) -> None:
    limited = rule(minutes=2, games=10, steps=7)
    assert limited.reason(games=9, steps=6) is None
    assert limited.reason(games=10, steps=6) == "games=10 reached"
    assert limited.reason(games=9, steps=7) == "steps=7 reached"
    time.now += 119.9
    assert limited.reason(games=9, steps=6) is None
    time.now += 0.1
    assert limited.reason(games=9, steps=6) == "minutes=2 reached"


def test_without_limits_there_is_no_reason_and_no_progress(time: FakeTime) -> None:
    free = rule()
    time.now += 1e9
    assert free.reason(games=10**9, steps=10**9) is None
    assert free.progress(games=10**9, steps=10**9) is None
    assert not free.is_urgent()


def test_progress_follows_the_limit_that_comes_first(time: FakeTime) -> None:
    limited = rule(minutes=10, games=100)
    assert limited.progress(games=0, steps=5) == 0.0
    time.now += 60.0
    assert limited.progress(games=0, steps=5) == pytest.approx(0.1)
    assert limited.progress(games=40, steps=5) == pytest.approx(0.4)
    assert limited.progress(games=140, steps=5) == 1.0


def test_only_time_and_ctrl_c_stop_within_an_iteration(time: FakeTime) -> None:
    limited = rule(minutes=1, games=1, steps=1)
    limited.target_reached = True
    assert limited.reason(games=5, steps=5) == "target reached"
    assert not limited.is_urgent()
    time.now += 60.0
    assert limited.is_urgent()
    interrupted = rule()
    interrupted.interrupted = True
    assert interrupted.is_urgent()
    assert interrupted.reason(games=0, steps=0) == "interrupted"


@pytest.mark.parametrize("first", SIGNALS)
def test_the_first_signal_asks_and_ctrl_c_after_it_ends(first: int, time: FakeTime) -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    messages: list[str] = []
    stop = rule()
    with pytest.raises(KeyboardInterrupt), stop_on_signal(stop, notify=messages.append):
        assert not stop.interrupted
        os.kill(os.getpid(), first)
        assert stop.interrupted
        time.now += SAME_REQUEST_S
        os.kill(os.getpid(), signal.SIGINT)
    assert len(messages) == 1
    assert messages[0].startswith(signal.Signals(first).name)
    assert [signal.getsignal(each) for each in SIGNALS] == before


@pytest.mark.parametrize("first", SIGNALS)
@pytest.mark.parametrize("second", SIGNALS)
def test_signals_at_once_are_one_request(first: int, second: int, time: FakeTime) -> None:
    messages: list[str] = []
    stop = rule()
    with stop_on_signal(stop, notify=messages.append):
        os.kill(os.getpid(), first)
        os.kill(os.getpid(), second)
        time.now += SAME_REQUEST_S / 2
        os.kill(os.getpid(), second)
    assert stop.interrupted
    assert len(messages) == 1


def test_only_ctrl_c_ends_at_once_however_late_another_signal_comes(time: FakeTime) -> None:
    stop = rule()
    with stop_on_signal(stop, notify=lambda text: None):
        os.kill(os.getpid(), signal.SIGTERM)
        time.now += 100 * SAME_REQUEST_S
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
    assert stop.interrupted


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = rule()
    try:
        with stop_on_signal(stop, notify=print):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert not stop.interrupted


class InterruptedFile(io.RawIOBase):
    """A file to which a first write takes until a signal comes."""

    def __init__(self) -> None:
        self.written = b""

    def writable(self) -> bool:
        return True

    def write(self, data: "memoryview[int]") -> int:  # type: ignore[override]
        if not self.written:
            os.kill(os.getpid(), signal.SIGINT)
        self.written += bytes(data)
        return len(data)


def test_a_signal_in_the_middle_of_a_line_is_told_after_it() -> None:
    file, stop = InterruptedFile(), rule()
    stream = io.TextIOWrapper(io.BufferedWriter(file), encoding="utf-8")
    with PlainProgress(stream) as progress, stop_on_signal(stop, notify=progress.message):
        progress.message("gate at step 5: promoted")
    first, second = file.written.decode().splitlines()
    assert stop.interrupted
    assert first == "gate at step 5: promoted"
    assert second.startswith("SIGINT: stopping and saving")


def test_handlers_come_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(RuntimeError), stop_on_signal(rule(), notify=print):
        assert signal.getsignal(signal.SIGTERM) is not before
        raise RuntimeError
    assert signal.getsignal(signal.SIGTERM) is before
