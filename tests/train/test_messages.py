"""What a log file is told of a run: each thing once, and of waiting only where somebody waits."""

import io
import os
from pathlib import Path

import pytest

from tests.train.tiny import FakeProgress, tiny_config
from train import reporting
from train.progress import PlainProgress
from train.reporting import QUIET_S, Reporter
from train.session import open_session


class FakeTime:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


def test_a_long_phase_without_self_play_is_not_taken_for_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, progress = FakeTime(), FakeProgress()
    monkeypatch.setattr(reporting, "time", clock)
    with open_session(tiny_config(), tmp_path, resume=False) as session:
        reporter = Reporter(session, tmp_path, progress)
        reporter.phase("self-play")
        reporter.play(num_reports=1, num_games=1)
        progress.messages.clear()  # of how networks are evaluated
        for phase in ("learning", "gate", "self-play"):
            clock.now += 10 * QUIET_S
            reporter.phase(phase)
        clock.now += 1.0
        reporter.play(num_reports=0, num_games=0)
        assert progress.messages == []
        clock.now += QUIET_S
        reporter.play(num_reports=0, num_games=0)
        assert len(progress.messages) == 1


def test_reports_without_a_game_are_shown_and_yet_games_are_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, progress = FakeTime(), FakeProgress()
    monkeypatch.setattr(reporting, "time", clock)
    with open_session(tiny_config(), tmp_path, resume=False) as session:
        reporter = Reporter(session, tmp_path, progress)
        reporter.phase("self-play")
        reporter.play(num_reports=1, num_games=0)
        assert progress.numbers["games"] == 0
        assert "positions_per_s" in progress.numbers
        progress.messages.clear()
        clock.now += QUIET_S + 1.0
        reporter.play(num_reports=1, num_games=0)
        assert progress.messages == ["waiting for the first finished games"]


def test_gate_and_suite_are_in_their_messages_and_in_no_other_line() -> None:
    stream = io.StringIO()
    with PlainProgress(stream) as progress:
        progress.update(games=5, gate="62.5 %, promoted", suite="search 90.1 %")
        progress.message("gate at step 5: 62.5 %, promoted")
    assert stream.getvalue().splitlines() == ["gate at step 5: 62.5 %, promoted", "games 5"]


def test_a_reader_that_goes_away_does_not_end_the_run() -> None:
    reader, writer = os.pipe()
    with open(writer, "w", encoding="utf-8") as stream:
        os.close(reader)
        with PlainProgress(stream) as progress:
            progress.message("SIGINT: stopping and saving")
            progress.update(games=5)
            progress.message("saved")
