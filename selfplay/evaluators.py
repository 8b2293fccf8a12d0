"""What self-play needs of a network."""

from typing import Protocol

from alphago.search.evaluation_cache import ObservationEvaluator
from alphago.types import Evaluator, UInt8Array, Weights


class TrainableEvaluator(Evaluator, ObservationEvaluator, Protocol):
    """A network whose weights can be replaced."""

    def load_weights(self, weights: Weights, positions: UInt8Array | None = None) -> None:
        """Uses these weights from the next evaluation on.

        Args:
            weights: the network.
            positions: observations of recent games uint8 [M, C, H, W], see `NetworkEvaluator`.
        """
        ...
