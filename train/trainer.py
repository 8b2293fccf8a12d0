"""One optimiser step at a time, and all that has to be kept to go on exactly after a stop."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from alphago.errors import CheckpointError, TrainingError, check_config, check_count
from alphago.games.game import GameSpec
from alphago.network.evaluator import PRECISIONS, choose_precision
from alphago.network.network import NetworkConfig, make_network, weights_of
from alphago.types import FloatArray, Weights
from selfplay.cpus import usable_cpus
from train.losses import LossTerms, compute_losses
from train.optimizers import (
    OPTIMIZERS,
    fill_tensors,
    make_moments,
    make_optimizer,
    optimizer_tensors,
    to_arrays,
)
from train.targets import TrainingRows
from train.weight_average import WeightAverage

SCHEDULES = ("constant", "cosine", "step")
# Nats; even a uniform guess over 19x19 costs 6, so beyond this nothing is learnt.
HIGHEST_LOSS = 100.0
STEP_POINTS = (0.5, 0.75)  # parts of the run after which the schedule `step` lowers the rate


@dataclass(kw_only=True)
class TrainerConfig:
    """How the network learns.

    Attributes:
        batch_size: rows of one optimiser step (AlphaGo Zero: 2048, AlphaZero: 4096).
        optimizer: `sgd` (with momentum, as in the papers) or `adamw`.
        learning_rate: highest learning rate, per step (AlphaGo Zero: 0.01, AlphaZero: 0.2).
        momentum: momentum of SGD, first beta of AdamW (AlphaGo Zero: 0.9).
        weight_decay: L2 on weight matrices and kernels; biases and batch norm have none. Within the
            gradient for SGD, apart from it for AdamW (AlphaGo Zero: 1e-4 on the squared norm, which
            is 2e-4 here).
        warmup_steps: steps over which the learning rate rises from 0; 0 for none.
        schedule: how the rate falls over the run: not at all with `constant`, smoothly with
            `cosine`, by equal factors after a half and three quarters of the run with `step`.
        final_learning_rate_fraction: where `cosine` and `step` end, as a share of the highest rate
            (AlphaGo Zero: 0.01, by steps).
        gradient_clip: largest norm of the gradient, null for no limit.
        ema_decay: decay per step of the running average of the weights, which then plays; null to
            play with the weights themselves.
        precision: `fp32`, `bf16` (autocast) or `auto`: bf16 where the hardware has it.
        num_threads: CPU threads of a step; null for all usable ones.
    """

    batch_size: int
    optimizer: str
    learning_rate: float
    momentum: float
    weight_decay: float
    warmup_steps: int
    schedule: str
    final_learning_rate_fraction: float
    gradient_clip: float | None
    ema_decay: float | None
    precision: str
    num_threads: int | None

    def __post_init__(self) -> None:
        """Checks the values."""
        for name, choices in (
            ("optimizer", OPTIMIZERS),
            ("schedule", SCHEDULES),
            ("precision", PRECISIONS),
        ):
            value = getattr(self, name)
            check_config(f"train.{name}", value, value in choices, ", ".join(choices))
        # Batch norm cannot learn from one row.
        check_count("train.batch_size", self.batch_size, at_least=2)
        check_count("train.num_threads", self.num_threads, at_least=1, or_null=True)
        check_count("train.warmup_steps", self.warmup_steps, at_least=0)
        rate, clip, average = self.learning_rate, self.gradient_clip, self.ema_decay
        check_config("train.learning_rate", rate, 0 < rate < math.inf, "a number above 0")
        check_config("train.momentum", self.momentum, 0 <= self.momentum < 1, "from 0 to below 1")
        decay = self.weight_decay
        check_config("train.weight_decay", decay, 0 <= decay < math.inf, "a number of at least 0")
        fraction = self.final_learning_rate_fraction
        check_config(
            "train.final_learning_rate_fraction", fraction, 0 < fraction <= 1, "above 0, at most 1"
        )
        check_config("train.gradient_clip", clip, clip is None or clip > 0, "above 0, or null")
        is_decay = average is None or 0 < average < 1
        check_config("train.ema_decay", average, is_decay, "between 0 and 1, or null")


class StepMetrics(NamedTuple):
    """What one step saw, before its update."""

    loss: float  # policy_loss + value_loss
    policy_loss: float  # cross-entropy, nats
    value_loss: float  # mean squared error
    entropy: float  # of the network's policy, nats
    kl: float  # KL(target || network's policy), nats
    grad_norm: float  # before clipping
    learning_rate: float
    l2: float  # the L2 term that the weight decay stands for


class ValidationMetrics(NamedTuple):
    """How the weights that play do on rows they never learnt from."""

    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    values: FloatArray  # [R], the network's values


def learning_rate(config: TrainerConfig, num_steps: int, *, progress: float) -> float:
    """Returns the rate of the next step.

    Args:
        config: highest rate, warm-up and schedule.
        num_steps: steps made before.
        progress: part of the run that is over, 0 to 1.
    """
    last, factor = config.final_learning_rate_fraction, 1.0
    if config.schedule == "cosine":
        factor = last + (1.0 - last) * 0.5 * (1.0 + math.cos(math.pi * progress))
    elif config.schedule == "step":
        num_passed = sum(progress >= point for point in STEP_POINTS)
        factor = last ** (num_passed / len(STEP_POINTS))
    warmup = min(1.0, (num_steps + 1) / max(config.warmup_steps, 1))
    return config.learning_rate * warmup * factor


class Trainer:
    """A network in training.

    Attributes:
        config: how it learns.
        network: the weights as the last step left them, always in training mode between calls.
        num_steps: optimiser steps made.
        precision: `fp32` or `bf16`.
    """

    def __init__(
        self,
        spec: GameSpec,
        network_config: NetworkConfig,
        config: TrainerConfig,
        *,
        device: torch.device | str,
        seed: int,
    ) -> None:
        """Makes a network with random weights.

        Args:
            spec: the game that is learnt.
            network_config: shape of the network.
            config: how it learns.
            device: where it learns.
            seed: decides the random weights.
        """
        self.config = config
        self.num_steps = 0
        self._device = torch.device(device)
        self._num_threads = config.num_threads or usable_cpus()
        self.precision = choose_precision(config.precision, self._device)
        self.network = make_network(spec, network_config, seed=seed).to(self._device).train()
        for weight in self.network.parameters():  # convolutions are faster with channels last
            if weight.ndim == 4:
                weight.data = weight.data.contiguous(memory_format=torch.channels_last)
        self._parameters = dict(self.network.named_parameters())
        self._decayed = [weight for weight in self._parameters.values() if weight.ndim > 1]
        self._statistics = [b for b in self.network.buffers() if b.is_floating_point()]
        self._optimizer = make_optimizer(
            config.optimizer,
            self._parameters,
            momentum=config.momentum,
            weight_decay=config.weight_decay,
        )
        decay = config.ema_decay
        self._average = None if decay is None else WeightAverage(self.network, decay)

    def step(self, rows: TrainingRows, progress: float) -> StepMetrics:
        """Makes one optimiser step.

        Args:
            rows: the minibatch.
            progress: part of the run that is over, 0 to 1; the learning rate follows it.

        Returns:
            What the network said of the rows before the update.

        Raises:
            TrainingError: naming the step, if loss, gradient or batch norm's statistics are not
                finite, or the loss is above `HIGHEST_LOSS` (no weight and no statistic has changed
                then); or if the device's memory does not suffice.
        """
        rate = learning_rate(self.config, self.num_steps, progress=progress)
        buffers = [buffer.clone() for buffer in self.network.buffers()]
        with torch_threads(self._num_threads), self._memory_errors():
            self._optimizer.zero_grad(set_to_none=True)
            terms = self._losses(rows)
            torch.autograd.backward(terms.total)
            gradients = [weight.grad for weight in self._parameters.values()]
            norm = torch.nn.utils.get_total_norm([g for g in gradients if g is not None])
            watched = [norm, _squared(self._statistics), _squared(self._decayed)]
            numbers = torch.stack([*terms, *watched]).tolist()
            loss, policy, value, entropy, kl, grad_norm, statistics, squared_weights = numbers
            # Not `loss >= HIGHEST_LOSS`: a comparison with NaN is false.
            if not (loss < HIGHEST_LOSS and math.isfinite(grad_norm) and math.isfinite(statistics)):
                self._undo_forward(buffers)
                raise TrainingError(
                    f"step {self.num_steps}: training has diverged: loss {loss}, gradient norm"
                    f" {grad_norm}. No weight was changed; a lower train.learning_rate may help"
                )
            self._update(rate, norm)
        return StepMetrics(
            loss=loss,
            policy_loss=policy,
            value_loss=value,
            entropy=entropy,
            kl=kl,
            grad_norm=grad_norm,
            learning_rate=rate,
            l2=0.5 * self.config.weight_decay * squared_weights,
        )

    def validate(self, rows: TrainingRows) -> ValidationMetrics:
        """Measures the weights that play, on rows that must not be empty; nothing is changed."""
        tensors = {} if self._average is None else self._average.tensors
        answers = []
        self.network.eval()
        try:
            with torch.no_grad(), torch_threads(self._num_threads), self._memory_errors():
                for begin in range(0, len(rows.value_targets), self.config.batch_size):
                    part = rows.observations[begin : begin + self.config.batch_size]
                    answers.append(self._evaluate(part, tensors))
                logits, values = (torch.cat(parts) for parts in zip(*answers, strict=True))
                terms = self._compare(logits, values, rows)
        finally:
            self.network.train()
        _, policy, value, entropy, kl = torch.stack([*terms]).tolist()
        return ValidationMetrics(policy, value, entropy, kl, values.float().cpu().numpy())

    def play_weights(self) -> Weights:
        """Returns the weights to play with: the running average if there is one.

        Raises:
            TrainingError: if a weight is not finite.
        """
        weights = weights_of(self.network)
        if self._average is not None:
            weights = to_arrays({name: self._average.tensors[name] for name in weights})
        for name, array in weights.items():
            if not np.isfinite(array).all():
                raise TrainingError(f"step {self.num_steps}: {name} is not finite")
        return weights

    def state_dict(self) -> tuple[Weights, dict[str, Any]]:
        """Returns all that is needed to go on exactly: arrays by flat names, and data for JSON."""
        facts = {"num_steps": self.num_steps} | self._kind()
        return to_arrays(self._state_tensors()), facts

    def load_state_dict(self, tensors: Weights, state: dict[str, Any]) -> None:
        """Goes on from a state that `state_dict` returned.

        Raises:
            CheckpointError: if it is of another optimiser or network, or lacks anything.
        """
        for name, here in self._kind().items():
            if state[name] != here:
                raise CheckpointError(f"trainer state: {name} is {state[name]}, the run has {here}")
        if state["num_steps"] > 0:
            make_moments(self.config.optimizer, self._optimizer, self._parameters)
        fill_tensors(self._state_tensors(), tensors)
        self.num_steps = state["num_steps"]

    def _kind(self) -> dict[str, Any]:
        """Returns what a saved state and this trainer must have in common, beside the shapes."""
        return {"optimizer": self.config.optimizer, "has_average": self._average is not None}

    def _state_tensors(self) -> dict[str, torch.Tensor]:
        """Returns the tensors, not copies, of network, optimiser and average by flat names."""
        tensors = optimizer_tensors(self._optimizer, self._parameters)
        tensors |= {f"network.{name}": t for name, t in self.network.state_dict().items()}
        if self._average is not None:
            tensors |= {f"average.{name}": t for name, t in self._average.tensors.items()}
        return tensors

    def _losses(self, rows: TrainingRows) -> LossTerms:
        """Runs the network on a minibatch."""
        return self._compare(*self._evaluate(rows.observations, {}), rows)

    def _evaluate(
        self, observations: np.ndarray[Any, Any], tensors: dict[str, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns logits [M, A] and values [M], with `tensors` in place of the network's own."""
        planes = self._to_device(observations).float()
        planes = planes.contiguous(memory_format=torch.channels_last)
        is_bf16 = self.precision == "bf16"
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=is_bf16):
            answer = torch.func.functional_call(self.network, tensors, (planes,))
        logits, values = answer
        return logits, values

    def _compare(self, logits: torch.Tensor, values: torch.Tensor, rows: TrainingRows) -> LossTerms:
        return compute_losses(
            logits,
            values,
            policy_targets=self._to_device(rows.policy_targets),
            value_targets=self._to_device(rows.value_targets),
            weights=self._to_device(rows.weights),
        )

    def _to_device(self, array: np.ndarray[Any, Any]) -> torch.Tensor:
        """Copies an array to the device; unlike for `from_numpy` it may be read-only."""
        return torch.tensor(array, device=self._device)

    def _undo_forward(self, buffers: list[torch.Tensor]) -> None:
        """Takes back what a forward pass in training mode did to batch norm's statistics."""
        for buffer, before in zip(self.network.buffers(), buffers, strict=True):
            buffer.copy_(before)
        self._optimizer.zero_grad(set_to_none=True)

    def _update(self, rate: float, norm: torch.Tensor) -> None:
        """Moves the weights, and their average, by the present gradients."""
        if self.config.gradient_clip is not None:
            weights, clip = self._parameters.values(), self.config.gradient_clip
            torch.nn.utils.clip_grads_with_norm_(weights, clip, norm)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.step()
        self.num_steps += 1
        if self._average is not None:
            self._average.update(self.network, num_steps=self.num_steps)

    @contextmanager
    def _memory_errors(self) -> Iterator[None]:
        """Turns a device out of memory into a message that says what to do."""
        try:
            yield
        except torch.OutOfMemoryError as error:
            raise TrainingError(
                f"step {self.num_steps}: the device is out of memory; lower train.batch_size"
                f" (now {self.config.batch_size})"
            ) from error


@contextmanager
def torch_threads(num_threads: int) -> Iterator[None]:
    """Lets torch use this many CPU threads within the block, and as many as before after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _squared(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Returns the sum of the squares of all numbers, a tensor []."""
    return torch.stack(torch._foreach_norm(list(tensors))).square().sum().detach()
