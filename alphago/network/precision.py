"""Which precision a network is evaluated in, and how far its answers are from float32.

Faster arithmetic is not trusted: whenever weights change, it is compared with float32 in torch on
positions of the run, and given up where it is too far off. An int8 network whose ranges are wrong
plays hundreds of Elo weaker without any error showing in training, which is in float32.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from alphago.types import Evaluation, FloatArray, UInt8Array

BITS = {"int8": 8, "bf16": 16, "fp32": 32}  # of a number, by precision
PRECISIONS = tuple(BITS)  # fastest first


class Backend(Protocol):
    """A network in the form in which it is evaluated."""

    def evaluate(self, observations: UInt8Array) -> Evaluation:
        """Evaluates a batch.

        Args:
            observations: uint8 [M, C, H, W], the view of the player to move. Any M from 1.

        Returns:
            float32 logits [M, A] and values [M] in the view of the same player.
        """
        ...


class PrecisionError(NamedTuple):
    """How far answers are from those in float32, on average over positions."""

    policy_kl: float  # nats, of the policy in float32 against this one, over all actions
    value_error: float  # absolute difference

    def is_within(self, limit: "PrecisionError") -> bool:
        """Tells whether both are at most the limit's; nan is not."""
        return self.policy_kl <= limit.policy_kl and self.value_error <= limit.value_error

    def __str__(self) -> str:
        """Returns both in words."""
        return f"policy KL {self.policy_kl:.2g} nats, value error {self.value_error:.2g}"


class Inference(NamedTuple):
    """How a network is evaluated now.

    Attributes:
        backend: "torch" or "openvino".
        precision: "int8", "bf16" or "fp32".
        error: that of this precision; None where there were no positions to measure it on.
        refused: errors of the precisions that were too far off; with fp32 among them, the backend
            that was planned is not used at all.
    """

    backend: str
    precision: str
    error: PrecisionError | None
    refused: Mapping[str, PrecisionError]

    def __str__(self) -> str:
        """Returns all of it in one line."""
        parts = [f"{self.backend} {self.precision}"]
        if self.error is not None:
            parts.append(str(self.error))
        parts += [f"{precision} refused: {error}" for precision, error in self.refused.items()]
        return "; ".join(parts)


def measure_error(reference: Evaluation, answer: Evaluation) -> PrecisionError:
    """Compares an answer with the one in float32, both of the same positions."""
    expected = _log_softmax(reference.prior_logits)
    policy_kl = np.exp(expected) * (expected - _log_softmax(answer.prior_logits))
    return PrecisionError(
        # Rounding puts equal policies a little below 0; nan stays what it is.
        policy_kl=float(np.maximum(policy_kl.sum(axis=1), 0.0).mean()),
        value_error=float(np.abs(reference.value - answer.value).mean()),
    )


def _log_softmax(logits: FloatArray) -> npt.NDArray[np.float64]:
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    log_softmax: npt.NDArray[np.float64] = shifted - np.log(
        np.exp(shifted).sum(axis=1, keepdims=True)
    )
    return log_softmax
