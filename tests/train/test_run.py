"""Run control: limits, signals, what is on the disk when, and waiting for games."""

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import train.learner as learner_module
import train.run as run_module
from alphago.errors import ActorsError, CheckpointError, TrainingError
from selfplay.pool import InlinePool
from selfplay.record_store import RecordStore
from selfplay.records import GameRecord
from selfplay.reports import NewNetwork, PlayReport
from tests.train.tiny import (
    FakeProgress,
    log_lines,
    stored_records,
    tiny_config,
    train,
)
from train import session as session_module
from train.checkpoint import newest_checkpoint
from train.learner import Learner
from train.run_folder import locked
from train.session import Session


def interrupt_in(phase: str, *, signum: int = signal.SIGINT) -> FakeProgress:
    """Returns a progress display that sends this process a signal when a phase begins."""
    sent: list[str] = []

    def send(name: str) -> None:
        if name == phase and not sent:
            sent.append(name)
            os.kill(os.getpid(), signum)

    return FakeProgress(on_phase=send)


# ----- limits


@pytest.mark.parametrize("loop", ["synchronous", "asynchronous"])
def test_a_limit_on_games_ends_the_run_after_that_iteration(loop: str, tmp_path: Path) -> None:
    result = train(tmp_path / "run", tiny_config(games=12, loop=loop))
    assert result.stopped_because == "games=12 reached"
    assert 12 <= result.num_games < 18
    assert result.num_games == len(stored_records(tmp_path / "run"))
    assert result.step > 0
    found = newest_checkpoint(tmp_path / "run")
    assert found is not None
    assert (found[1].step, found[1].state["num_games"]) == (result.step, result.num_games)
    state = json.loads((tmp_path / "run" / "state.json").read_text(encoding="utf-8"))
    assert (state["step"], state["games"], state["iteration"]) == (
        result.step,
        result.num_games,
        2,
    )
    assert state["checkpoint"] == found[0].name


def test_searches_grow_from_network_to_network_to_their_final_size(tmp_path: Path) -> None:
    changes = {"gate.mode": "off", "selfplay.simulations_growth": 3.0}
    train(tmp_path / "run", tiny_config(changes, games=24))
    budgets = [line["selfplay/full_budget"] for line in log_lines(tmp_path / "run", "iteration")]
    assert budgets == sorted(set(budgets))
    assert (budgets[0], budgets[-1]) == (9, 18)
    train(tmp_path / "other", tiny_config({"gate.mode": "off"}, games=12))
    lines = log_lines(tmp_path / "other", "iteration")
    assert [line["selfplay/full_budget"] for line in lines] == [6, 6]


def test_a_limit_on_steps_ends_the_run(tmp_path: Path) -> None:
    result = train(tmp_path / "run", tiny_config(steps=5))
    assert result.stopped_because == "steps=5 reached"
    assert result.step >= 5


def test_a_limit_on_minutes_ends_the_run_within_an_iteration(tmp_path: Path) -> None:
    changes = {"train.batch_size": 4, "replay.samples_per_position": 1.0}
    config = tiny_config(changes, minutes=0.01, games_per_iteration=100_000)
    result = train(tmp_path / "run", config)
    assert result.stopped_because == "minutes=0.01 reached"
    assert 0 < result.num_games < 100_000
    assert result.step > 0  # the games are learnt from all the same


def test_a_run_whose_time_runs_out_while_it_is_saved_is_measured_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "suite.json"
    file.write_text(json.dumps({"positions": [{"moves": "0 3 1 4", "best": ["2"]}]}))
    save = Session.save

    def save_for_long(session: Session) -> None:
        session.clock._seconds_before += 3600 * (session.counters.iteration == 1)
        save(session)

    monkeypatch.setattr(Session, "save", save_for_long)
    changes = {"suite.file": str(file), "suite.every_minutes": 600.0}
    result = train(tmp_path / "run", tiny_config(changes, minutes=59))
    assert result.stopped_because == "minutes=59 reached"
    lines = log_lines(tmp_path / "run", "iteration")
    assert ["suite/search" in line for line in lines] == [False, True]


