"""A run in one process that was stopped anywhere ends as one that never stopped, bit for bit."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import train.run as run_module
from selfplay.pool import InlinePool
from selfplay.record_store import RecordStore
from selfplay.reports import PlayReport
from tests.train.stops import STOPS, end_after, kill, press_ctrl_c, stop_at_call, stop_in_phase
from tests.train.tiny import (
    FakeProgress,
    assert_same_runs,
    log_lines,
    record_files,
    stored_records,
    streams,
    tiny_config,
    train,
)
from train import checkpoint as checkpoint_module
from train import session as session_module
from train.checkpoint import newest_checkpoint
from train.config import RunConfig
from train.learner import Learner
from train.session import Session

NUM_ITERATIONS = 3
PHASES = {  # in the order of an iteration
    "synchronous": ("self-play", "learning", "gate", "suite"),
    "asynchronous": ("self-play and learning", "gate", "suite"),
}


class Moment(NamedTuple):
    """A call before or after which a run is stopped."""

    owner: type | object
    name: str
    is_after: bool
    nth: int = 1


MOMENTS = {
    "within self-play": Moment(InlinePool, "collect", True, 2),
    "before games are stored": Moment(RecordStore, "append", False),
    "once games are stored": Moment(RecordStore, "append", True, 2),
    "within learning": Moment(Learner, "step", True, 2),
    "before a candidate is judged": Moment(run_module, "promote_if_better", False),
    "before a network is promoted": Moment(Session, "promote", False),
    "once a network is promoted": Moment(Session, "promote", True),
    "before the suite": Moment(run_module, "measure", False),
    "before a checkpoint": Moment(checkpoint_module, "save_weights", False),
    "within a checkpoint": Moment(checkpoint_module, "write_manifest", False),
    "before it has its name": Moment(checkpoint_module, "_put_in_place", False),
    "once it has its name": Moment(checkpoint_module, "_put_in_place", True),
    "before the summary": Moment(session_module, "write_state", False),
}


def config_of(loop: str, folder: Path, **changes: object) -> RunConfig:
    """Returns a run that measures a suite in every iteration, and promotes every candidate."""
    suite = folder / "suite.json"
    positions = [{"moves": "0 3 1 4", "best": ["2"]}]
    suite.write_text(json.dumps({"positions": positions}), encoding="utf-8")
    settings: dict[str, object] = {
        "suite.file": str(suite),
        "suite.every_minutes": 1e-9,
        "gate.threshold_percent": 0,
        "train.batch_size": 8,  # some steps in each iteration
    }
    return tiny_config(settings | changes, loop=loop)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each loop the folder of a run that never stopped; its suite lies beside it."""
    folders = {}
    for loop in PHASES:
        parent = tmp_path_factory.mktemp(loop)
        folders[loop] = parent / "whole"
        end_after(folders[loop], config_of(loop, parent), iterations=NUM_ITERATIONS)
        assert log_lines(folders[loop], "iteration")[0]["step"] > 2
    return folders


def finish_and_compare(folder: Path, whole: Path, config: RunConfig) -> None:
    end_after(folder, config, iterations=NUM_ITERATIONS)
    assert_same_runs(folder, whole)
    assert (folder / "best").read_text() == (whole / "best").read_text()
    names = streams(stored_records(folder))
    assert len(names) == len(set(names))


@pytest.mark.parametrize("loop", PHASES)
@pytest.mark.parametrize("how", STOPS)
def test_a_run_stopped_at_the_beginning_of_each_phase_in_turn(
    how: str, loop: str, whole: dict[str, Path], tmp_path: Path
) -> None:
    config = config_of(loop, whole[loop].parent)
    for phase in PHASES[loop]:
        stop_in_phase(tmp_path / "run", config, phase, nth=1, stop=STOPS[how])
    finish_and_compare(tmp_path / "run", whole[loop], config)


@pytest.mark.parametrize("loop", PHASES)
@pytest.mark.parametrize("how", STOPS)
def test_a_run_stopped_within_each_phase_and_within_saving_in_turn(
    how: str, loop: str, whole: dict[str, Path], tmp_path: Path
) -> None:
    run, config = tmp_path / "run", config_of(loop, whole[loop].parent)
    end_after(run, config, iterations=1)
    for moment in MOMENTS.values():
        stop_at(run, config, moment, STOPS[how])
        found = newest_checkpoint(run)
        assert found is not None
        if found[1].state["counters"]["iteration"] == NUM_ITERATIONS:
            break
    finish_and_compare(run, whole[loop], config)


@pytest.mark.slow
@pytest.mark.parametrize("loop", PHASES)
@pytest.mark.parametrize("how", STOPS)
@pytest.mark.parametrize("name", MOMENTS)
def test_a_run_stopped_twice_at_a_moment(
    name: str, how: str, loop: str, whole: dict[str, Path], tmp_path: Path
) -> None:
    run, config = tmp_path / "run", config_of(loop, whole[loop].parent)
    end_after(run, config, iterations=1)
    for _ in range(2):
        stop_at(run, config, MOMENTS[name], STOPS[how])
    finish_and_compare(run, whole[loop], config)


