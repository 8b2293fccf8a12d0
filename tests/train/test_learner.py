"""The learning half of a run, and the numbers it gives."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import RecordError, TrainingError
from selfplay.record_store import RecordStore
from selfplay.reports import ActorMemory, PlayReport, PlayStats, sum_of_stats
from tests.reference.game_records import random_records
from tests.train.tiny import tiny_config
from tests.train.training_setups import TTT, make_trainer, random_rows
from train.learner import Learner, calibration_error
from train.play_totals import PlayTotals
from train.replay_buffer import ReplayBuffer
from train.targets import TrainingRows


def make_learner(folder: Path, *, samples: float = 2.0, holdout: float = 0.0) -> Learner:
    changes = {"replay.samples_per_position": samples, "replay.holdout_fraction": holdout}
    return Learner(
        TTT,
        RecordStore(folder, "tic_tac_toe"),
        ReplayBuffer(TTT.spec, tiny_config(changes).replay),
        make_trainer(),
        rng=np.random.default_rng(0),
    )


def test_games_are_stored_then_learnt_from(tmp_path: Path) -> None:
    learner = make_learner(tmp_path)
    records = random_records(TTT, num_games=5, seed=1)
    learner.take_in(records)
    assert learner.store.num_games == 5
    assert learner.buffer.num_positions == sum(int(r.is_target.sum()) for r in records)


def test_a_record_that_does_not_fit_the_rules_is_refused(tmp_path: Path) -> None:
    learner = make_learner(tmp_path)
    (record,) = random_records(TTT, num_games=1, seed=1)
    record.actions[1] = record.actions[0]  # the cell is taken
    with pytest.raises(RecordError, match="move 1 is illegal"):
        learner.take_in([record])


def test_steps_stop_at_the_bound_on_use(tmp_path: Path) -> None:
    learner = make_learner(tmp_path, samples=2.0)
    assert not learner.may_learn()
    learner.take_in(random_records(TTT, num_games=10, seed=1))
    positions, num_steps = learner.buffer.positions_seen, 0
    while learner.may_learn():
        learner.step(0.0)
        num_steps += 1
    assert num_steps == 2 * positions // 16  # minibatches of 16
    learner.take_in(random_records(TTT, num_games=3, seed=2, first=10))
    assert learner.may_learn()


def test_without_positions_no_step_is_made_whatever_the_counters_say(tmp_path: Path) -> None:
    learner = make_learner(tmp_path)
    # What a resumed run finds whose record files were deleted.
    learner.buffer.load_state_dict({"positions_seen": 1000, "samples_drawn": 0})
    assert not learner.may_learn()


def test_means_are_over_the_steps_since_the_last_call(tmp_path: Path) -> None:
    learner = make_learner(tmp_path, samples=8.0)
    assert learner.take_metrics() == {}
    learner.take_in(random_records(TTT, num_games=10, seed=1))
    learner.step(0.0)
    learner.take_metrics()
    steps = [learner.step(0.0), learner.step(0.0)]
    means = learner.take_metrics()
    assert means["loss/policy"] == pytest.approx(np.mean([s.policy_loss for s in steps]))
    assert means["loss/value"] == pytest.approx(np.mean([s.value_loss for s in steps]))
    assert means["loss/total"] == pytest.approx(means["loss/policy"] + means["loss/value"])
    assert means["optimizer/gradient_norm"] == pytest.approx(np.mean([s.grad_norm for s in steps]))
    assert means["optimizer/learning_rate"] == steps[-1].learning_rate
    assert learner.take_metrics() == {}


def test_validation_looks_at_held_out_games_and_changes_nothing(tmp_path: Path) -> None:
    learner = make_learner(tmp_path, holdout=0.5)
    assert learner.validate() == {}
    learner.take_in(random_records(TTT, num_games=10, seed=1))
    assert learner.buffer.num_held_out > 0
    before = learner.trainer.play_weights()
    first, second = learner.validate(), learner.validate()
    assert first == second
    assert 0 < first["heldout/policy_loss"] < 10
    for name, array in learner.trainer.play_weights().items():
        np.testing.assert_array_equal(array, before[name])
    assert learner.trainer.network.training


@pytest.mark.parametrize(
    ("num_held_out", "expected"),
    [(1, 1), (15, 15), (16, 16), (17, 16), (31, 16), (40, 32), (3000, 2048)],
)
def test_validation_looks_at_whole_minibatches(
    num_held_out: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = make_learner(tmp_path)
    assert learner.trainer.config.batch_size == 16
    rows = random_rows(1, num_rows=num_held_out)
    monkeypatch.setattr(type(learner.buffer), "num_held_out", num_held_out)
    asked: list[int] = []

    def newest(num_rows: int) -> TrainingRows:
        asked.append(num_rows)
        return rows.with_arrays([array[:num_rows] for array in rows.arrays()])

    monkeypatch.setattr(learner.buffer, "newest_held_out", newest)
    learner.validate()
    assert asked == [expected]  # each size of a batch costs memory for good


def test_a_network_that_diverged_in_its_last_step_is_not_given_out(tmp_path: Path) -> None:
    learner = make_learner(tmp_path)
    learner.take_in(random_records(TTT, num_games=10, seed=1))
    learner.play_weights()  # nothing was learnt yet, nothing can have diverged
    learner.step(0.0)
    learner.play_weights()
    for weight in learner.trainer.network.parameters():
        weight.data *= 1e25  # each is finite, what they give is not
    with pytest.raises(TrainingError, match=r"step 1: training has diverged"):
        learner.play_weights()


def test_calibration_error_by_hand() -> None:
    values = np.array([0.9, 0.9, -0.5, -0.5, -0.5, -0.5], np.float32)
    results = np.array([1, 1, 1, -1, -1, -1], np.float32)
    # Bin of 0.9: the mean result is 1, a gap of 0.1 for two; bin of -0.5: no gap for four.
    assert calibration_error(values, results) == pytest.approx(2 * 0.1 / 6, abs=1e-6)
    ends = np.array([-1.0, 1.0], np.float32)
    assert calibration_error(ends, ends) == 0.0
    assert calibration_error(ends, -ends) == pytest.approx(2.0)


def test_totals_of_an_iteration_by_hand() -> None:
    totals = PlayTotals()
    assert totals.game_facts() == {}
    assert totals.rates(2)["selfplay/positions_per_s"] == 0.0
    records = random_records(TTT, num_games=4, seed=3)
    for record, result in zip(records, (1, 0, -1, 1), strict=True):
        record.returns[:] = (result, -result)
    records[2] = replace(records[2], truncated=True)
    stats = PlayStats(
        seconds=3.0,
        seconds_evaluating=2.4,
        num_positions=15,
        num_simulations=60,
        num_evaluations=60,
        num_cached=20,
        num_leaves=60,
    )
    small, large = ActorMemory(2**20, 2**22, 0), ActorMemory(2**21, 2**20, 2**19)
    assert totals.memory() == {}
    totals.add([PlayReport(records[:1], stats, small), PlayReport(records[1:], stats, large)])
    assert list(totals.memory().values()) == [2.0, 4.0, 0.5]
    assert totals.num_games == len(totals.newest) == 4
    # Two actors played three seconds each, side by side.
    rates, num_moves = totals.rates(2), sum(len(r.actions) for r in records)
    assert rates["selfplay/positions_per_s"] == pytest.approx(30 / 3)
    assert rates["selfplay/evaluations_per_s"] == pytest.approx(120 / 3)
    assert rates["selfplay/simulations_per_s"] == pytest.approx(120 / 3)
    assert rates["selfplay/evaluation_share"] == pytest.approx(0.8)
    assert totals.game_facts() == {
        "selfplay/game_length": num_moves / 4,
        "selfplay/draws": 0.25,
        "selfplay/truncated": 0.25,
        "selfplay/first_player_score": (1 + 0.5 + 0 + 1) / 4,
        "selfplay/batch_fill": 0.75,
        "selfplay/cache_hits": 0.25,
    }


def test_totals_keep_the_newest_games_alone() -> None:
    records = random_records(TTT, num_games=30, seed=3)
    totals = PlayTotals()
    for first in range(0, 30, 10):
        report = PlayReport(records[first : first + 10], sum_of_stats([]), ActorMemory(0, 0, 0))
        totals.add([report])
    assert totals.num_games == 30
    assert list(totals.newest) == records[-4:]
    mean = sum(len(record.actions) for record in records) / 30
    assert totals.game_facts()["selfplay/game_length"] == pytest.approx(mean)
