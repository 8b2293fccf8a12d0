"""When actors that answer nothing count as silent."""

import pytest

from selfplay import silence
from selfplay.silence import SilenceWatch


class FakeTime:
    """A clock that is set by hand."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr(silence, "time", fake)
    return fake


def look(watch: SilenceWatch, time: FakeTime, *, seconds: float, has_answer: bool = False) -> bool:
    """Looks once a second for so long; tells whether it was ever too long."""
    found = []
    for _ in range(round(seconds)):
        time.now += 1.0
        found.append(watch.look(has_answer=has_answer))
    return any(found)


def test_silence_is_counted_from_the_first_look_in_vain(time: FakeTime) -> None:
    watch = SilenceWatch(limit_minutes=10.0)
    assert not look(watch, time, seconds=601)
    assert watch.minutes == 10.0
    assert look(watch, time, seconds=1)
    assert watch.minutes == pytest.approx(601 / 60)


def test_every_answer_starts_anew(time: FakeTime) -> None:
    watch = SilenceWatch(limit_minutes=1.0)
    for _ in range(5):
        assert not look(watch, time, seconds=59)
        assert not look(watch, time, seconds=1, has_answer=True)
        assert watch.minutes == 0.0


@pytest.mark.parametrize("gap", [30.0, 3600.0])
def test_time_in_which_nobody_waits_is_no_silence(gap: float, time: FakeTime) -> None:
    watch = SilenceWatch(limit_minutes=1.0)
    look(watch, time, seconds=1, has_answer=True)
    time.now += gap  # learning, with all calls answered
    assert not look(watch, time, seconds=61)
    time.now += 3600.0  # Ctrl-Z: neither actors nor this process went on
    assert not look(watch, time, seconds=61)
    assert look(watch, time, seconds=1)
