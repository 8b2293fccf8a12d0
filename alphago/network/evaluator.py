"""`NetworkEvaluator`: states in, priors and values out, on the best device there is."""

import copy
import functools
import logging
import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch.nn import functional

from alphago.errors import ConfigError, MemoryFullError, check_config, check_count
from alphago.games.game import Game
from alphago.network.freezing import freeze
from alphago.network.inference import (
    BACKENDS,
    InferencePlan,
    build_backend,
    choose_backend,
    choose_precision,
)
from alphago.network.network import NetworkConfig, load_weights, make_network
from alphago.network.precision import PRECISIONS, Backend, Inference, PrecisionError
from alphago.types import MAX_THREADS, Evaluation, States, UInt8Array, Weights

DEVICES = ("auto", "cuda", "cpu")
NO_CUDA = "no CUDA device"
MAX_POSITIONS = 100_000  # to measure a precision on

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class EvaluatorConfig:
    """Where and how exactly networks are evaluated.

    Attributes:
        device: "auto" (CUDA if it works, else the CPU), "cuda" or "cpu".
        backend: "auto" (openvino on a CPU, torch on a GPU), "openvino" or "torch".
        precision: "auto" (the fastest that the hardware computes in), "int8", "bf16" or "fp32". A
            slower one takes its place while its errors are beyond the limits below.
        policy_kl_limit: nats; the most that the policy may differ from the one in float32, as a
            mean over positions.
        value_error_limit: the same of the value, as a mean absolute difference.
        num_positions: positions of the replay window to calibrate int8 and measure errors on.
        num_threads: CPU threads of torch in the whole process, and of an evaluation; null leaves
            both to the libraries. Self-play actors use 1.
    """

    device: str
    backend: str
    precision: str
    policy_kl_limit: float
    value_error_limit: float
    num_positions: int
    num_threads: int | None

    def __post_init__(self) -> None:
        """Checks the values."""
        for key, values in (
            ("device", DEVICES),
            ("backend", ("auto", *BACKENDS)),
            ("precision", ("auto", *PRECISIONS)),
        ):
            value = getattr(self, key)
            check_config(f"evaluator.{key}", value, value in values, ", ".join(values))
        for key in ("policy_kl_limit", "value_error_limit"):
            value = getattr(self, key)
            check_config(f"evaluator.{key}", value, value >= 0, "a number of at least 0")
        check_count(
            "evaluator.num_positions", self.num_positions, at_least=1, at_most=MAX_POSITIONS
        )
        check_count(
            "evaluator.num_threads", self.num_threads, at_least=1, at_most=MAX_THREADS, or_null=True
        )


