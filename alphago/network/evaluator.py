"""`NetworkEvaluator`: states in, priors and values out, on the best device there is."""

import contextlib
import copy
import logging
import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch.nn import functional

from alphago.errors import ConfigError, check_config, check_count
from alphago.games.game import Game
from alphago.network.convolution import best_convolution
from alphago.network.inference import FoldedNetwork, Target
from alphago.network.network import NetworkConfig, load_weights, make_network
from alphago.types import Evaluation, States, UInt8Array, Weights

DEVICES = ("auto", "cuda", "cpu")
PRECISIONS = ("auto", "fp32", "bf16")
NO_CUDA = "no CUDA device"

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class EvaluatorConfig:
    """Where and how exactly networks are evaluated.

    Attributes:
        device: "auto" (CUDA if it works, else the CPU), "cuda" or "cpu".
        precision: "auto" (bf16 where the hardware computes in it, else fp32), "fp32" or "bf16".
        num_threads: CPU threads of torch in the whole process; null leaves them as they are.
            Self-play actors use 1.
    """

    device: str
    precision: str
    num_threads: int | None

    def __post_init__(self) -> None:
        """Checks the values."""
        check_config("evaluator.device", self.device, self.device in DEVICES, ", ".join(DEVICES))
        is_precision = self.precision in PRECISIONS
        check_config("evaluator.precision", self.precision, is_precision, ", ".join(PRECISIONS))
        check_count("evaluator.num_threads", self.num_threads, at_least=1, or_null=True)


class NetworkEvaluator:
    """Evaluates batches of states with its own frozen copy of a network.

    It holds no gradients, is never in training mode and shares no memory with a trainer.

    Attributes:
        game: whose positions it sees.
        device: where it evaluates.
        precision: "fp32" or "bf16", of the convolutions. Answers are float32 in either case.
        num_evaluations: rows evaluated since its creation.
    """

    game: Game
    device: torch.device
    precision: str
    num_evaluations: int

    def __init__(self, game: Game, network_config: NetworkConfig, config: EvaluatorConfig) -> None:
        """Chooses device and precision. `load_weights` has to follow before the first evaluation.

        Where `config.num_threads` is given it is set for the whole process, since torch knows no
        other way.

        Raises:
            ConfigError: if CUDA is asked for and does not work.
        """
        if config.num_threads is not None:
            torch.set_num_threads(config.num_threads)
        self.device = choose_device(config.device)
        self.precision = choose_precision(config.precision, self.device)
        self.num_evaluations = 0
        self.game = game
        self._module = make_network(game.spec, network_config, seed=0).eval()
        self._folded: FoldedNetwork | None = None

    def load_weights(self, weights: Weights) -> None:
        """Replaces the network by a copy of these weights; on an error the old one stays.

        Raises:
            CheckpointError: if the weights do not fit, see `alphago.network.load_weights`.
        """
        load_weights(self._module, weights)
        target = Target(
            board_shape=self.game.spec.observation_shape[1:],
            device=self.device,
            dtype=torch.bfloat16 if self.precision == "bf16" else torch.float32,
            convolution=best_convolution(self.device),
        )
        # Tensors created outside of inference mode are slower to call with.
        with torch.inference_mode():
            self._folded = FoldedNetwork(self._module, target)

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
        assert self._folded is not None, "evaluate called before load_weights"
        assert observations.dtype == np.uint8, f"observations are {observations.dtype}, not uint8"
        assert observations.shape[1:] == self.game.spec.observation_shape, (
            "observations of another game"
        )
        # Copied only where the array is read-only, of which torch would warn.
        batch = torch.from_numpy(np.require(observations, requirements=["C", "W"]))
        with torch.inference_mode(), exact_convolutions(self.device):
            logits, value = self._folded(batch)
            answer = Evaluation(logits.cpu().numpy(), value.cpu().numpy())
        self.num_evaluations += len(observations)
        return answer


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
        logger.warning("evaluating on the CPU, since CUDA does not work here (%s)", fault)
    return torch.device("cpu")


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


def choose_precision(precision: str, device: torch.device) -> str:
    """Turns "auto" into "bf16" where the device computes in it natively, else into "fp32"."""
    if precision != "auto":
        return precision
    if device.type == "cuda":
        is_native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        is_native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bf16" if is_native else "fp32"


def exact_convolutions(device: torch.device) -> contextlib.AbstractContextManager[None]:
    """Returns a context in which float32 means float32 on CUDA too, where the default is TF32."""
    if device.type == "cuda":
        return torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
    return contextlib.nullcontext()


def _first_line(error: object) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
