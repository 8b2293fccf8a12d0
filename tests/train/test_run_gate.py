"""Which network plays and which is saved: the gate, and training that diverges."""

from pathlib import Path

import numpy as np
import pytest

from alphago.errors import TrainingError
from alphago.types import Weights
from selfplay.pool import InlinePool
from selfplay.reports import NewNetwork
from tests.train.tiny import (
    FakeProgress,
    log_lines,
    stored_records,
    tiny_config,
    train,
)
from train.checkpoint import load_checkpoint, newest_checkpoint, read_best
from train.run_folder import locked
from train.session import Session

NEVER, ALWAYS = {"gate.threshold_percent": 101}, {"gate.threshold_percent": 0}


def same(one: Weights, other: Weights) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


# ----- the gate


class GateWatch:
    """Notes, after each iteration, what best network and trainer are."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.best: list[Weights] = []
        self.trained: list[Weights] = []
        self.versions: list[int] = []
        save = Session.save

        def watch(session: Session) -> None:
            self.best.append(session.best)
            self.trained.append(session.trainer.play_weights())
            self.versions.append(session.counters.version)
            save(session)

        monkeypatch.setattr(Session, "save", watch)


def test_after_rejections_the_best_is_untouched_and_the_trainer_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = GateWatch(monkeypatch)
    progress = FakeProgress()
    result = train(tmp_path / "run", tiny_config(NEVER, games=30), progress=progress)
    assert len(watch.best) == 6
    assert all(same(each, watch.best[0]) for each in watch.best)
    assert watch.versions == [0] * 6
    pairs = zip(watch.trained[:-1], watch.trained[1:], strict=True)
    assert not any(same(one, other) for one, other in pairs)
    assert {record.network_version for record in stored_records(tmp_path / "run")} == {0}
    assert result.best == read_best(tmp_path / "run") == "00000000"
    newest = newest_checkpoint(tmp_path / "run")
    assert newest is not None
    start = load_checkpoint(tmp_path / "run" / "checkpoints" / "00000000")  # kept: it is the best
    assert same(newest[1].best_weights, start.weights)
    assert sum("rejected" in message for message in progress.messages) == 5


def test_after_acceptances_the_version_rises_and_self_play_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = GateWatch(monkeypatch)
    result = train(tmp_path / "run", tiny_config(ALWAYS, games=24))
    assert watch.versions == [0, 1, 2, 3, 4]
    pairs = zip(watch.best[1:], watch.trained[1:], strict=True)
    assert all(same(best, trained) for best, trained in pairs)
    versions = [record.network_version for record in stored_records(tmp_path / "run")]
    assert versions[0] == 0
    assert max(versions) == 3
    assert result.best == f"{result.step:08d}"
    best = load_checkpoint(tmp_path / "run" / "checkpoints" / result.best)
    assert same(best.weights, watch.best[-1])


def test_self_play_uses_the_best_network_not_the_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[tuple[int, Weights]] = []
    publish = InlinePool.publish

    def watch(pool: InlinePool, network: NewNetwork) -> None:
        published.append((network.version, network.weights))
        publish(pool, network)

    monkeypatch.setattr(InlinePool, "publish", watch)
    train(tmp_path / "run", tiny_config(NEVER, games=18))
    start = load_checkpoint(tmp_path / "run" / "checkpoints" / "00000000")
    assert [version for version, _ in published] == [0]
    assert same(published[0][1], start.weights)
    # A resumed run starts from the best network as well, however far the trainer is.
    train(tmp_path / "run", tiny_config(NEVER, games=24), resume=True)
    assert [version for version, _ in published] == [0, 0]
    assert same(published[1][1], start.weights)


@pytest.mark.parametrize(("mode", "num_gates"), [("off", 0), ("always", 3)])
def test_gate_modes_that_promote_every_candidate(
    mode: str, num_gates: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = GateWatch(monkeypatch)
    progress = FakeProgress()
    train(tmp_path / "run", tiny_config(NEVER | {"gate.mode": mode}, games=18), progress=progress)
    assert watch.versions == [0, 1, 2, 3]
    assert progress.phases.count("gate") == num_gates
    scores = [event.get("gate/score") for event in log_lines(tmp_path / "run", "iteration")]
    assert [score is not None for score in scores] == [mode == "always"] * 3


def test_the_average_of_the_weights_is_what_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = GateWatch(monkeypatch)
    train(tmp_path / "run", tiny_config(ALWAYS | {"train.ema_decay": 0.9}, games=12))
    found = newest_checkpoint(tmp_path / "run")
    assert found is not None
    tensors = found[1].trainer_tensors
    name = "value_head.hidden.weight"
    names = [key.removeprefix("network.") for key in tensors if key.startswith("network.")]
    name = next(key for key in names if key.endswith("weight"))
    assert np.array_equal(watch.best[-1][name], tensors[f"average.{name}"])
    assert not np.array_equal(watch.best[-1][name], tensors[f"network.{name}"])


# ----- divergence


def assert_sound_checkpoint(folder: Path) -> None:
    found = newest_checkpoint(folder)
    assert found is not None
    assert found[0].name == sorted(path.name for path in (folder / "checkpoints").iterdir())[-1]
    for tensors in (found[1].weights, found[1].best_weights, found[1].trainer_tensors):
        assert all(np.isfinite(array).all() for array in tensors.values())


@pytest.mark.parametrize("mode", ["gate", "off"])
@pytest.mark.parametrize(
    "changes",
    [
        {"train.optimizer": "sgd", "train.learning_rate": 1e9},
        {"train.optimizer": "sgd", "train.learning_rate": 1e6},
        {"train.optimizer": "adamw", "train.learning_rate": 1e9},
        {"train.optimizer": "sgd", "train.learning_rate": 1e9, "train.ema_decay": 0.5},
    ],
    ids=lambda changes: " ".join(str(value) for value in changes.values()),
)
def test_a_diverged_run_ends_with_the_step_and_a_sound_checkpoint(
    changes: dict[str, object], mode: str, tmp_path: Path
) -> None:
    changes = changes | {"gate.mode": mode, "train.gradient_clip": None}
    with pytest.raises(TrainingError, match=r"step \d+"):
        train(tmp_path / "run", tiny_config(changes, games=600))
    assert_sound_checkpoint(tmp_path / "run")
    with locked(tmp_path / "run"):
        pass


def test_a_run_that_diverges_in_the_last_step_of_an_iteration_publishes_nothing_unsound(
    tmp_path: Path,
) -> None:
    # One step per iteration: there is no further step that would notice.
    changes = {"train.optimizer": "sgd", "train.learning_rate": 1e9, "train.gradient_clip": None}
    changes |= {"replay.samples_per_position": 0.6, "gate.mode": "off"}
    with pytest.raises(TrainingError, match=r"step \d+"):
        train(tmp_path / "run", tiny_config(changes, games=600))
    assert_sound_checkpoint(tmp_path / "run")
