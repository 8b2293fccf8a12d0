"""What self-play needs of a network."""

from typing import Protocol

from alphago.types import Evaluator, Weights


class TrainableEvaluator(Evaluator, Protocol):
    """An evaluator whose weights can be replaced."""

    def load_weights(self, weights: Weights) -> None:
        """Uses these weights from the next evaluation on."""
        ...
