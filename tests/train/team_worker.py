"""One of the processes of a team in `test_distributed.py`; `torchrun` starts it.

Each scenario is a trainer of its own; all of them write what they end with into a folder.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from alphago.network.network import NetworkConfig
from tests.train.training_setups import (
    TINY,
    TINY_AUXILIARY,
    auxiliary_rows,
    random_rows,
    trainer_config,
)
from train.distributed import Team
from train.followers import Follower
from train.trainer import DivergedError, Trainer
from train.trainer_setup import TrainerSetup, make_trainer

SETTINGS = {"batch_size": 16, "learning_rate": 0.5, "weight_decay": 0.01}
RESUMED_SETTINGS = SETTINGS | {"optimizer": "adamw", "learning_rate": 0.01, "ema_decay": 0.9}


def setup(network: NetworkConfig = TINY, **settings: object) -> TrainerSetup:
    config = trainer_config(**settings)
    return TrainerSetup(
        game="tic_tac_toe",
        network=network,
        train=config,
        device="cpu",
        is_beside_actors=False,
        seed=0,
    )


def first_step(team: Team) -> Trainer:
    trainer = make_trainer(setup(**SETTINGS), team)
    metrics = trainer.step(random_rows(1), 0.0)
    print("metrics", metrics.loss, metrics.grad_norm, flush=True)
    return trainer


def resumed(team: Team) -> Trainer:
    """Three steps of another trainer in this process alone, then three with the team."""
    alone = make_trainer(setup(**RESUMED_SETTINGS), None)
    for number in range(3):
        alone.step(random_rows(number), 0.0)
    trainer = make_trainer(setup(**RESUMED_SETTINGS), team)
    trainer.load_state_dict(*alone.state_dict())
    for number in range(3, 6):
        trainer.step(random_rows(number), 0.5)
    return trainer


def diverged(team: Team) -> Trainer:
    """A step of which the second share alone is unsound, then that of `first_step`."""
    trainer = make_trainer(setup(**SETTINGS), team)
    rows = random_rows(3)
    rows.value_targets[-1] = np.nan
    try:
        trainer.step(rows, 0.0)
    except DivergedError as error:
        print("diverged", error, flush=True)
    trainer.step(random_rows(1), 0.0)
    return trainer


def auxiliary(team: Team) -> Trainer:
    """A step of a network with auxiliary heads."""
    trainer = make_trainer(setup(TINY_AUXILIARY, **SETTINGS), team)
    metrics = trainer.step(auxiliary_rows(4), 0.0)
    print("auxiliary", *metrics.auxiliary.values(), flush=True)
    return trainer


SCENARIOS: dict[str, Callable[[Team], Trainer]] = {
    "first_step": first_step,
    "resumed": resumed,
    "diverged": diverged,
    "auxiliary": auxiliary,
}


class KeepingFollower(Follower):
    """A follower that remembers all its trainers."""

    def __init__(self, team: Team) -> None:
        super().__init__(team)
        self.trainers: list[Trainer] = []

    def _begin(self, text: str) -> None:
        super()._begin(text)
        self.trainers.append(self.trainer)


def thread_names() -> list[str]:
    """Returns the names of all threads of this process, those of libraries among them."""
    return [each.read_text().strip() for each in Path("/proc/self/task").glob("*/comm")]


def main(folder: Path) -> None:
    team = Team(local_rank=int(os.environ["LOCAL_RANK"]), local_size=2)
    save_states(team, folder)
    team.close()
    # In one piece, and its end with it: both processes write to one pipe, without a buffer.
    sys.stdout.write(" ".join(["threads", *thread_names()]) + "\n")


def save_states(team: Team, folder: Path) -> None:
    """Goes through all scenarios, and writes what this process's trainers end with."""
    if team.rank == 0:
        trainers = [scenario(team) for scenario in SCENARIOS.values()]
    else:
        follower = KeepingFollower(team)
        follower.follow()
        trainers = follower.trainers
    for name, trainer in zip(SCENARIOS, trainers, strict=True):
        tensors, _ = trainer.state_dict()
        np.savez(folder / f"{name}-{team.rank}.npz", num_steps=trainer.num_steps, **tensors)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
