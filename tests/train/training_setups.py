"""A small trainer and made-up rows, shared by the tests of trainer and checkpoints."""

from dataclasses import replace

import numpy as np

from alphago.games import make_game
from alphago.network.network import NetworkConfig
from train.targets import TrainingRows
from train.trainer import Trainer
from train.trainer_config import TrainerConfig

TTT = make_game("tic_tac_toe")
TINY = NetworkConfig(
    num_blocks=1,
    num_channels=8,
    pooling_channels=0,
    heads="fixed",
    policy_channels=2,
    value_channels=1,
    value_hidden=8,
    auxiliary=[],
)


# Made-up targets will do: tic-tac-toe knows no territory.
TINY_AUXILIARY = replace(TINY, auxiliary=["ownership", "score"])


def trainer_config(**changes: object) -> TrainerConfig:
    settings: dict[str, object] = {
        "batch_size": 16,
        "optimizer": "sgd",
        "learning_rate": 0.05,
        "momentum": 0.9,
        "weight_decay": 1e-4,
        "warmup_steps": 0,
        "schedule": "constant",
        "final_learning_rate_fraction": 0.1,
        "gradient_clip": 1.0,
        "ema_decay": None,
        "ownership_weight": 1.5,
        "score_weight": 0.6,
        "precision": "fp32",
        "num_threads": 1,
    }
    return TrainerConfig(**(settings | changes))


def make_trainer(*, seed: int = 0, network: NetworkConfig = TINY, **changes: object) -> Trainer:
    return Trainer(TTT.spec, network, trainer_config(**changes), device="cpu", seed=seed)


def random_rows(seed: int, *, num_rows: int = 16) -> TrainingRows:
    rng = np.random.default_rng(seed)
    return TrainingRows(
        observations=rng.integers(0, 2, (num_rows, 3, 3, 3)).astype(np.uint8),
        policy_targets=rng.dirichlet(np.ones(9), num_rows).astype(np.float32),
        value_targets=rng.choice([-1, 0, 1], num_rows).astype(np.float32),
    )


def auxiliary_rows(seed: int, *, num_rows: int = 16) -> TrainingRows:
    """Returns rows for a trainer of `TINY_AUXILIARY`."""
    rng = np.random.default_rng([seed, 1])
    return random_rows(seed, num_rows=num_rows)._replace(
        auxiliary={
            "ownership": rng.integers(-1, 2, (num_rows, 9)).astype(np.int8),
            "score": rng.normal(0, 15, num_rows).astype(np.float32),
        }
    )
