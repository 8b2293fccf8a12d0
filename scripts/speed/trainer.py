"""How fast the trainer is beside a bare loop of forward, backward and step on ready tensors.

The two take turns within one process, so that a busy machine slows both.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from alphago.games import Game, make_game
from alphago.games.game import GameSpec
from alphago.network.evaluator import choose_device
from alphago.network.network import make_network
from selfplay.record_store import RecordStore
from train.auxiliary import empty_auxiliary
from train.config import RunConfig
from train.learner import Learner
from train.losses import auxiliary_losses
from train.optimizers import make_optimizer
from train.replay_buffer import ReplayBuffer
from train.targets import TrainingRows
from train.trainer import Trainer, num_threads_for, put_channels_last, torch_threads

NUM_POSITIONS = 16384  # in the window that is sampled from
TURN_S = 0.05  # a turn has as many steps as begin in this time, on slow machines one


class StepTimes(NamedTuple):
    """What one step costs where nothing else disturbs it: the least of all turns, in seconds."""

    wall: float
    cpu: float  # of all threads


def measure_trainer(config: RunConfig, *, seconds: float) -> dict[str, float]:
    """Returns how fast a run learns.

    Args:
        config: game, network, `train.batch_size` and the other settings of the trainer.
        seconds: how long to measure, after a warm-up.

    Returns:
        `samples_per_s`, rows per second of the trainer with sampling, metrics and all;
        `bare_samples_per_s`, those of the bare loop; `ratio`, the first over the second; and
        `cpu_ratio`, the same by the time the processors worked.
    """
    game = make_game(config.game.text)
    device = choose_device(config.evaluator.device)
    trainer = Trainer(game.spec, config.network, config.train, device=device, seed=config.seed)
    with tempfile.TemporaryDirectory() as folder:
        learner = _make_learner(game, config, trainer, folder=Path(folder))
        rows = learner.buffer.sample(config.train.batch_size, learner.rng)
        bare = make_bare_step(config, rows, device=device, precision=trainer.precision)
        with torch_threads(config.train.num_threads or num_threads_for(None)):
            ours, theirs = _take_turns(lambda: learner.step(0.0), bare, seconds=seconds)
    return {
        "samples_per_s": config.train.batch_size / ours.wall,
        "bare_samples_per_s": config.train.batch_size / theirs.wall,
        "ratio": theirs.wall / ours.wall,
        "cpu_ratio": theirs.cpu / ours.cpu,
    }


def make_bare_step(
    config: RunConfig, rows: TrainingRows, *, device: torch.device, precision: str
) -> Callable[[], torch.Tensor]:
    """Returns a step that learns from the same ready tensors again and again, and does no more.

    It returns the loss, a tensor [], for which it does not wait.

    Args:
        config: game, network and optimiser.
        rows: what it learns from.
        device: where.
        precision: `fp32` or `bf16`.
    """
    network = make_network(make_game(config.game.text).spec, config.network, seed=config.seed)
    network.to(device).train()
    put_channels_last(network)
    optimizer = make_optimizer(
        config.train.optimizer,
        dict(network.named_parameters()),
        momentum=config.train.momentum,
        weight_decay=config.train.weight_decay,
    )
    for group in optimizer.param_groups:
        group["lr"] = config.train.learning_rate
    observations, policies, results = (torch.tensor(array, device=device) for array in rows[:3])
    targets = {name: torch.tensor(array, device=device) for name, array in rows.auxiliary.items()}
    planes = observations.float().contiguous(memory_format=torch.channels_last)

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        is_bf16 = precision == "bf16"
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=is_bf16):
            outputs = network.all_outputs(planes)
        loss = functional.cross_entropy(outputs.logits.float(), policies)
        loss = loss + functional.mse_loss(outputs.values.float(), results)
        extra = auxiliary_losses(outputs.auxiliary, targets)
        for name, each in extra.items():
            loss = loss + config.train.weight_of(name) * each
        torch.autograd.backward(loss)
        optimizer.step()
        return loss.detach()

    return step


def random_rows(
    spec: GameSpec, heads: Sequence[str], *, num_rows: int, rng: np.random.Generator
) -> TrainingRows:
    """Returns rows of noise; how long a step takes does not depend on them.

    Args:
        spec: the game.
        heads: the network's auxiliary heads, whose targets are all 0.
        num_rows: R.
        rng: decides the rows.
    """
    policies = rng.exponential(size=(num_rows, spec.num_actions)).astype(np.float32)
    return TrainingRows(
        observations=rng.integers(0, 2, (num_rows, *spec.observation_shape), dtype=np.uint8),
        policy_targets=policies / policies.sum(axis=1, keepdims=True),
        value_targets=rng.choice(np.array([-1.0, 1.0], np.float32), num_rows),
        auxiliary=empty_auxiliary(spec, heads, num_rows=num_rows),
    )


def _make_learner(game: Game, config: RunConfig, trainer: Trainer, *, folder: Path) -> Learner:
    """Returns the learning half of a run with a full window."""
    rng = np.random.default_rng(config.seed)
    endless = replace(
        config.replay,
        window_size=NUM_POSITIONS,
        window_growth="fixed",
        holdout_fraction=0.0,
        samples_per_position=1e9,
    )
    heads = config.network.auxiliary
    buffer = ReplayBuffer(game.spec, endless, auxiliary=heads)
    buffer.append(random_rows(game.spec, heads, num_rows=NUM_POSITIONS, rng=rng))
    return Learner(game, RecordStore(folder, game.spec.name), buffer, trainer, rng=rng)


def _take_turns(
    one: Callable[[], object], other: Callable[[], object], *, seconds: float
) -> tuple[StepTimes, StepTimes]:
    """Measures two kinds of step in turn until the time is over, each at least once."""
    turns: tuple[list[StepTimes], list[StepTimes]] = ([], [])
    for step in (one, other):
        _time_steps(step)  # the first steps allocate, and choose kernels
    deadline = time.perf_counter() + seconds
    while not turns[0] or time.perf_counter() < deadline:
        for step, times in zip((one, other), turns, strict=True):
            times.append(_time_steps(step))
    first, second = (StepTimes(*map(min, zip(*times, strict=True))) for times in turns)
    return first, second


def _time_steps(step: Callable[[], object]) -> StepTimes:
    """Returns the mean time of the steps of one turn."""
    _wait_for_device()
    wall, cpu = time.perf_counter(), time.process_time()
    num_steps = 0
    while num_steps == 0 or time.perf_counter() - wall < TURN_S:
        step()
        num_steps += 1
    _wait_for_device()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return StepTimes(wall / num_steps, cpu / num_steps)


def _wait_for_device() -> None:
    """Waits until a GPU, which computes while we go on, has done all it was told."""
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
