"""One sitting: its parts, what it restores, and its random streams."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from alphago.errors import CheckpointError
from tests.train.tiny import stored_records, tiny_config, train
from train import session as session_module
from train import trainer_setup
from train.checkpoint import load_checkpoint, newest_checkpoint, save_checkpoint
from train.config import RunConfig
from train.replay_buffer import ReplayBuffer
from train.run_folder import ACTORS_PER_SITTING, locked
from train.session import Session, open_session
from train.trainer_config import TrainerConfig


def content(buffer: ReplayBuffer) -> dict[str, np.ndarray]:
    """Returns all a buffer holds, newest first, learnt and held-out positions."""
    arrays = {}
    for name, ring in (("learnt", buffer._learnt), ("held out", buffer._held_out)):
        rows = ring.take(np.arange(ring.num_rows))
        arrays |= {f"{name} {field}": getattr(rows, field) for field in rows._fields}
    return arrays


def assert_same_buffers(one: ReplayBuffer, other: ReplayBuffer) -> None:
    first, second = content(one), content(other)
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], err_msg=name)
    assert one.state_dict() == other.state_dict()
    assert one.window == other.window


def play_and_learn(session: Session, *, num_games: int) -> None:
    session.begin_iteration()
    while session.totals.num_games < num_games:
        session.take_in(session.pool.collect(1.0))
        while session.learner.may_learn():
            session.learner.step(0.0)


VARIANTS = {
    "plain": {},
    "small window": {"replay.window_size": 30},
    "small window, many held out": {"replay.window_size": 30, "replay.holdout_fraction": 0.5},
    "growing window": {
        "replay.window_growth": "katago",
        "replay.window_min": 20,
        "replay.holdout_fraction": 0.0,
    },
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_restored_window_is_the_one_that_was_left(name: str, tmp_path: Path) -> None:
    config = tiny_config(VARIANTS[name])
    with open_session(config, tmp_path, resume=False) as kept:
        play_and_learn(kept, num_games=14)
        kept.save()
        assert kept.trainer.num_steps > 0
    with open_session(config, tmp_path, resume=True) as restored:
        assert_same_buffers(restored.learner.buffer, kept.learner.buffer)
        assert restored.learner.rng.bit_generator.state == kept.learner.rng.bit_generator.state
        assert restored.counters == kept.counters
        assert restored.stop_rule is not kept.stop_rule


def kill_after_a_checkpoint(config: RunConfig, folder: Path) -> Session:
    """Returns a session that was killed with games later than its checkpoint."""
    with open_session(config, folder, resume=False) as killed:
        play_and_learn(killed, num_games=6)
        killed.save()
        play_and_learn(killed, num_games=8)
    return killed


def test_games_after_the_checkpoint_are_played_again_into_the_restored_window(
    tmp_path: Path,
) -> None:
    config = tiny_config({"train.batch_size": 500})
    killed = kill_after_a_checkpoint(config, tmp_path)
    with open_session(config, tmp_path, resume=True) as restored:
        num_games = killed.store.num_games
        saved = load_checkpoint(tmp_path / "checkpoints" / "00000000").state["num_games"]
        assert (restored.store.num_games, restored.num_games) == (num_games, saved)
        assert saved < num_games
        play_and_learn(restored, num_games=8)
        assert_same_buffers(restored.learner.buffer, killed.learner.buffer)
        assert restored.store.num_games == restored.num_games == num_games
        assert restored.counters.iteration == 1


def test_games_after_the_checkpoint_of_actors_that_are_gone_are_in_the_restored_window(
    tmp_path: Path,
) -> None:
    config = tiny_config({"train.batch_size": 500})
    killed = kill_after_a_checkpoint(config, tmp_path)
    found = load_checkpoint(tmp_path / "checkpoints" / "00000000")
    save_checkpoint(tmp_path, dataclasses.replace(found, state=found.state | {"selfplay": None}))
    with open_session(config, tmp_path, resume=True) as restored:
        assert_same_buffers(restored.learner.buffer, killed.learner.buffer)
        assert restored.store.num_games == restored.num_games == killed.store.num_games


def test_a_checkpoint_of_an_older_version_begins_a_new_iteration(tmp_path: Path) -> None:
    config = tiny_config(games=6)
    num_games = train(tmp_path, config).num_games
    found = newest_checkpoint(tmp_path)
    assert found is not None
    del found[1].state["counters"]["games_at_start"]
    save_checkpoint(tmp_path, found[1])
    with open_session(config, tmp_path, resume=True) as session:
        assert session.counters.games_at_start == num_games
        session.begin_iteration()
        assert session.counters.iteration == 2


def test_an_iteration_that_was_stopped_before_its_first_game_counts_once(tmp_path: Path) -> None:
    train(tmp_path, tiny_config(games=6))
    for _ in range(2):
        with open_session(tiny_config(), tmp_path, resume=True) as session:
            session.begin_iteration()
            assert session.counters.iteration == 2
            session.stop_rule.interrupted = True
            session.end_iteration()


def test_a_new_run_is_saved_before_its_first_game(tmp_path: Path) -> None:
    config = tiny_config()
    with open_session(config, tmp_path, resume=False) as session:
        saved = load_checkpoint(tmp_path / "checkpoints" / "00000000")
        for name, array in session.best.items():
            np.testing.assert_array_equal(array, saved.best_weights[name])
    text = (tmp_path / "config.yaml").read_text(encoding="utf-8")
    assert text == saved.config_text
    loaded = yaml.safe_load(text)
    assert loaded["game"]["name"] == "tic_tac_toe"
    assert loaded["games_per_iteration"] == 6
    assert loaded.keys() == RunConfig.__dataclass_fields__.keys()


def test_a_run_killed_before_its_first_checkpoint_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(session: Session) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Session, "save", kill)
        train(tmp_path, tiny_config(games=6))
    result = train(tmp_path, tiny_config(games=6), resume=True)
    assert result.num_games >= 6


def test_games_without_any_checkpoint_are_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    train(tmp_path / "run", tiny_config(games=6))
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "run" / "records").rename(other / "records")
    with pytest.raises(CheckpointError, match="no checkpoint"):
        train(other, tiny_config(games=12), resume=True)
    assert len(stored_records(other)) >= 6
    assert sorted(path.name for path in other.iterdir()) == ["lock", "records"]


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path) -> None:
    train(tmp_path, tiny_config(games=6))
    with pytest.raises(CheckpointError, match=r"network .*num_channels=8.* run .*num_channels=4"):
        train(tmp_path, tiny_config({"network.num_channels": 4}, games=12), resume=True)
    with locked(tmp_path):
        pass


def test_a_checkpoint_of_another_game_is_refused_by_both_names(tmp_path: Path) -> None:
    with open_session(tiny_config(), tmp_path, resume=False) as session:
        found = load_checkpoint(tmp_path / "checkpoints" / "00000000")
        foreign = dataclasses.replace(found, game="connect_four")
        with pytest.raises(CheckpointError, match="is connect_four, that of the run tic_tac_toe"):
            session.restore(foreign)


ODD_STATES: dict[str, Callable[[dict[str, Any]], object]] = {
    "num_games": lambda state: state.pop("num_games"),
    "mapping": lambda state: state.update(counters=[1]),
    "best_step": lambda state: state["counters"].pop("best_step"),
    "iteration": lambda state: state["counters"].update(iteration="x"),
    "version": lambda state: state["counters"].update(version=True),
    "best_progress": lambda state: state["counters"].update(best_progress=1.5),
    "games_at_start": lambda state: state["counters"].update(games_at_start=-1),
    "seconds": lambda state: state["counters"].update(seconds=-1.0),
    "unknown": lambda state: state["counters"].update(unknown=1),
    "samples_drawn": lambda state: state["buffer"].pop("samples_drawn"),
    "PCG64": lambda state: state["sampling_rng"].pop("bit_generator"),
    "num_steps": lambda state: state["trainer"].update(num_steps=None),
    "optimizer": lambda state: state["trainer"].pop("optimizer"),
    "best_checkpoint": lambda state: state.update(best_checkpoint=7),
    "selfplay": lambda state: state.update(selfplay="all of them"),
    "unfinished games": lambda state: state["selfplay"].update(games=[{"index": 0}]),
}


@pytest.mark.parametrize("named", ODD_STATES)
def test_a_state_that_cannot_be_used_is_refused(named: str, tmp_path: Path) -> None:
    with open_session(tiny_config(), tmp_path, resume=False) as session:
        found = load_checkpoint(tmp_path / "checkpoints" / "00000000")
        ODD_STATES[named](found.state)
        with pytest.raises(CheckpointError, match=f"state.*{named}"):
            session.restore(found)


def test_a_checkpoint_whose_state_is_odd_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    train(tmp_path, tiny_config(games=12))
    found = newest_checkpoint(tmp_path)
    assert found is not None
    odd = dataclasses.replace(found[1], state={"games": 3})
    save_checkpoint(tmp_path, odd)
    result = train(tmp_path, tiny_config(games=18), resume=True)
    assert result.num_games >= 18
    assert f"checkpoint {found[0].name} is broken" in caplog.text
    assert (tmp_path / "checkpoints" / "broken" / found[0].name).is_dir()


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"train.optimizer": "sgd"}, "optimizer"), ({"train.ema_decay": 0.9}, "average")],
)
def test_options_a_checkpoint_contradicts_are_refused_and_not_kept(
    changes: dict[str, object], named: str, tmp_path: Path
) -> None:
    train(tmp_path, tiny_config(games=6))
    before = (tmp_path / "config.yaml").read_text(encoding="utf-8")
    with pytest.raises(CheckpointError, match=named):
        train(tmp_path, tiny_config(changes, games=12), resume=True)
    assert (tmp_path / "config.yaml").read_text(encoding="utf-8") == before
    assert train(tmp_path, tiny_config(games=12), resume=True).num_games >= 12


def test_streams_of_a_run_are_all_different(tmp_path: Path) -> None:
    with open_session(tiny_config(), tmp_path, resume=False) as session:
        draws = {session.learner.rng.random()}
        gates = set()
        for _ in range(5):
            session.begin_iteration()
            gates.add(session.seed_of_iteration())
    assert len(gates) == 5
    games = [[1, actor, number] for actor in range(4) for number in range(50)]
    games += [[1, ACTORS_PER_SITTING, number] for number in range(50)]
    draws |= {np.random.default_rng(entropy).random() for entropy in games}
    assert len(draws) == len(games) + 1


def test_seeds_of_gates_are_those_of_the_iteration_after_a_resume(tmp_path: Path) -> None:
    config = tiny_config()
    with open_session(config, tmp_path, resume=False) as first:
        first.begin_iteration()
        first.save()
        first.begin_iteration()
        expected = first.seed_of_iteration()
    with open_session(config, tmp_path, resume=True) as second:
        second.begin_iteration()
        assert second.seed_of_iteration() == expected


@pytest.mark.parametrize(
    ("loop", "mode", "device", "expected"),
    [
        ("asynchronous", "ray", "cpu", 2),
        ("asynchronous", "ray", "cuda", 5),
        ("asynchronous", "inline", "cpu", 5),  # plays in the thread that learns
        ("synchronous", "ray", "cpu", 5),
    ],
)
def test_beside_actors_a_trainer_on_cpus_takes_half_of_them(
    loop: str,
    mode: str,
    device: str,
    expected: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []

    class NoTrainer(Exception):
        pass

    def make_no_trainer(spec: object, network: object, train: TrainerConfig, **_: object) -> None:
        made.append(train.num_threads)
        raise NoTrainer

    monkeypatch.setattr(trainer_setup, "Trainer", make_no_trainer)
    monkeypatch.setattr(trainer_setup, "num_threads_for", lambda team: 5)
    monkeypatch.setattr(session_module, "choose_device", lambda name: torch.device(device))
    for num_threads in (None, 3):
        config = tiny_config({"train.num_threads": num_threads, "selfplay.mode": mode}, loop=loop)
        with pytest.raises(NoTrainer):
            Session(config, tmp_path, sitting=0)
    assert made == [expected, 3]


def test_recent_positions_are_of_the_window_and_the_same_after_a_resume(tmp_path: Path) -> None:
    config = tiny_config()
    with open_session(config, tmp_path, resume=False) as session:
        before = session.recent_positions()  # of random games, as there is nothing else
        assert before.shape == (
            config.evaluator.num_positions,
            *session.game.spec.observation_shape,
        )
        np.testing.assert_array_equal(session.recent_positions(), before)
        np.testing.assert_array_equal(session.positions, before)
        play_and_learn(session, num_games=6)
        recent = session.recent_positions()
        ring = session.learner.buffer._learnt
        window = {row.tobytes() for row in ring.take(np.arange(ring.num_rows)).observations}
        assert {row.tobytes() for row in recent} <= window
        assert len(np.unique(recent, axis=0)) > 1
        np.testing.assert_array_equal(session.positions, before)  # the best network's
        session.promote(session.learner.play_weights())
        np.testing.assert_array_equal(session.positions, recent)
        session.save()
    with open_session(config, tmp_path, resume=True) as resumed:
        np.testing.assert_array_equal(resumed.positions, recent)
        np.testing.assert_array_equal(resumed.recent_positions(), recent)
