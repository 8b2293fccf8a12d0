"""The trainer of a run: what decides it, where it learns, and with how many threads."""

import json
from dataclasses import asdict, dataclass, replace

import torch

from alphago.games import make_game
from alphago.network.network import NetworkConfig
from train.config import RunConfig
from train.distributed import Kind, Team
from train.trainer import Trainer, num_threads_for
from train.trainer_config import TrainerConfig


@dataclass(kw_only=True)
class TrainerSetup:
    """All that decides a trainer.

    Attributes:
        game: the game that is learnt, as `make_game` reads it.
        network: the shape of the network.
        train: how it learns.
        device: `cuda` or `cpu`.
        is_beside_actors: whether processes that play keep the CPUs busy meanwhile.
        seed: decides the random weights.
    """

    game: str
    network: NetworkConfig
    train: TrainerConfig
    device: str
    is_beside_actors: bool
    seed: int


def trainer_setup(config: RunConfig, *, device: str) -> TrainerSetup:
    """Returns the part of a run's configuration that its trainer needs.

    Args:
        config: the run.
        device: `cuda` or `cpu`.
    """
    return TrainerSetup(
        game=config.game.text,
        network=config.network,
        train=config.train,
        device=device,
        is_beside_actors=(config.loop, config.selfplay.mode) == ("asynchronous", "ray"),
        seed=config.seed,
    )


def make_trainer(setup: TrainerSetup, team: Team | None) -> Trainer:
    """Makes the trainer of a run, and with a team that of each follower.

    Raises:
        TrainingError: if a process of the team is gone.
    """
    if team is None:
        return make_own_trainer(setup, None)
    text = json.dumps(asdict(setup))
    with team.exchange():
        team.send(Kind.BEGIN, len(text.encode()))
        team.send_text(text)
        return make_own_trainer(setup, team)


def num_threads_of(setup: TrainerSetup, team: Team | None) -> int:
    """Returns how many CPU threads the trainer of a run uses."""
    if setup.train.num_threads is not None:
        return setup.train.num_threads
    if setup.device == "cpu" and setup.is_beside_actors:
        # On two CPUs that actors keep busy two threads, which wait for each other in every layer,
        # need 1.7 times the processor time of one.
        return max(1, num_threads_for(team) // 2)
    return num_threads_for(team)


def make_own_trainer(setup: TrainerSetup, team: Team | None) -> Trainer:
    """Makes the trainer of this process; those of the others have to be made as well."""
    device = torch.device(setup.device)
    train = replace(setup.train, num_threads=num_threads_of(setup, team))
    if team is not None and device.type == "cuda":
        device = torch.device(device.type, team.local_rank)
    return Trainer(
        make_game(setup.game).spec,
        setup.network,
        train,
        device=device,
        seed=setup.seed,
        team=team,
    )


def cpus_while_actors_play(setup: TrainerSetup, team: Team | None) -> int:
    """Returns how many CPUs of this machine learning needs while actors play.

    At least one: this process also stores what they send, and replays it.
    """
    if setup.device != "cpu" or not setup.is_beside_actors:
        return 1
    return num_threads_of(setup, team) * (1 if team is None else team.local_size)
