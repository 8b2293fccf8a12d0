"""The display of a run: plain lines and the panel of a terminal."""

import io
import os
import time
from pathlib import Path

import pytest
from rich.console import Console

from train.progress import (
    LiveProgress,
    PlainProgress,
    ProgressNumbers,
    describe,
    format_minutes,
    make_progress,
    time_left,
)

NUMBERS: ProgressNumbers = {
    "iteration": 3,
    "games": 1234,
    "iteration_games": 40,
    "iteration_games_total": 500,
    "positions": 20000,
    "window": 15000,
    "steps": 77,
    "positions_per_s": 812.4,
    "evaluations_per_s": 20345.0,
    "policy_loss": 1.23456,
    "value_loss": 0.5,
    "learning_rate": 0.002,
    "gate": "62.5 % [of 40], promoted",
    "suite": "search 90.1 %, policy 70.2 %",
    "minutes": 1.5,
    "fraction": 0.3,
}


class FakeClock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_numbers_as_people_read_them() -> None:
    assert dict(describe(NUMBERS)) == {
        "iteration": "3",
        "games": "1,234 (this iteration 40/500)",
        "positions": "20,000 (window 15,000)",
        "steps": "77",
        "positions/s": "812",
        "evaluations/s": "20,345",
        "policy loss": "1.2346",
        "value loss": "0.5000",
        "learning rate": "2.00e-03",
        "gate": "62.5 % [of 40], promoted",
        "suite": "search 90.1 %, policy 70.2 %",
        "time": "1:30, about 3:30 left",
    }


def test_time_goes_on_between_two_reports_and_a_reached_limit_is_no_time_left() -> None:
    assert dict(describe(NUMBERS, elapsed=0.5))["time"] == "2:00, about 3:00 left"
    assert dict(describe(NUMBERS, elapsed=9.0))["time"] == "10:30, about 0:00 left"
    reached: ProgressNumbers = {"minutes": 5.0, "fraction": 1.0}
    assert dict(describe(reached, elapsed=0.25))["time"] == "5:15, finishing"


def test_numbers_not_reported_yet_are_left_out() -> None:
    assert describe({}) == []
    assert describe({"games": 5}) == [("games", "5")]
    assert describe({"policy_loss": float("nan")}) == [("policy loss", "nan")]


@pytest.mark.parametrize(
    ("minutes", "text"),
    [(0, "0:00"), (0.7, "0:42"), (12 + 5 / 60, "12:05"), (187, "3:07:00"), (59.999, "1:00:00")],
)
def test_minutes(minutes: float, text: str) -> None:
    assert format_minutes(minutes) == text


@pytest.mark.parametrize(
    ("numbers", "left"),
    [
        ({"minutes": 2.0, "fraction": 0.25}, 6.0),
        ({"minutes": 2.0, "fraction": 1.0}, 0.0),
        ({"minutes": 2.0, "fraction": 1.1}, 0.0),
        ({"minutes": 2.0, "fraction": 0.0}, None),
        ({"minutes": 2.0, "fraction": None}, None),
        ({"minutes": 2.0}, None),
    ],
)
def test_time_left(numbers: ProgressNumbers, left: float | None) -> None:
    assert time_left(numbers) == (None if left is None else pytest.approx(left))


def test_plain_lines_come_at_most_every_ten_seconds_and_messages_at_once() -> None:
    stream, clock = io.StringIO(), FakeClock()
    with PlainProgress(stream, seconds=10, clock=clock) as progress:
        progress.phase("self-play")
        for second in range(35):
            clock.now = 100.0 + second
            progress.update(games=second)
            if second == 5:
                progress.message("resumed from 00000100")
    assert stream.getvalue().splitlines() == [
        "resumed from 00000100",
        "self-play | games 10",
        "self-play | games 20",
        "self-play | games 30",
        "self-play | games 34",
    ]


def test_plain_lines_without_a_number_are_none() -> None:
    stream = io.StringIO()
    with PlainProgress(stream) as progress:
        progress.phase("starting")
    assert stream.getvalue() == ""


def test_output_that_is_no_terminal_gets_plain_lines() -> None:
    assert isinstance(make_progress(io.StringIO()), PlainProgress)


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)


def test_panel_shows_phase_numbers_and_bar_without_reading_markup() -> None:
    console = terminal()
    progress = LiveProgress(console)
    progress.phase("gate")
    progress.update(**NUMBERS)
    console.print(progress.render())
    shown = console.file.getvalue()
    assert "gate" in shown.splitlines()[0]
    for name, text in describe(NUMBERS):
        assert name in shown
        assert text in shown


def rendered(progress: LiveProgress) -> str:
    console = terminal()
    console.print(progress.render())
    return str(console.file.getvalue())


def test_panel_says_that_the_actors_start_until_they_answer() -> None:
    clock = FakeClock()
    progress = LiveProgress(terminal(), clock=clock)
    progress.phase("self-play")
    progress.update(minutes=0.0, fraction=0.0)
    clock.now += 17
    shown = rendered(progress)
    assert "starting" in shown.splitlines()[0]
    assert "starting the actors; the first start compiles the kernels" in shown
    assert "0:17" in shown
    progress.update(games=3)
    shown = rendered(progress)
    assert "self-play" in shown.splitlines()[0]
    assert "the actors" not in shown


def test_panel_of_a_run_that_has_ended_promises_nothing() -> None:
    console = terminal()
    with LiveProgress(console) as progress:
        progress.phase("suite")
        progress.update(games=3, minutes=5.0, fraction=1.0)
        assert "finishing" in rendered(progress)
    shown = rendered(progress)
    assert "ended" in shown.splitlines()[0]
    assert "5:00" in shown
    assert "finishing" not in shown


def test_panel_keeps_messages_and_ends_with_the_last_numbers() -> None:
    console = terminal()
    with LiveProgress(console) as progress:
        progress.update(games=1)
        progress.message("gate at step 5: [bold]promoted")
        progress.update(games=2)
    shown = console.file.getvalue()
    assert "gate at step 5: [bold]promoted" in shown
    assert "games  2" in shown.rpartition("starting")[2]
    assert shown.rstrip().endswith("\x1b[?25h")  # the cursor is back


def test_panel_gives_the_terminal_back_after_an_error() -> None:
    console = terminal()
    with pytest.raises(ZeroDivisionError), LiveProgress(console):
        raise ZeroDivisionError
    assert console.file.getvalue().rstrip().endswith("\x1b[?25h")


def test_a_log_file_on_a_full_disk_ends_no_run() -> None:
    with Path("/dev/full").open("w") as stream, PlainProgress(stream) as progress:
        progress.message("a line that finds no room")


@pytest.mark.parametrize(("term", "kind"), [("xterm", LiveProgress), ("dumb", PlainProgress)])
def test_a_terminal_that_is_closed_ends_no_run(
    term: str, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("train.progress.REFRESHES_PER_SECOND", 100.0)
    terminal, ours = os.openpty()
    with open(ours, "w", encoding="utf-8") as stream:
        with make_progress(stream) as progress:
            assert isinstance(progress, kind)
            progress.message("while somebody looks at it")
            os.close(terminal)
            with pytest.raises(OSError, match="Input/output error"):
                os.write(ours, b"x")
            time.sleep(0.05)  # for the thread that draws
            progress.message("SIGHUP: stopping and saving")
            progress.update(games=5)
        os.write(ours, b"from now on it leads nowhere")
