"""Auxiliary heads in training: their targets, their losses, and runs that have them."""

import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from alphago.errors import ConfigError, TrainingError
from alphago.games import make_game
from alphago.games.game import Game
from alphago.network.auxiliary_heads import AUXILIARY_HEADS
from alphago.network.network import make_network
from alphago.types import EMPTY
from selfplay.records import GameRecord
from tests.reference.game_records import make_record, random_records
from tests.train.test_run_determinism import stop_after
from tests.train.tiny import NETWORK, assert_same_runs, game_config, log_lines, tiny_config
from tests.train.training_setups import TINY_AUXILIARY, TTT, auxiliary_rows, make_trainer
from train.auxiliary import AUXILIARY_TARGETS, AuxiliaryWeights
from train.losses import auxiliary_losses, compute_losses
from train.replay_buffer import ReplayBuffer
from train.targets import TrainingRows, rows_from_records
from train.trainer import HIGHEST_LOSS

HEADS = ["ownership", "score"]
GAMES = ("go_4x3:komi=2.5,max_moves=20", "go_3x3:komi=0", "go_4x4:rules=japanese,komi=0.5")


def with_rules(game: Game, records: list[GameRecord]) -> list[GameRecord]:
    return [replace(record, rules=game.spec.rules) for record in records]


def slow_targets(game: Game, record: GameRecord) -> tuple[list[list[int]], list[float]]:
    """The oracle: the final position, seen by the player to move of each position learnt from."""
    movers, states = [], game.initial_states(1)
    for action in record.actions.tolist():
        movers.append(int(game.to_play(states)[0]))
        states = game.step(states, [action])
    owners, lead = game.owners(states)[0].reshape(-1).tolist(), float(game.score(states)[0])
    ownership, scores = [], []
    for mover, is_target in zip(movers, record.is_target, strict=True):
        if is_target:
            ownership.append([0 if o == EMPTY else 1 if o == mover else -1 for o in owners])
            scores.append(lead if mover == 0 else -lead)
    return ownership, scores


@pytest.mark.parametrize("name", GAMES)
def test_targets_equal_a_slow_loop(name: str) -> None:
    game = make_game(name)
    records = with_rules(game, random_records(game, num_games=25, seed=6))
    rows = rows_from_records(game, records, auxiliary=HEADS)
    found = [slow_targets(game, record) for record in records]
    ownership = np.array([cells for cells_of_game, _ in found for cells in cells_of_game])
    assert rows.auxiliary["ownership"].dtype == np.int8
    np.testing.assert_array_equal(rows.auxiliary["ownership"], ownership)
    assert rows.auxiliary["score"].dtype == np.float32
    np.testing.assert_array_equal(rows.auxiliary["score"], [s for _, each in found for s in each])
    assert any(record.truncated for record in records) or "max_moves" not in name


def test_a_small_game_by_hand() -> None:
    # X X .   Black has five points and the corner, White nothing: 6 less komi 0.5.
    # X X X   Black is to move in rows 0, 2 ..., White in between.
    game = make_game("go_3x2:komi=0.5")
    passes = game.spec.pass_action
    record = make_record(game, [0, passes, 1, passes, 3, passes, 4, passes, 5, passes, passes])
    rows = rows_from_records(game, with_rules(game, [record]), auxiliary=HEADS)
    assert rows.auxiliary["score"].tolist() == [5.5, -5.5] * 5 + [5.5]
    signs = [1, -1] * 5 + [1]
    assert rows.auxiliary["ownership"].tolist() == [[sign] * 6 for sign in signs]


def test_without_heads_there_are_no_targets() -> None:
    records = random_records(TTT, num_games=3, seed=1)
    assert rows_from_records(TTT, records).auxiliary == {}
    assert len(rows_from_records(TTT, records).arrays()) == 3


def test_no_records_give_empty_targets() -> None:
    game = make_game("go_3x3")
    rows = rows_from_records(game, [], auxiliary=HEADS)
    assert rows.auxiliary["ownership"].shape == (0, 9)
    assert rows.auxiliary["score"].shape == (0,)