def test_minutes_count_all_sittings(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first = train(folder, tiny_config(games=6))
    spent = json.loads((folder / "state.json").read_text(encoding="utf-8"))["seconds"] / 60
    assert 0 < spent == first.minutes
    second = train(folder, tiny_config(minutes=spent / 2), resume=True)
    assert second.num_games == first.num_games
    assert second.minutes == spent
    third = train(folder, tiny_config(minutes=spent + 10, games=12), resume=True)
    assert third.num_games > first.num_games


def test_reaching_the_target_ends_the_run(tmp_path: Path) -> None:
    file = tmp_path / "suite.json"
    positions = [{"moves": "0 3 1 4", "best": ["2"]}]  # a win in one
    file.write_text(json.dumps({"positions": positions}), encoding="utf-8")
    changes = {"suite.file": str(file), "suite.num_simulations": 60, "suite.every_minutes": 1e-9}
    config = tiny_config(changes, target=1.0, games=600)
    progress = FakeProgress()
    result = train(tmp_path / "run", config, progress=progress)
    assert result.stopped_because == "target reached"
    assert result.num_games < 600
    assert "suite" in progress.phases
    assert log_lines(tmp_path / "run", "iteration")[-1]["suite/search"] == 1.0


def test_the_first_iteration_may_have_no_step(tmp_path: Path) -> None:
    progress = FakeProgress()
    config = tiny_config({"train.batch_size": 500}, games=12)
    result = train(tmp_path / "run", config, progress=progress)
    assert result.step == 0
    assert "gate" not in progress.phases  # nothing has been learnt, so there is no candidate
    assert result.best == "00000000"
    found = newest_checkpoint(tmp_path / "run")
    assert found is not None
    assert found[1].state["num_games"] == result.num_games


# ----- Ctrl-C


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("phase", ["self-play", "learning", "gate"])
def test_the_first_signal_saves_and_ends_the_run(signum: int, phase: str, tmp_path: Path) -> None:
    before = signal.getsignal(signum)
    progress = interrupt_in(phase, signum=signum)
    result = train(tmp_path / "run", tiny_config(games=600), progress=progress)
    assert result.stopped_because == "interrupted"
    assert any(signal.Signals(signum).name in message for message in progress.messages)
    found = newest_checkpoint(tmp_path / "run")
    assert found is not None
    assert found[1].state["num_games"] == result.num_games == len(stored_records(tmp_path / "run"))
    assert signal.getsignal(signum) is before
    again = train(tmp_path / "run", tiny_config(games=result.num_games + 6), resume=True)
    assert again.num_games > result.num_games


def test_a_stop_within_self_play_ends_at_once(tmp_path: Path) -> None:
    config = tiny_config(games_per_iteration=100_000)
    result = train(tmp_path / "run", config, progress=interrupt_in("self-play"))
    assert result.num_games < 100
    config = tiny_config(games_per_iteration=100_000, loop="asynchronous")
    progress = interrupt_in("self-play and learning")
    result = train(tmp_path / "other", config, progress=progress)
    assert result.num_games < 100


def test_a_gate_that_is_interrupted_decides_nothing_and_is_played_after_a_resume(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    always = {"gate.threshold_percent": 0}
    progress = interrupt_in("gate")
    result = train(folder, tiny_config(always, games=600), progress=progress)
    assert result.step > 0
    assert result.best == "00000000"
    assert not any("promoted" in text or "rejected" in text for text in progress.messages)
    assert "gate/promoted" not in log_lines(folder, "iteration")[-1]
    # Nothing more is learnt, so that the candidate is the one that was not judged.
    config = tiny_config(always | {"replay.samples_per_position": 0.01}, games=result.num_games + 6)
    progress = FakeProgress()
    again = train(folder, config, resume=True, progress=progress)
    assert "gate" in progress.phases
    assert (again.step, again.best) == (result.step, f"{result.step:08d}")


def test_a_suite_that_is_interrupted_is_not_noted(tmp_path: Path) -> None:
    file = tmp_path / "suite.json"
    positions = [{"moves": "0 3 1 4", "best": ["2"]}]
    file.write_text(json.dumps({"positions": positions}), encoding="utf-8")
    seen: list[str] = []

    def send(name: str) -> None:
        seen.append(name)
        if seen.count("suite") == 2:  # the first one is before learning
            os.kill(os.getpid(), signal.SIGINT)

    changes = {"suite.file": str(file), "suite.every_minutes": 1e-9, "suite.num_simulations": 60}
    config = tiny_config(changes, games=600, target=1.0)
    result = train(tmp_path / "run", config, progress=FakeProgress(on_phase=send))
    assert result.stopped_because == "interrupted"
    assert "suite/search" not in log_lines(tmp_path / "run", "iteration")[-1]
    state = json.loads((tmp_path / "run" / "state.json").read_text(encoding="utf-8"))
    assert state["last_suite_seconds"] == 0.0


def test_the_second_signal_ends_at_once_and_loses_only_what_came_after_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send_twice(name: str) -> None:
        if name == "learning":
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("train.stopping.SAME_REQUEST_S", 0.0)

    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run", tiny_config(), progress=FakeProgress(on_phase=send_twice))
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
    found = newest_checkpoint(tmp_path / "run")
    assert found is not None
    assert found[1].step == 0
    assert len(stored_records(tmp_path / "run")) >= 6  # finished games are on the disk
    with locked(tmp_path / "run"):
        pass  # the lock is free


# ----- what is on the disk when


def test_every_game_is_on_the_disk_before_it_is_learnt_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[tuple[str, int]] = []

    def watch(owner: object, name: str, note: Callable[..., int]) -> None:
        original = getattr(owner, name)

        def noted(self: object, *arguments: object, **keywords: object) -> object:
            result = original(self, *arguments, **keywords)
            order.append((name, note(self, *arguments)))
            return result

        monkeypatch.setattr(owner, name, noted)

    def on_disk(store: RecordStore, records: Sequence[GameRecord]) -> int:
        reread = RecordStore(store.folder, store.game_name)
        assert sum(1 for _ in reread.since(0)) == store.num_games
        return len(records)

    watch(RecordStore, "append", on_disk)
    watch(learner_module, "append_games", lambda buffer, game, records: len(records))
    watch(Learner, "step", lambda learner, progress: 0)
    for loop in ("synchronous", "asynchronous"):
        order.clear()
        result = train(tmp_path / loop, tiny_config(games=12, loop=loop))
        stored = added = 0
        for name, number in order:
            stored += number if name == "append" else 0
            added += number if name == "append_games" else 0
            assert added <= stored
            assert name != "step" or added > 0
        assert stored == added == result.num_games


def test_a_run_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with (
        locked(tmp_path / "run"),
        pytest.raises(CheckpointError, match=f"in use by another process.*{os.getpid()}"),
    ):
        train(tmp_path / "run", tiny_config(games=6))
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["lock"]


# ----- waiting


class SlowPool(InlinePool):
    """A pool whose games arrive only now and then."""

    num_waits = 0

    def collect(self, timeout_s: float) -> list[PlayReport]:
        SlowPool.num_waits += 1
        return super().collect(timeout_s) if SlowPool.num_waits % 4 == 0 else []


@pytest.mark.parametrize("loop", ["synchronous", "asynchronous"])
def test_a_position_is_not_used_more_often_than_allowed_and_waiting_is_explained(
    loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("train.reporting.QUIET_S", 0.0)
    monkeypatch.setattr(SlowPool, "num_waits", 0)
    monkeypatch.setattr(
        session_module,
        "make_pool",
        lambda setup, *, sitting, **rest: SlowPool(setup, actor=sitting),
    )
    used: list[float] = []
    learn_step = run_module.learn_step

    def watch(session: Session, reporter: object) -> None:
        learn_step(session, reporter)
        buffer = session.learner.buffer
        used.append(buffer.samples_drawn / buffer.positions_seen)

    monkeypatch.setattr(run_module, "learn_step", watch)
    progress = FakeProgress()
    config = tiny_config({"replay.samples_per_position": 3.0}, games=36, loop=loop)
    train(tmp_path / "run", config, progress=progress)
    assert max(used) <= 3.0
    assert used[-1] > 2.4
    assert any("waits for new games" in message for message in progress.messages)
    assert any("samples_per_position=3" in message for message in progress.messages)
    assert progress.messages[0] == "waiting for the first finished games"
    logged = [e["replay/samples_per_position"] for e in log_lines(tmp_path / "run", "iteration")]
    assert max(logged) <= 3.0


def test_a_trainer_in_the_process_that_plays_learns_all_it_may_before_that_plays_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_over: list[bool] = []

    class WatchedPool(InlinePool):
        def collect(self, timeout_s: float) -> list[PlayReport]:
            reports = super().collect(timeout_s)
            if reports and sessions:
                left_over.append(sessions[0].learner.may_learn())
            return reports

    sessions: list[Session] = []
    take_in = run_module.take_in

    def watch(session: Session, *rest: object) -> None:
        sessions[:] = [session]
        take_in(session, *rest)

    monkeypatch.setattr(
        session_module,
        "make_pool",
        lambda setup, *, sitting, **rest: WatchedPool(setup, actor=sitting),
    )
    monkeypatch.setattr(run_module, "take_in", watch)
    changes = {"train.batch_size": 4, "selfplay.games_per_call": 4}
    train(tmp_path / "run", tiny_config(changes, games=36, loop="asynchronous"))
    assert len(left_over) > 3
    assert not any(left_over)


@pytest.mark.parametrize("loop", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_games_that_arrive_at_the_end_are_kept_and_no_actor_is_waited_for_after_ctrl_c(
    is_interrupted: bool, loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BusyPool(InlinePool):
        """Has one more report ready, and actors that answer no further call after that."""

        left = [1] if is_interrupted else [1, 1, 1]

        def is_busy(self) -> bool:
            return bool(self.left)

        def drain(self, timeout_s: float) -> list[PlayReport]:
            assert timeout_s == 0.0 or not is_interrupted
            return super().collect(1.0) if self.left and self.left.pop() else []

    monkeypatch.setattr(
        session_module,
        "make_pool",
        lambda setup, *, sitting, **rest: BusyPool(setup, actor=sitting),
    )
    phase = "self-play" if loop == "synchronous" else "self-play and learning"
    progress = interrupt_in(phase) if is_interrupted else FakeProgress()
    result = train(tmp_path / "run", tiny_config(games=6, loop=loop), progress=progress)
    assert result.stopped_because == ("interrupted" if is_interrupted else "games=6 reached")
    assert BusyPool.left == []
    assert result.num_games == len(stored_records(tmp_path / "run"))
    assert result.num_games >= (2 if is_interrupted else 12)


@pytest.mark.parametrize(
    "end", ["ctrl-c in gate", "ctrl-c in suite", "ctrl-c in yardstick", "target"]
)
def test_games_that_arrive_while_strength_is_measured_are_kept_when_the_run_ends(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class MeasuringPool(InlinePool):
        """Its actors finish games once learning is over, which nobody fetches at first."""

        num_left = 0

        def map(self, function: Callable[..., object], *rest: Any, **how: Any) -> Any:
            MeasuringPool.num_left = 2 * ("gate" in seen)  # not in the suite before learning
            return super().map(function, *rest, **how)

        def is_busy(self) -> bool:
            return MeasuringPool.num_left > 0

        def drain(self, timeout_s: float) -> list[PlayReport]:
            num_left, MeasuringPool.num_left = MeasuringPool.num_left, 0
            return [report for _ in range(num_left) for report in self.collect(1.0)]

    monkeypatch.setattr(
        session_module,
        "make_pool",
        lambda setup, *, sitting, **rest: MeasuringPool(setup, actor=sitting),
    )
    file = tmp_path / "suite.json"
    file.write_text(json.dumps({"positions": [{"moves": "0 3 1 4", "best": ["2"]}]}))
    changes = {
        "suite.file": str(file),
        "suite.every_minutes": 1e-9,
        "suite.num_simulations": 60,
        "yardstick.player": "random",
    }
    seen: list[str] = []

    def send(name: str) -> None:
        seen.append(name)
        if name == end.removeprefix("ctrl-c in ") and "gate" in seen:
            os.kill(os.getpid(), signal.SIGINT)

    target = 1.0 if end == "target" else None
    config = tiny_config(changes, games=600, target=target, loop="asynchronous")
    result = train(tmp_path / "run", config, progress=FakeProgress(on_phase=send))
    assert result.stopped_because == ("target reached" if target else "interrupted")
    assert MeasuringPool.num_left == 0
    found = newest_checkpoint(tmp_path / "run")
    assert found is not None
    assert found[1].state["num_games"] == result.num_games == len(stored_records(tmp_path / "run"))
    last = log_lines(tmp_path / "run", "iteration")[-1]
    assert last["selfplay/games"] == result.num_games


@pytest.mark.parametrize("is_interrupted", [False, True])
@pytest.mark.parametrize("method", ["collect", "drain", "map"])
def test_a_run_that_was_stopped_is_saved_though_its_actors_are_gone(
    method: str, is_interrupted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class LostPool(InlinePool):
        """Its actors end with the signal that stops the run."""

        keeps_games = False
        is_ending = False

        def is_busy(self) -> bool:
            return self.is_ending

        def snapshot(self) -> None:
            return None

    def lose(*arguments: object, **how: object) -> None:
        if is_interrupted:
            os.kill(os.getpid(), signal.SIGTERM)
        raise ActorsError("Ray's raylet has ended")

    def begin_to_lose(session: Session) -> None:
        begin(session)
        if session.counters.iteration == 2:
            monkeypatch.setattr(LostPool, method, lose)
            monkeypatch.setattr(LostPool, "is_ending", method == "drain")

    begin = Session.begin_iteration
    monkeypatch.setattr(Session, "begin_iteration", begin_to_lose)
    monkeypatch.setattr(
        session_module,
        "make_pool",
        lambda setup, *, sitting, **rest: LostPool(setup, actor=sitting),
    )
    config, progress = tiny_config(games=600), FakeProgress()
    if not is_interrupted:
        with pytest.raises(ActorsError):
            train(tmp_path / "run", config, progress=progress)
        return
    result = train(tmp_path / "run", config, progress=progress)
    assert result.stopped_because == "interrupted"
    assert "games that had not arrived are lost: Ray's raylet has ended" in progress.messages
    found = newest_checkpoint(tmp_path / "run")
    assert found is not None
    assert found[1].state["num_games"] == result.num_games == len(stored_records(tmp_path / "run"))
    assert found[1].step == result.step > 0


def test_no_step_is_made_while_no_game_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StuckPool(InlinePool):
        """Delivers one report, then nothing: its actors hang."""

        num_calls = 0

        def collect(self, timeout_s: float) -> list[PlayReport]:
            StuckPool.num_calls += 1
            if StuckPool.num_calls == 100:
                os.kill(os.getpid(), signal.SIGINT)
            return super().collect(timeout_s) if StuckPool.num_calls == 1 else []

    monkeypatch.setattr("train.reporting.QUIET_S", 0.0)
    monkeypatch.setattr(
        session_module,
        "make_pool",
        lambda setup, *, sitting, **rest: StuckPool(setup, actor=sitting),
    )
    monkeypatch.setattr(Session, "is_to_be_replayed", lambda session: False)  # as with Ray's actors
    progress = FakeProgress()
    changes = {"selfplay.games_per_call": 8, "replay.holdout_fraction": 0.0}
    config = tiny_config(changes, loop="asynchronous", games_per_iteration=100)
    result = train(tmp_path / "run", config, progress=progress)
    assert result.stopped_because == "interrupted"
    positions = log_lines(tmp_path / "run")[-1]["replay/positions"]
    assert result.step == 2 * positions // 16
    assert sum("waits for new games" in message for message in progress.messages) > 10


def test_a_network_that_answers_with_no_numbers_ends_the_run_as_learning_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(session: Session) -> None:
        broken = {
            name: np.full_like(array, np.nan) if array.dtype == np.float32 else array
            for name, array in session.best.items()
        }
        session.pool.publish(NewNetwork(0, broken, session.positions, 4))

    monkeypatch.setattr(Session, "publish", publish)
    with pytest.raises(TrainingError, match="not finite"):
        train(tmp_path / "run", tiny_config(games=6))
