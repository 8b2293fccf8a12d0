"""From a `Graph` to what evaluates it: the fastest backend and precision that can be trusted."""

from typing import NamedTuple

import numpy as np
import torch

from alphago.errors import ConfigError
from alphago.network.cuda_backend import make_cuda_backend
from alphago.network.graph import Graph
from alphago.network.hardware import computes_int8, native_precision
from alphago.network.openvino_backend import OpenVinoBackend
from alphago.network.precision import (
    PRECISIONS,
    Backend,
    Inference,
    PrecisionError,
    measure_error,
)
from alphago.network.quantization import Ranges, measure_ranges
from alphago.network.torch_backend import Target, TorchBackend
from alphago.types import UInt8Array

BACKENDS = ("openvino", "torch")

_SEED = 0  # of made-up observations; any will do
_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


class InferencePlan(NamedTuple):
    """How networks are to be evaluated.

    Attributes:
        device: where.
        backend: one of `BACKENDS`.
        precision: one of `PRECISIONS`, the fastest that may be used.
        limit: largest errors of a precision; one beyond them is not used.
        num_threads: CPU threads, None for all.
    """

    device: torch.device
    backend: str
    precision: str
    limit: PrecisionError
    num_threads: int | None


def choose_backend(backend: str, device: torch.device) -> str:
    """Turns "auto" into the faster backend of a device.

    Raises:
        ConfigError: if a backend is asked for that does not run there.
    """
    if backend == "auto":
        return "openvino" if device.type == "cpu" else "torch"
    if backend == "openvino" and device.type != "cpu":
        raise ConfigError("evaluator.backend", backend, f"auto or torch on {device.type}")
    return backend


def choose_precision(precision: str, *, device: torch.device, backend: str) -> str:
    """Turns "auto" into the fastest precision that the hardware computes in.

    Raises:
        ConfigError: if int8 is asked of torch, which has no such convolutions.
    """
    if precision == "auto":
        is_fast = backend == "openvino" and computes_int8()
        return "int8" if is_fast else native_precision(device)
    if precision == "int8" and backend == "torch":
        raise ConfigError("evaluator.precision", precision, "auto, bf16 or fp32 with torch")
    return precision


def build_backend(
    graph: Graph, plan: InferencePlan, positions: UInt8Array | None
) -> tuple[Backend, Inference]:
    """Builds the fastest backend whose answers are close enough to those in float32.

    Args:
        graph: the network.
        plan: where to evaluate, and the fastest precision.
        positions: observations uint8 [M, C, H, W] to compare on, like those that will come. int8
            is calibrated on them. None leaves out the comparison, and int8 with it.

    Returns:
        The backend, and what was found. It is the one of torch in float32 where nothing else is
        close enough, and for a network whose weights are not finite or whose answers are not, to
        these positions or, without any, to made-up observations: OpenVINO's ReLU makes 0 of nan,
        and nobody would see that such a network is broken.
    """
    reference = TorchBackend(graph, Target(plan.device, torch.float32))
    not_measured = Inference("torch", "fp32", error=None, refused={})
    if not graph.is_finite:
        return reference, not_measured
    expected = reference.evaluate(_made_up(graph) if positions is None else positions)
    if not all(np.isfinite(answer).all() for answer in expected):
        return reference, not_measured
    precisions = _precisions_from(plan.precision, plan.device)
    if positions is None:
        precision = next(each for each in precisions if each != "int8")
        backend = _make_backend(graph, plan, precision, None)
        return backend, Inference(plan.backend, precision, error=None, refused={})
    refused: dict[str, PrecisionError] = {}
    for precision in precisions:
        ranges = measure_ranges(graph, reference, positions) if precision == "int8" else None
        backend = _make_backend(graph, plan, precision, ranges)
        error = measure_error(expected, backend.evaluate(positions))
        if error.is_within(plan.limit):
            return backend, Inference(plan.backend, precision, error, refused)
        refused[precision] = error
    return reference, Inference("torch", "fp32", PrecisionError(0.0, 0.0), refused)


def _made_up(graph: Graph) -> UInt8Array:
    """Returns observations uint8 [4, C, H, W]: all zeros, all ones, and two of random bits."""
    shape = graph.observation_shape
    zeros, ones = np.zeros((1, *shape), np.uint8), np.ones((1, *shape), np.uint8)
    bits = np.random.default_rng(_SEED).integers(0, 2, (2, *shape), np.uint8)
    return np.concatenate([zeros, ones, bits])


def _precisions_from(fastest: str, device: torch.device) -> list[str]:
    """Returns the precisions to try, fastest first; fp32 is the last."""
    usable = {fastest, native_precision(device), "fp32"}
    return [each for each in PRECISIONS[PRECISIONS.index(fastest) :] if each in usable]


def _make_backend(
    graph: Graph, plan: InferencePlan, precision: str, ranges: Ranges | None
) -> Backend:
    if plan.backend == "openvino":
        return OpenVinoBackend(
            graph, precision=precision, ranges=ranges, num_threads=plan.num_threads
        )
    target = Target(plan.device, _DTYPES[precision])
    make_backend = make_cuda_backend if plan.device.type == "cuda" else TorchBackend
    return make_backend(graph, target)
