"""A head that only this file knows: what two tables say of it is all that training needs."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from alphago.games import make_game
from alphago.games.game import Game
from alphago.network.auxiliary_heads import AUXILIARY_HEADS, AuxiliaryHead
from alphago.network.heads import FixedPolicyHead
from selfplay.records import GameRecord
from tests.reference.game_records import make_record, random_records
from tests.train.test_run_determinism import stop_after
from tests.train.tiny import NETWORK, assert_same_runs, game_config, log_lines, tiny_config
from train.auxiliary import AUXILIARY_TARGETS, AuxiliaryTarget, Layout
from train.config import RunConfig
from train.replay_buffer import ReplayBuffer
from train.replayed_games import ReplayedGames
from train.targets import TrainingRows, rows_from_records
from train.trainer import Trainer
from train.trainer_config import TrainerConfig

HEADS = ["reply"]
TTT = make_game("tic_tac_toe")
C4 = make_game("connect_four")  # whose actions are no cells


class ReplyHead(AuxiliaryHead):
    """Which action will be played after this position's, as logits [B, A]."""

    def __init__(self, spec, config):
        super().__init__()
        self.policy = FixedPolicyHead(spec, num_inputs=config.num_channels, num_channels=2)

    def forward(self, inputs):
        return self.policy(inputs.planes)

    def final_layers(self):
        return self.policy.final_layers()


def find_replies(replayed: ReplayedGames) -> np.ndarray:
    """Returns uint8 [R, A], 1 for the action that was played next; zeros before the end."""
    num_rows, num_actions = len(replayed.game_of_row), replayed.game.spec.num_actions
    found = np.zeros((num_rows, num_actions), np.uint8)
    for row, game, ply in zip(found, replayed.game_of_row, replayed.ply_of_row, strict=True):
        row[replayed.records[game].actions[ply + 1 : ply + 2]] = 1
    return found


def reply_loss(logits: torch.Tensor, replies: torch.Tensor) -> torch.Tensor:
    return -(replies * torch.log_softmax(logits, dim=1)).sum(dim=1)


@dataclass(kw_only=True)
class ReplyConfig(TrainerConfig):
    """The trainer's settings, as with another field in `AuxiliaryWeights`."""

    reply_weight: float


@pytest.fixture(autouse=True)
def reply_head() -> Iterator[None]:
    target = AuxiliaryTarget(
        layout=Layout.ACTIONS,
        dtype=np.uint8,
        of_rows=find_replies,
        loss=reply_loss,
        suits=lambda game: True,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(AUXILIARY_HEADS, "reply", ReplyHead)
        patch.setitem(AUXILIARY_TARGETS, "reply", target)
        yield


def reply_run(name: str) -> RunConfig:
    config = tiny_config(game=game_config(name))
    network = replace(NETWORK, auxiliary=HEADS)
    return replace(
        config, network=network, train=ReplyConfig(**asdict(config.train), reply_weight=2)
    )


def test_replies_by_hand() -> None:
    record = make_record(TTT, [0, 3, 1, 4, 2], is_target=[True, False, True, True, True])
    replies = rows_from_records(TTT, [record], auxiliary=HEADS).auxiliary["reply"]
    assert replies[:3].argmax(axis=1).tolist() == [3, 4, 2]
    assert replies.sum(axis=1).tolist() == [1, 1, 1, 0]


def images(game: Game, record: GameRecord) -> set[tuple[bytes, bytes]]:
    """Returns observation and reply of all positions of all images of a game."""
    found = set()
    for symmetry in game.spec.symmetries:
        moved = np.argsort(symmetry.actions)
        image = replace(
            record,
            actions=moved[record.actions].astype(np.int16),
            target_actions=moved[record.target_actions].astype(np.int16),
        )
        found |= pairs(rows_from_records(game, [image], auxiliary=HEADS))
    return found


def pairs(rows: TrainingRows) -> set[tuple[bytes, bytes]]:
    both = zip(rows.observations, rows.auxiliary["reply"], strict=True)
    return {(observation.tobytes(), reply.tobytes()) for observation, reply in both}


@pytest.mark.parametrize("game", [TTT, C4])
def test_replies_move_with_the_board(game: Game) -> None:
    (record,) = random_records(game, num_games=1, seed=5)
    buffer = ReplayBuffer(
        game.spec, tiny_config({"replay.samples_per_position": 1e6}).replay, auxiliary=HEADS
    )
    buffer.append(rows_from_records(game, [record], auxiliary=HEADS))
    assert pairs(buffer.sample(4000, np.random.default_rng(0))) == images(game, record)


def test_the_head_learns() -> None:
    config = reply_run("tic_tac_toe")
    trainer = Trainer(TTT.spec, config.network, config.train, device="cpu", seed=0)
    rows = rows_from_records(TTT, random_records(TTT, num_games=4, seed=2), auxiliary=HEADS)
    first = trainer.step(rows, 0.0).auxiliary["reply"]
    for _ in range(100):
        last = trainer.step(rows, 0.0).auxiliary["reply"]
    assert last < 0.5 * first


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four"])
def test_runs_learn_replies_and_can_be_resumed(name: str, tmp_path: Path) -> None:
    config = reply_run(name)
    stop_after(3, config, tmp_path / "whole", resume=False)
    stop_after(2, config, tmp_path / "parts", resume=False)
    stop_after(1, config, tmp_path / "parts", resume=True)
    assert_same_runs(tmp_path / "whole", tmp_path / "parts")
    (*_, last) = log_lines(tmp_path / "parts", "iteration")
    assert 0 < last["loss/reply"] < 3
    assert last["heldout/reply_loss"] > 0
    parts = last["loss/policy"] + last["loss/value"] + 2 * last["loss/reply"]
    assert last["loss/total"] == pytest.approx(parts, rel=1e-5)