def buffer_of(game: Game, rows: TrainingRows) -> ReplayBuffer:
    changes = {"replay.holdout_fraction": 0.5, "replay.samples_per_position": 1e6}
    buffer = ReplayBuffer(game.spec, tiny_config(changes).replay, auxiliary=HEADS)
    buffer.append(rows)
    buffer.append_held_out(rows)
    return buffer


@pytest.mark.parametrize("name", ["go_4x3:komi=2.5,max_moves=20", "go_3x3:komi=0"])
def test_samples_carry_the_targets_of_the_transformed_game(name: str) -> None:
    game = make_game(name)
    records = with_rules(game, random_records(game, num_games=2, seed=11))
    expected = set()
    for record in records:
        for symmetry in game.spec.symmetries:
            images = np.argsort(symmetry.actions)
            moved = replace(
                record,
                actions=images[record.actions].astype(np.int16),
                target_actions=images[record.target_actions].astype(np.int16),
            )
            rows = rows_from_records(game, [moved], auxiliary=HEADS)
            expected |= {
                tuple(row.tobytes() for row in each) for each in zip(*parts(rows), strict=True)
            }
    buffer = buffer_of(game, rows_from_records(game, records, auxiliary=HEADS))
    sample = buffer.sample(4000, np.random.default_rng(0))
    got = {tuple(row.tobytes() for row in each) for each in zip(*parts(sample), strict=True)}
    assert got == expected


def parts(rows: TrainingRows) -> tuple[np.ndarray, ...]:
    """Returns what tells a position and its auxiliary targets."""
    return rows.observations, rows.auxiliary["ownership"], rows.auxiliary["score"]


def test_held_out_rows_come_back_as_they_went_in() -> None:
    game = make_game("go_4x3:komi=2.5,max_moves=20")
    records = with_rules(game, random_records(game, num_games=2, seed=3))
    rows = rows_from_records(game, records, auxiliary=HEADS)
    held_out = buffer_of(game, rows).newest_held_out(1000)
    for name in HEADS:
        array = held_out.auxiliary[name]
        assert array.dtype == rows.auxiliary[name].dtype
        np.testing.assert_array_equal(array, rows.auxiliary[name][::-1][: len(array)])


def test_owners_take_two_bits_a_cell_in_the_window() -> None:
    game = make_game("go_9x9")
    ring = ReplayBuffer(game.spec, tiny_config().replay, auxiliary=HEADS)._learnt
    assert ring._auxiliary["ownership"].nbytes == ring.capacity * math.ceil(2 * 81 / 8)


# --- the trainer


def test_all_lists_of_heads_have_the_same_names() -> None:
    heads = list(AUXILIARY_HEADS)
    assert list(AUXILIARY_TARGETS) == heads
    assert [field.name for field in fields(AuxiliaryWeights)] == [f"{h}_weight" for h in heads]
    game = make_game("go_3x3:komi=0")
    records = with_rules(game, random_records(game, num_games=1, seed=1))
    assert list(rows_from_records(game, records, auxiliary=heads).auxiliary) == heads
    trainer = make_trainer(network=replace(TINY_AUXILIARY, auxiliary=heads))
    assert list(trainer.step(auxiliary_rows(1), 0.0).auxiliary) == heads


def test_large_auxiliary_losses_are_no_divergence() -> None:
    trainer = make_trainer(network=TINY_AUXILIARY, score_weight=20.0)
    rows = auxiliary_rows(1)
    rows.auxiliary["score"][:] = 300.0
    metrics = trainer.step(rows, 0.0)
    assert metrics.loss > HIGHEST_LOSS > metrics.policy_loss + metrics.value_loss


def test_a_large_loss_of_policy_or_value_is_one_and_both_are_told() -> None:
    trainer = make_trainer(network=TINY_AUXILIARY)
    rows = auxiliary_rows(1)
    rows.value_targets[:] = 20.0
    with pytest.raises(TrainingError, match=r"diverged: loss .*\(policy 2\..*, value [34]\d\d\."):
        trainer.step(rows, 0.0)