def stop_at(run: Path, config: RunConfig, moment: Moment, stop: Callable[[], None]) -> None:
    owner, name, is_after, nth = moment
    stop_at_call(run, config, owner, name, nth=nth, stop=stop, after=is_after)


def test_ctrl_c_and_kills_in_turn(whole: dict[str, Path], tmp_path: Path) -> None:
    run, config = tmp_path / "run", config_of("synchronous", whole["synchronous"].parent)
    stop_in_phase(run, config, "suite", nth=1, stop=kill)  # before learning
    stop_at(run, config, MOMENTS["within self-play"], press_ctrl_c)
    stop_in_phase(run, config, "learning", nth=1, stop=press_ctrl_c)
    stop_at(run, config, MOMENTS["within learning"], kill)
    stop_in_phase(run, config, "gate", nth=1, stop=press_ctrl_c)
    stop_at(run, config, MOMENTS["once games are stored"], kill)
    stop_in_phase(run, config, "suite", nth=1, stop=press_ctrl_c)
    finish_and_compare(run, whole["synchronous"], config)


# ----- games that are played again


def test_games_that_come_out_otherwise_are_kept_as_they_were_and_not_stored_twice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run, config = tmp_path / "run", tiny_config()
    end_after(run, config, iterations=1)
    stop_in_phase(run, config, "learning", nth=1, stop=kill)
    before = record_files(run)
    end_after(run, tiny_config({"selfplay.num_simulations": 9}), iterations=3)
    after = record_files(run)
    assert {name: after[name] for name in before} == before
    names = streams(stored_records(run))
    assert len(names) == len(set(names))
    assert "differ from those on the disk" in caplog.text
    found = newest_checkpoint(run)
    assert found is not None
    assert found[1].state["num_games"] == len(names)


def test_an_iteration_that_was_stopped_is_finished_though_the_limit_is_reached(
    tmp_path: Path,
) -> None:
    config = tiny_config(games=12)
    train(tmp_path / "whole", config)
    stop_in_phase(tmp_path / "parts", config, "learning", nth=2, stop=press_ctrl_c)
    assert len(stored_records(tmp_path / "parts")) >= 12
    train(tmp_path / "parts", config, resume=True)
    assert_same_runs(tmp_path / "whole", tmp_path / "parts")


def test_a_resumed_run_says_how_many_games_are_played_again(tmp_path: Path) -> None:
    run, config = tmp_path / "run", tiny_config(games=18)
    stop_in_phase(run, config, "learning", nth=1, stop=kill)
    num_games = len(stored_records(run))
    progress = FakeProgress()
    train(run, config, resume=True, progress=progress)
    assert progress.messages[0] == (
        f"going on at step 0 with {num_games} games; {num_games} of them, of an iteration that was"
        " stopped, are played again"
    )


def test_sittings_shorter_than_an_iteration_get_beyond_it(tmp_path: Path) -> None:
    run, config = tmp_path / "run", tiny_config({"selfplay.games_per_call": 2}, games=12)
    stop_at(run, config, MOMENTS["within self-play"], press_ctrl_c)
    num_games = len(stored_records(run))
    assert num_games >= 4
    stop_at_call(run, config, InlinePool, "collect", nth=1, stop=press_ctrl_c)
    found = newest_checkpoint(run)
    assert found is not None
    assert found[1].state["num_games"] == num_games  # they are learnt from as they are
    result = train(run, config, resume=True)
    names = streams(stored_records(run))
    assert len(names) == len(set(names)) == result.num_games >= 12


def test_ctrl_c_after_the_time_is_over_loses_nothing_of_the_last_iteration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_in = Session.take_in

    def take_in_for_an_hour(session: Session, reports: list[PlayReport]) -> None:
        take_in(session, reports)
        session.clock._seconds_before += 3600

    monkeypatch.setattr(Session, "take_in", take_in_for_an_hour)
    run, config = tmp_path / "run", replace(config_of("synchronous", tmp_path), minutes=60)
    stop_in_phase(run, config, "suite", nth=2, stop=press_ctrl_c)  # the first is before learning
    found = newest_checkpoint(run)
    assert found is not None
    assert 0 < found[1].state["num_games"] == len(stored_records(run)) < config.games_per_iteration
    assert found[1].step > 0


def test_what_an_iteration_measures_after_a_stop_is_drawn(tmp_path: Path) -> None:
    run, config = tmp_path / "run", replace(config_of("synchronous", tmp_path), games=6)
    stop_in_phase(run, config, "gate", nth=1, stop=press_ctrl_c)
    train(run, config, resume=True)
    events = EventAccumulator(str(run / "tensorboard")).Reload()
    (step,) = {event.step for event in events.Scalars("gate/promoted")}
    assert [event.step for event in events.Scalars("suite/search")] == [0, step]
    assert [event.step for event in events.Scalars("selfplay/games")] == [step]