class NetworkEvaluator:
    """Evaluates batches of states with its own frozen copy of a network.

    It holds no gradients, is never in training mode and shares no memory with a trainer. It serves
    one thread at a time, together with those that `for_game` made of it: a second one would get
    the answers of the first, or an error. Threads that evaluate at once need one each.

    Attributes:
        game: whose positions it sees.
        inference: how it evaluates the weights loaded last.
    """

    game: Game
    inference: Inference

    def __init__(self, game: Game, network_config: NetworkConfig, config: EvaluatorConfig) -> None:
        """Chooses device and backend. `load_weights` has to follow before the first evaluation.

        Where `config.num_threads` is given it is set for the whole process, since torch knows no
        other way.

        Raises:
            ConfigError: if CUDA is asked for and does not work, or something that a device or a
                backend cannot do.
        """
        if config.num_threads is not None:
            torch.set_num_threads(config.num_threads)
        self._plan = choose_plan(config)
        self.game = game
        self._module = make_network(game.spec, network_config, seed=0).eval()
        self._backend: Backend | None = None

    @property
    def device(self) -> torch.device:
        """Where it evaluates."""
        return self._plan.device

    def load_weights(self, weights: Weights, positions: UInt8Array | None = None) -> None:
        """Replaces the network by a copy of these weights; on an error the old one stays.

        Args:
            weights: the network.
            positions: observations uint8 [M, C, H, W] like those that will come, to calibrate int8
                and measure the errors of a precision on. Without any, int8 is not used.

        Raises:
            CheckpointError: if the weights do not fit, see `alphago.network.load_weights`.
            MemoryFullError: if the GPU has no memory left for the network.
        """
        if positions is not None:
            self._check(positions)
        load_weights(self._module, weights)
        graph = freeze(self._module, self.game.spec)
        try:
            self._backend, self.inference = build_backend(graph, self._plan, positions)
        except torch.OutOfMemoryError as error:
            raise MemoryFullError(
                "the GPU's memory has no room for the network; allowed: fewer actors or groups, a"
                " smaller network"
            ) from error

    def for_game(self, game: Game) -> Self:
        """Returns an evaluator by the same network for the same board under other rules.

        Networks are frozen when they are loaded, so the two share one until either loads another.

        Args:
            game: of the same observation shape.
        """
        assert game.spec.observation_shape == self.game.spec.observation_shape, game.spec.name
        other = copy.copy(self)
        other.game = game
        return other

    def evaluate(self, states: States) -> Evaluation:
        """Evaluates states, see `alphago.types.Evaluator`."""
        return self.evaluate_observations(self.game.observe(states))

    def evaluate_observations(self, observations: UInt8Array) -> Evaluation:
        """Evaluates observations; numbers that are not finite are passed on as they are.

        Args:
            observations: uint8 [M, C, H, W], the view of the player to move. Any M from 1.

        Returns:
            float32 logits [M, A] and values [M] in the view of the same player.
        """
        assert self._backend is not None, "evaluate called before load_weights"
        self._check(observations)
        return self._backend.evaluate(observations)

    def _check(self, observations: UInt8Array) -> None:
        """Tells a caller's mistake before a backend does so in its own words."""
        assert observations.dtype == np.uint8, f"observations are {observations.dtype}, not uint8"
        assert observations.shape[1:] == self.game.spec.observation_shape, (
            "observations of another game"
        )


def choose_plan(config: EvaluatorConfig) -> InferencePlan:
    """Decides what "auto" means on this machine.

    Raises:
        ConfigError: if CUDA is asked for and does not work, or something that a device or a backend
            cannot do.
    """
    device = choose_device(config.device)
    backend = choose_backend(config.backend, device)
    return InferencePlan(
        device=device,
        backend=backend,
        precision=choose_precision(config.precision, device=device, backend=backend),
        limit=PrecisionError(config.policy_kl_limit, config.value_error_limit),
        num_threads=config.num_threads,
    )


def choose_device(device: str) -> torch.device:
    """Turns "auto", "cuda" or "cpu" into a device that works.

    "Available" CUDA can still fail in its first operation (a driver too old, a GPU the build has
    no code for), hence a small convolution is run on it.

    Raises:
        ConfigError: if "cuda" is asked for and does not work, or the name is not one of the three.
    """
    check_config("evaluator.device", device, device in DEVICES, ", ".join(DEVICES))
    if device == "cpu":
        return torch.device("cpu")
    fault = cuda_fault()
    if fault is None:
        return torch.device("cuda")
    if device == "cuda":
        raise ConfigError(
            "evaluator.device", device, f"auto or cpu, since CUDA does not work here ({fault})"
        )
    if fault == NO_CUDA:
        logger.info("evaluating on the CPU: %s", fault)
    else:
        _warn_of_cuda(fault)
    return torch.device("cpu")


@functools.cache  # a process makes many evaluators
def _warn_of_cuda(fault: str) -> None:
    logger.warning("evaluating on the CPU, since CUDA does not work here (%s)", fault)


def cuda_fault() -> str | None:
    """Returns in one line why CUDA cannot be used, or None where it works."""
    with warnings.catch_warnings(record=True) as caught:  # torch warns of a driver that is too old
        warnings.simplefilter("always")
        is_available = torch.cuda.is_available()
    if not is_available:
        return _first_line(caught[0].message) if caught else NO_CUDA
    try:
        planes = torch.ones(1, 1, 3, 3, device="cuda")
        total = functional.conv2d(planes, planes).item()
    # RuntimeError: all that CUDA reports. AssertionError: a torch built without CUDA.
    except (RuntimeError, AssertionError) as error:
        return _first_line(error)
    return None if total == 9 else f"a test convolution gave {total}, not 9"


def _first_line(error: object) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