def test_the_loss_by_hand_and_its_parts() -> None:
    trainer = make_trainer(network=TINY_AUXILIARY, ownership_weight=0.7, score_weight=0.2)
    rows = auxiliary_rows(1)
    network = make_network(TTT.spec, TINY_AUXILIARY, seed=0).train()
    outputs = network.all_outputs(torch.tensor(rows.observations).float())
    terms = compute_losses(
        outputs.logits,
        outputs.values,
        policy_targets=torch.tensor(rows.policy_targets),
        value_targets=torch.tensor(rows.value_targets),
    )
    targets = {name: torch.tensor(array) for name, array in rows.auxiliary.items()}
    losses = auxiliary_losses(outputs.auxiliary, targets)
    metrics = trainer.step(rows, 0.0)
    assert metrics.auxiliary == pytest.approx({n: loss.item() for n, loss in losses.items()})
    total = terms.policy + terms.value + 0.7 * losses["ownership"] + 0.2 * losses["score"]
    assert metrics.loss == pytest.approx(total.item(), rel=1e-5)
    assert metrics.loss > metrics.policy_loss + metrics.value_loss


def test_auxiliary_heads_learn_and_their_average_is_measured() -> None:
    settings = {"optimizer": "adamw", "learning_rate": 0.02, "ema_decay": 0.9}
    trainer = make_trainer(network=TINY_AUXILIARY, **settings)
    rows = auxiliary_rows(1)
    first = trainer.step(rows, 0.0).auxiliary
    for _ in range(300):
        last = trainer.step(rows, 0.0).auxiliary
    assert last["ownership"] < 0.8 * first["ownership"]
    assert last["score"] < 0.3 * first["score"]
    measured = trainer.validate(rows).auxiliary
    assert measured["score"] < 0.5 * first["score"]
    assert measured.keys() == first.keys()


def test_five_steps_and_five_after_a_resume_are_ten() -> None:
    settings = {"optimizer": "adamw", "ema_decay": 0.9, "network": TINY_AUXILIARY}
    whole, stopped = make_trainer(**settings), make_trainer(**settings)
    for step in range(5):
        whole.step(auxiliary_rows(step), 0.0)
        stopped.step(auxiliary_rows(step), 0.0)
    resumed = make_trainer(seed=9, **settings)
    resumed.load_state_dict(*stopped.state_dict())
    for step in range(5, 10):
        assert whole.step(auxiliary_rows(step), 0.0) == resumed.step(auxiliary_rows(step), 0.0)
    for name, array in whole.play_weights().items():
        np.testing.assert_array_equal(array, resumed.play_weights()[name])


def test_a_target_that_is_not_finite_stops_the_run() -> None:
    trainer = make_trainer(network=TINY_AUXILIARY)
    rows = auxiliary_rows(1)
    rows.auxiliary["score"][3] = math.nan
    with pytest.raises(TrainingError, match="step 0: training has diverged"):
        trainer.step(rows, 0.0)


# --- runs


def go_config(**changes: object):
    settings = {"selfplay.num_simulations": 3, "selfplay.pass_guard": 0.5} | changes
    return tiny_config(
        settings,
        game=game_config("go_5x5", komi=24.5, max_moves=25),
        network=replace(NETWORK, heads="pooled", auxiliary=HEADS),
        games_per_iteration=4,
    )


def test_a_resumed_run_of_go_equals_one_that_never_stopped(tmp_path: Path) -> None:
    config = go_config()
    stop_after(3, config, tmp_path / "whole", resume=False)
    stop_after(2, config, tmp_path / "parts", resume=False)
    stop_after(1, config, tmp_path / "parts", resume=True)
    assert_same_runs(tmp_path / "whole", tmp_path / "parts")
    (*_, last) = log_lines(tmp_path / "parts", "iteration")
    for tag in ("loss/ownership", "loss/score", "heldout/ownership_loss", "heldout/score_loss"):
        assert 0 < last[tag] < 10


def test_heads_without_targets_are_refused_in_one_line() -> None:
    with pytest.raises(
        ConfigError, match=r"^network.auxiliary: .*\[\], what tic_tac_toe has targets for"
    ):
        tiny_config(network=replace(NETWORK, auxiliary=["score"]))
