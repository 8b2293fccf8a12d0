"""What the processes of a team do: the leader has its followers make trainers, and they follow."""

import json
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch

from alphago.games import make_game
from alphago.network.network import NetworkConfig
from train.auxiliary_targets import empty_auxiliary
from train.config import RunConfig
from train.distributed import Kind, Message, Share, Team
from train.targets import TrainingRows
from train.trainer import DivergedError, Trainer, num_threads_for
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
        return _make_own_trainer(setup, None)
    text = json.dumps(asdict(setup))
    with team.exchange():
        team.send(Kind.BEGIN, len(text.encode()))
        team.send_text(text)
        return _make_own_trainer(setup, team)


class Follower:
    """A process that helps to learn, and does nothing else.

    Attributes:
        trainer: the one of the present run.
    """

    trainer: Trainer
    _rows: TrainingRows  # where its part of a minibatch goes

    def __init__(self, team: Team) -> None:
        """Joins; it has no trainer before the leader asks for one."""
        self._team = team

    def follow(self) -> None:
        """Does what the leader says until it may leave.

        Raises:
            TrainingError: if another process is gone, or the device's memory does not suffice.
        """
        while True:
            with self._team.exchange():
                message = self._team.receive()
                if message.kind is Kind.BEGIN:
                    self._begin(self._team.receive_text(int(message.first)))
                elif message.kind is Kind.TAKE_OVER:
                    self.trainer.take_over(int(message.first))
                elif message.kind is Kind.STEP:
                    self._team.receive_share(self._rows)
            if message.kind is Kind.LEAVE:
                return
            if message.kind is Kind.STEP:
                self._step(message)

    def _begin(self, text: str) -> None:
        """Makes the trainer of a run."""
        values = json.loads(text)
        # The running average is the leader's business.
        config = replace(TrainerConfig(**values["train"]), ema_decay=None)
        network = NetworkConfig(**values["network"])
        setup = TrainerSetup(**(values | {"network": network, "train": config}))
        self.trainer = _make_own_trainer(setup, self._team)
        spec = make_game(setup.game).spec
        num_rows = config.batch_size // self._team.size
        self._rows = TrainingRows(
            observations=np.empty((num_rows, *spec.observation_shape), np.uint8),
            policy_targets=np.empty((num_rows, spec.num_actions), np.float32),
            value_targets=np.empty(num_rows, np.float32),
            weights=np.empty(num_rows, np.float32),
            auxiliary=empty_auxiliary(spec, network.auxiliary, num_rows=num_rows),
        )

    def _step(self, message: Message) -> None:
        """Makes one optimiser step with its part of the minibatch."""
        try:
            self.trainer.step_share(Share(self._rows, weight_sum=message.second), message.first)
        except DivergedError:  # the leader meets it as well, says so and ends the run
            return


def num_threads_of(setup: TrainerSetup, team: Team | None) -> int:
    """Returns how many CPU threads the trainer of a run uses."""
    if setup.train.num_threads is not None:
        return setup.train.num_threads
    if setup.device == "cpu" and setup.is_beside_actors:
        # On two CPUs that actors keep busy two threads, which wait for each other in every layer,
        # need 1.7 times the processor time of one.
        return max(1, num_threads_for(team) // 2)
    return num_threads_for(team)


def _make_own_trainer(setup: TrainerSetup, team: Team | None) -> Trainer:
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
