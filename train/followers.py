"""What the processes of a team do that do not lead it: they learn along."""

import json
from dataclasses import replace

import numpy as np

from alphago.games import make_game
from alphago.network.network import NetworkConfig
from train.auxiliary import empty_auxiliary
from train.distributed import Kind, Message, Team
from train.targets import TrainingRows
from train.trainer import DivergedError, Trainer
from train.trainer_config import TrainerConfig
from train.trainer_setup import TrainerSetup, make_own_trainer


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
                    self._begin(self._team.receive_text(int(message.number)))
                elif message.kind is Kind.TAKE_OVER:
                    self.trainer.take_over(int(message.number))
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
        self.trainer = make_own_trainer(setup, self._team)
        spec = make_game(setup.game).spec
        num_rows = config.batch_size // self._team.size
        self._rows = TrainingRows(
            observations=np.empty((num_rows, *spec.observation_shape), np.uint8),
            policy_targets=np.empty((num_rows, spec.num_actions), np.float32),
            value_targets=np.empty(num_rows, np.float32),
            auxiliary=empty_auxiliary(spec, network.auxiliary, num_rows=num_rows),
        )

    def _step(self, message: Message) -> None:
        """Makes one optimiser step with its part of the minibatch."""
        try:
            self.trainer.step_share(self._rows, message.number)
        except DivergedError:  # the leader meets it as well, says so and ends the run
            return
