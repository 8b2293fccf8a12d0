"""Equal seeds give equal runs, bit for bit, and a resumed run equals one that never stopped."""

from pathlib import Path

import pytest

from tests.train.tiny import (
    FakeProgress,
    assert_same_runs,
    log_lines,
    record_files,
    stored_records,
    streams,
    timeless,
    tiny_config,
    train,
)
from train.config import RunConfig
from train.run import RunResult
from train.session import Session

VARIANTS = {
    "adamw": {},
    "sgd with average": {"train.optimizer": "sgd", "train.ema_decay": 0.9},
    "growing window": {"replay.window_growth": "katago", "replay.window_min": 10},
    "small window": {"replay.window_size": 40},
    "gumbel": {"selfplay.search": "gumbel"},
    "deeper and deeper": {"selfplay.simulations_growth": 30.0},
}


def stop_after(iterations: int, config: RunConfig, folder: Path, *, resume: bool) -> RunResult:
    """Ends a sitting after so many iterations, as Ctrl-C between two of them would."""
    seen: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        save = Session.save

        def save_and_stop(session: Session) -> None:
            seen.append("save")
            save(session)
            first = 0 if resume else 1  # a new run is saved before it starts
            session.stop_rule.interrupted = len(seen) - first >= iterations

        patch.setattr(Session, "save", save_and_stop)
        return train(folder, config, resume=resume)


@pytest.mark.parametrize("loop", ["synchronous", "asynchronous"])
def test_two_runs_with_one_seed_are_equal(loop: str, tmp_path: Path) -> None:
    config = tiny_config({"train.ema_decay": 0.9}, games=18, loop=loop)
    for name in ("one", "other"):
        train(tmp_path / name, config)
    assert_same_runs(tmp_path / "one", tmp_path / "other")
    logs = [[timeless(e) for e in log_lines(tmp_path / name)] for name in ("one", "other")]
    assert logs[0] == logs[1]
    assert len([event for event in logs[0] if event["event"] == "iteration"]) == 3


def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    for seed in (1, 2):
        train(tmp_path / str(seed), tiny_config(games=6, seed=seed))
    games = [
        [tuple(record.actions.tolist()) for record in stored_records(tmp_path / seed)]
        for seed in ("1", "2")
    ]
    assert games[0] != games[1]


@pytest.mark.parametrize("name", VARIANTS)
def test_a_resumed_run_equals_one_that_never_stopped(name: str, tmp_path: Path) -> None:
    config = tiny_config(VARIANTS[name], games=1000)
    stop_after(4, config, tmp_path / "whole", resume=False)
    stop_after(2, config, tmp_path / "parts", resume=False)
    stop_after(2, config, tmp_path / "parts", resume=True)
    assert_same_runs(tmp_path / "whole", tmp_path / "parts")
    logs = [
        [timeless(event) for event in log_lines(tmp_path / run, "iteration")]
        for run in ("whole", "parts")
    ]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("loop", ["synchronous", "asynchronous"])
def test_three_resumes_in_a_row_change_nothing(loop: str, tmp_path: Path) -> None:
    config = tiny_config({"gate.threshold_percent": 0}, loop=loop)
    stop_after(4, config, tmp_path / "whole", resume=False)
    for sitting in range(4):
        stop_after(1, config, tmp_path / "parts", resume=sitting > 0)
    assert_same_runs(tmp_path / "whole", tmp_path / "parts")


def test_a_run_stopped_by_its_limit_and_resumed_with_another_equals_a_longer_one(
    tmp_path: Path,
) -> None:
    train(tmp_path / "whole", tiny_config(games=24))
    train(tmp_path / "parts", tiny_config(games=12))
    train(tmp_path / "parts", tiny_config(games=24), resume=True)
    assert_same_runs(tmp_path / "whole", tmp_path / "parts")


def test_resume_of_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    config = tiny_config(games=6)
    first = train(tmp_path / "run", config)
    records = record_files(tmp_path / "run")
    second = train(tmp_path / "run", config, resume=True)
    assert (second.step, second.num_games) == (first.step, first.num_games)
    assert record_files(tmp_path / "run") == records


def test_games_stored_after_the_last_checkpoint_are_kept_and_not_stored_twice(
    tmp_path: Path,
) -> None:
    folder, config = tmp_path / "run", tiny_config()
    stop_after(2, config, folder, resume=False)

    def kill(phase: str) -> None:
        if phase == "learning":  # the games are on the disk, the checkpoint is not
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(folder, config, resume=True, progress=FakeProgress(on_phase=kill))
    before = record_files(folder)
    num_before = len(stored_records(folder))
    assert num_before >= 18
    stop_after(2, config, folder, resume=True)
    after = record_files(folder)
    assert {name: after[name] for name in before} == before
    names = streams(stored_records(folder))
    assert len(names) > num_before
    assert len(set(names)) == len(names)


def test_later_games_are_learnt_from_after_a_kill(tmp_path: Path) -> None:
    folder, config = tmp_path / "run", tiny_config()
    stop_after(1, config, folder, resume=False)
    with pytest.raises(KeyboardInterrupt), pytest.MonkeyPatch.context() as patch:

        def kill(self: Session) -> None:
            raise KeyboardInterrupt

        patch.setattr(Session, "save", kill)
        train(folder, config, resume=True)
    seen = log_lines(folder, "iteration")[-1]["replay/positions"]
    stop_after(1, config, folder, resume=True)
    assert log_lines(folder, "iteration")[-1]["replay/positions"] == seen
    assert log_lines(folder, "sitting")[-1]["games"] == 12
