"""The learning half of a run: record store, replay buffer and trainer, as a record passes."""

import math
from collections.abc import Sequence

import numpy as np

from alphago.errors import TrainingError
from alphago.games.game import Game
from alphago.types import FloatArray, Weights
from selfplay.record_store import RecordStore
from selfplay.records import GameRecord
from train.games_to_rows import append_games
from train.replay_buffer import ReplayBuffer
from train.step_metrics import StepMetrics, ValidationMetrics
from train.targets import TrainingRows
from train.trainer import Trainer

HELD_OUT_ROWS = 2048  # newest held-out positions the validation looks at
_CALIBRATION_BINS = 10


class Learner:
    """Takes finished games in and makes optimiser steps with them.

    Attributes:
        store: every game, on disk.
        buffer: the window of positions.
        trainer: the network that learns.
        rng: decides which positions are sampled.
    """

    def __init__(
        self,
        game: Game,
        store: RecordStore,
        buffer: ReplayBuffer,
        trainer: Trainer,
        *,
        rng: np.random.Generator,
    ) -> None:
        """Puts the parts together."""
        self._game = game
        self.store = store
        self.buffer = buffer
        self.trainer = trainer
        self.rng = rng
        self._steps: list[StepMetrics] = []
        self._last_rows: TrainingRows | None = None

    def take_in(self, records: Sequence[GameRecord], *, num_stored: int = 0) -> None:
        """Stores finished games on the disk, then adds their positions to the window.

        Args:
            records: the games.
            num_stored: how many of them, the first ones, are on the disk already.
        """
        if len(records) > num_stored:
            self.store.append(records[num_stored:])
        append_games(self.buffer, self._game, records)

    def may_learn(self) -> bool:
        """Tells whether the bound on the use of positions leaves room for another step.

        A resumed run whose records are lost may use positions, but has none.
        """
        is_allowed = self.buffer.samples_allowed() >= self.trainer.config.batch_size
        return is_allowed and self.buffer.num_positions > 0

    def step(self, progress: float) -> StepMetrics:
        """Makes one optimiser step.

        Args:
            progress: share of the run that is done, for the learning rate.
        """
        rows = self.buffer.sample(self.trainer.config.batch_size, self.rng)
        metrics = self.trainer.step(rows, progress)
        self._steps.append(metrics)
        self._last_rows = rows
        return metrics

    def play_weights(self) -> Weights:
        """Returns the weights to play with, tried on the last minibatch.

        Each step shows whether the one before was sound; before a network is played with or saved,
        no further step does.

        Raises:
            TrainingError: naming the step, if they are not finite or their loss is not.
        """
        weights = self.trainer.play_weights()
        if self._last_rows is not None:
            metrics = self.trainer.validate(self._last_rows)
            loss = metrics.policy_loss + metrics.value_loss
            if not math.isfinite(loss):
                raise TrainingError(
                    f"step {self.trainer.num_steps}: training has diverged: loss {loss}. This"
                    " network is neither played with nor saved; a lower train.learning_rate may"
                    " help"
                )
        return weights

    def validate(self) -> dict[str, float]:
        """Returns losses and calibration of the value on held-out games; {} without any."""
        rows = self.buffer.newest_held_out(self._num_rows_to_validate())
        if not len(rows.value_targets):
            return {}
        metrics: ValidationMetrics = self.trainer.validate(rows)
        heads = metrics.auxiliary
        return {f"heldout/{name}_loss": loss for name, loss in heads.items()} | {
            "heldout/policy_loss": metrics.policy_loss,
            "heldout/value_loss": metrics.value_loss,
            "heldout/kl_to_search": metrics.kl,
            "value/calibration_error": calibration_error(metrics.values, rows.value_targets),
        }

    def _num_rows_to_validate(self) -> int:
        """Returns how many held-out rows to look at: whole minibatches, once there is one.

        oneDNN keeps what it prepared for each size of a batch. A remainder of another size in every
        iteration would make the process grow.
        """
        available = min(self.buffer.num_held_out, HELD_OUT_ROWS)
        batch_size = self.trainer.config.batch_size
        return available - available % batch_size if available > batch_size else available

    def take_metrics(self) -> dict[str, float]:
        """Returns the means over the steps since the last call; {} without any."""
        steps, self._steps = self._steps, []
        if not steps:
            return {}
        names = {
            "loss/total": "loss",
            "loss/policy": "policy_loss",
            "loss/value": "value_loss",
            "loss/l2": "l2",
            "policy/entropy": "entropy",
            "policy/kl_to_search": "kl",
            "optimizer/gradient_norm": "grad_norm",
        }
        means = {
            tag: float(np.mean([getattr(step, name) for step in steps]))
            for tag, name in names.items()
        }
        means |= {
            f"loss/{name}": float(np.mean([step.auxiliary[name] for step in steps]))
            for name in steps[0].auxiliary
        }
        return means | {"optimizer/learning_rate": steps[-1].learning_rate}


def calibration_error(values: FloatArray, results: FloatArray) -> float:
    """Mean gap between prediction and mean result over bins of the prediction, by size.

    Args:
        values: float32 [R] in [-1, 1], predictions.
        results: float32 [R] in [-1, 1], what came of it, the same view.

    Returns:
        The expected calibration error (Guo et al. 2017, equation 3) on the value scale, 0 to 2.
    """
    bins = np.clip(((values + 1) / 2 * _CALIBRATION_BINS).astype(int), 0, _CALIBRATION_BINS - 1)
    gaps = np.bincount(bins, weights=values - results, minlength=_CALIBRATION_BINS)
    return float(np.abs(gaps).sum() / len(values))
