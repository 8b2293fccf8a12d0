"""When actors that answer nothing end a run."""

import pytest

from alphago.errors import TrainingError
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


def look(watch: SilenceWatch, time: FakeTime, *, seconds: float, has_answer: bool = False) -> None:
    """Looks once a second for so long."""
    for _ in range(round(seconds)):
        time.now += 1.0
        watch.look(has_answer=has_answer, num_busy=2)


def test_silence_beyond_the_limit_is_told_with_actors_and_minutes(time: FakeTime) -> None:
    watch = SilenceWatch(limit_minutes=10.0, num_actors=3)
    look(watch, time, seconds=601)
    with pytest.raises(
        TrainingError,
        match=r"^2 of 3 self-play actors .* silent for 10\.0 minutes;"
        r".* selfplay\.silence_limit_minutes=10$",
    ):
        look(watch, time, seconds=1)


def test_every_answer_starts_anew(time: FakeTime) -> None:
    watch = SilenceWatch(limit_minutes=1.0, num_actors=2)
    for _ in range(5):
        look(watch, time, seconds=59)
        look(watch, time, seconds=1, has_answer=True)


@pytest.mark.parametrize("gap", [30.0, 3600.0])
def test_time_in_which_nobody_waits_is_no_silence(gap: float, time: FakeTime) -> None:
    watch = SilenceWatch(limit_minutes=1.0, num_actors=2)
    look(watch, time, seconds=1, has_answer=True)
    time.now += gap  # learning, with all calls answered
    look(watch, time, seconds=61)
    time.now += 3600.0  # Ctrl-Z: neither actors nor this process went on
    look(watch, time, seconds=61)
    with pytest.raises(TrainingError, match="silent"):
        look(watch, time, seconds=1)
