"""One optimiser step at a time, and all that has to be kept to go on exactly after a stop."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from alphago.errors import CheckpointError, TrainingError
from alphago.games.game import GameSpec
from alphago.network.hardware import native_precision
from alphago.network.network import NetworkConfig, NetworkOutputs, make_network, weights_of
from alphago.types import Weights
from selfplay.cpus import usable_cpus
from train.all_outputs import AllOutputs, join_outputs
from train.distributed import Kind, Team
from train.losses import auxiliary_losses, compute_losses, total_loss
from train.optimizers import (
    fill_tensors,
    make_moments,
    make_optimizer,
    optimizer_tensors,
    to_arrays,
)
from train.step_metrics import StepMetrics, ValidationMetrics
from train.targets import TrainingRows
from train.trainer_config import TrainerConfig, learning_rate
from train.weight_average import WeightAverage

# Of policy and value, nats and squared value; even a uniform guess over 19x19 costs 6, so beyond
# this nothing is learnt. Auxiliary losses are as large as their units and weights make them.
HIGHEST_LOSS = 100.0
SMALLER = "use a smaller network, or fewer actors on this GPU"  # where the network has no room
# What torch says, in a plain RuntimeError, where it finds no memory on a CPU or within a library.
_NO_MEMORY = ("can't allocate memory", "out of memory", "ALLOC_FAILED")

Network: TypeAlias = Callable[[torch.Tensor], NetworkOutputs]  # of planes [M, C, H, W]


class DivergedError(TrainingError):
    """Loss, gradient or batch norm's statistics have left the sensible; nothing has changed."""


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
        team: Team | None = None,
    ) -> None:
        """Makes a network with random weights.

        Args:
            spec: the game that is learnt.
            network_config: shape of the network.
            config: how it learns.
            device: where it learns.
            seed: decides the random weights.
            team: the processes that learn together, each of which makes its trainer now; None if
                this one learns alone.
        """
        self.config = config
        self.num_steps = 0
        self._device = torch.device(device)
        self._team = team
        self._num_threads = config.num_threads or num_threads_for(team)
        precision = config.precision
        self.precision = native_precision(self._device) if precision == "auto" else precision
        self.network = make_network(spec, network_config, seed=seed)
        with self._memory_errors(SMALLER):
            self.network.to(self._device).train()
        put_channels_last(self.network)
        if team is not None and self._device.type == "cuda":
            convert: Callable[[Any], Any] = nn.SyncBatchNorm.convert_sync_batchnorm
            self.network = convert(self.network)  # its layers
        self._all_outputs = AllOutputs(self.network)
        # What learns: with a team, its backward pass leaves the mean of all gradients behind.
        whole = self._all_outputs
        with self._memory_errors(SMALLER):
            self._learning = whole if team is None else DistributedDataParallel(whole)
        self._loss_weights = {name: config.weight_of(name) for name in network_config.auxiliary}
        self._is_team_up_to_date = False  # about weights and optimiser of this trainer
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
        with self._memory_errors(SMALLER):
            self._average = None if decay is None else WeightAverage(self.network, decay)

    @contextmanager
    def on_threads(self, num_threads: int) -> Iterator[None]:
        """Lets steps take another number of CPU threads meanwhile."""
        before, self._num_threads = self._num_threads, num_threads
        try:
            yield
        finally:
            self._num_threads = before

    def step(self, rows: TrainingRows, progress: float) -> StepMetrics:
        """Makes one optimiser step, with the team if there is one.

        Args:
            rows: the minibatch.
            progress: part of the run that is over, 0 to 1; the learning rate follows it.

        Returns:
            What the network said of the rows before the update.

        Raises:
            DivergedError: naming the step, if loss, gradient or batch norm's statistics are not
                finite, or the loss of policy and value is above `HIGHEST_LOSS`; no weight and no
                statistic has changed.
            TrainingError: if the device's memory does not suffice, or a process of the team ended.
        """
        if self._team is None:
            return self.step_share(rows, progress)
        with self._team.exchange():
            if not self._is_team_up_to_date:
                self._team.send(Kind.TAKE_OVER, self.num_steps)
                self._team.broadcast(self._learning_state().values())
                self._is_team_up_to_date = True
            share = self._team.deal(rows, progress)
        return self.step_share(share, progress)

    def step_share(self, share: TrainingRows, progress: float) -> StepMetrics:
        """Makes one optimiser step with a share of the minibatch; all of a team do so at once.

        Args:
            share: the rows of the minibatch that this process sees, as many as any other.
            progress: as in `step`.

        Returns:
            What the networks of all processes said of their shares before the update.

        Raises:
            DivergedError: as `step` does, in all processes alike.
            TrainingError: as `step` does.
        """
        rate = learning_rate(self.config, self.num_steps, progress=progress)
        with torch_threads(self._num_threads), self._memory_errors():
            buffers = [buffer.clone() for buffer in self.network.buffers()]
            with self._exchange():
                numbers, norm = self._find_gradient(share)
            loss, grad_norm = numbers["total"], numbers["grad_norm"]
            policy_loss, value_loss = numbers["policy"], numbers["value"]
            is_finite = all(map(math.isfinite, (loss, grad_norm, numbers["statistics"])))
            # Not `>= HIGHEST_LOSS`: a comparison with NaN is false.
            if not (policy_loss + value_loss < HIGHEST_LOSS and is_finite):
                self._undo_forward(buffers)
                raise DivergedError(
                    f"step {self.num_steps}: training has diverged: loss {loss} (policy"
                    f" {policy_loss}, value {value_loss}), gradient norm {grad_norm}. No weight was"
                    " changed; a lower train.learning_rate may help"
                )
            self._update(rate, norm)
        return StepMetrics(
            loss=loss,
            policy_loss=policy_loss,
            value_loss=value_loss,
            entropy=numbers["entropy"],
            kl=numbers["kl"],
            grad_norm=grad_norm,
            learning_rate=rate,
            l2=0.5 * self.config.weight_decay * numbers["decayed"],
            auxiliary={name: numbers[f"auxiliary {name}"] for name in self._loss_weights},
        )

    def _find_gradient(self, rows: TrainingRows) -> tuple[dict[str, float], torch.Tensor]:
        """Runs the network forward and back.

        Returns:
            By name, over all processes: the terms of the loss, the gradient's norm and the sums of
            squares of batch norm's statistics and of the weights that decay; the norm once more as
            a tensor, before clipping.
        """
        self._optimizer.zero_grad(set_to_none=True)
        terms = self._compare(self._predict(self._learning, rows.observations), rows)
        torch.autograd.backward(terms["total"])
        gradients = [weight.grad for weight in self._parameters.values()]
        norm = torch.nn.utils.get_total_norm([g for g in gradients if g is not None])
        terms["grad_norm"] = norm
        terms["statistics"] = _squared(self._statistics)
        terms["decayed"] = _squared(self._decayed)
        numbers = torch.stack([*terms.values()]).detach()
        if self._team is not None:
            numbers = self._team.mean(numbers)
        return dict(zip(terms, numbers.tolist(), strict=True)), norm

    def validate(self, rows: TrainingRows) -> ValidationMetrics:
        """Measures the weights that play, on rows that must not be empty; nothing is changed."""
        average = {} if self._average is None else self._average.tensors
        tensors = {f"network.{name}": tensor for name, tensor in average.items()}
        network = partial(torch.func.functional_call, self._all_outputs, tensors)
        answers = []
        self.network.eval()
        try:
            with torch.no_grad(), torch_threads(self._num_threads), self._memory_errors():
                for begin in range(0, len(rows.value_targets), self.config.batch_size):
                    part = rows.observations[begin : begin + self.config.batch_size]
                    answers.append(self._predict(network, part))
                outputs = join_outputs(answers)
                terms = self._compare(outputs, rows)
        finally:
            self.network.train()
        numbers = dict(zip(terms, torch.stack([*terms.values()]).tolist(), strict=True))
        return ValidationMetrics(
            policy_loss=numbers["policy"],
            value_loss=numbers["value"],
            kl=numbers["kl"],
            values=outputs.values.float().cpu().numpy(),
            auxiliary={name: numbers[f"auxiliary {name}"] for name in self._loss_weights},
        )

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
        self._make_room(state["num_steps"])
        fill_tensors(self._state_tensors(), tensors)
        self._is_team_up_to_date = False

    def take_over(self, num_steps: int) -> None:
        """Receives weights and optimiser's memory from the leader, which has made `num_steps`."""
        assert self._team is not None, "nobody to take over from"
        self._make_room(num_steps)
        self._team.broadcast(self._learning_state().values())

    def _make_room(self, num_steps: int) -> None:
        """Sets the number of steps made, and makes the tensors an optimiser has after so many."""
        if num_steps > 0:
            with self._memory_errors(SMALLER):
                make_moments(self.config.optimizer, self._optimizer, self._parameters)
        self.num_steps = num_steps

    def _kind(self) -> dict[str, Any]:
        """Returns what a saved state and this trainer must have in common, beside the shapes."""
        return {"optimizer": self.config.optimizer, "has_average": self._average is not None}

    def _state_tensors(self) -> dict[str, torch.Tensor]:
        """Returns the tensors, not copies, of network, optimiser and average by flat names."""
        tensors = self._learning_state()
        if self._average is not None:
            tensors |= {f"average.{name}": t for name, t in self._average.tensors.items()}
        return tensors

    def _learning_state(self) -> dict[str, torch.Tensor]:
        """Returns the tensors, not copies, of network and optimiser by flat names."""
        tensors = optimizer_tensors(self._optimizer, self._parameters)
        return tensors | {f"network.{name}": t for name, t in self.network.state_dict().items()}

    def _predict(self, network: Network, observations: np.ndarray[Any, Any]) -> NetworkOutputs:
        """Returns what a network says of observations [M, C, H, W]."""
        planes = self._to_device(observations).float()
        planes = planes.contiguous(memory_format=torch.channels_last)
        is_bf16 = self.precision == "bf16"
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=is_bf16):
            return network(planes)

    def _compare(self, outputs: NetworkOutputs, rows: TrainingRows) -> dict[str, torch.Tensor]:
        """Returns the terms of the loss by name, those of auxiliary heads among them."""
        terms = compute_losses(
            outputs.logits,
            outputs.values,
            policy_targets=self._to_device(rows.policy_targets),
            value_targets=self._to_device(rows.value_targets),
        )
        losses = auxiliary_losses(
            outputs.auxiliary,
            {name: self._to_device(rows.auxiliary[name]) for name in self._loss_weights},
        )
        # By names that no other number has, whatever a head is called.
        named = {f"auxiliary {head}": loss for head, loss in losses.items()}
        total = total_loss(terms, losses, self._loss_weights)
        return {"total": total} | terms._asdict() | named

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
            self._average.update(num_steps=self.num_steps)

    def _exchange(self) -> AbstractContextManager[None]:
        """Encloses what all of the team do together."""
        return nullcontext() if self._team is None else self._team.exchange()

    @contextmanager
    def _memory_errors(self, advice: str | None = None) -> Iterator[None]:
        """Turns a device out of memory into a message that says what to do."""
        try:
            yield
        except RuntimeError as error:  # torch.OutOfMemoryError is one
            if not any(words in str(error) for words in _NO_MEMORY):
                raise
            advice = advice or f"lower train.batch_size (now {self.config.batch_size})"
            raise TrainingError(
                f"step {self.num_steps}: the device is out of memory; {advice}"
            ) from error


def put_channels_last(network: nn.Module) -> None:
    """Lays kernels out in memory as convolutions are fastest with."""
    for weight in network.parameters():
        if weight.ndim == 4:
            weight.data = weight.data.contiguous(memory_format=torch.channels_last)


def num_threads_for(team: Team | None) -> int:
    """Returns how many CPU threads a step shall use: the usable CPUs, shared on this machine."""
    return max(1, usable_cpus() // (1 if team is None else team.local_size))


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
