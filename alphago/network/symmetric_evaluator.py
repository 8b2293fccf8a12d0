"""Asks a network about several images of a position and averages what it says."""

from typing import Self

import numpy as np

from alphago.games.game import Game
from alphago.games.symmetry import inverse, transform_observations
from alphago.network.evaluator import NetworkEvaluator
from alphago.types import Evaluation, States


class SymmetricEvaluator:
    """A network's answers, averaged over symmetries of the game.

    A network has learnt symmetries, but is not symmetrical: what it says of the images of a
    position differs, and the mean is on average nearer to the truth than one of them. That costs
    as many evaluations. AlphaGo Zero asks about one image of each leaf, drawn at random (Methods,
    "Expand and evaluate"); here nothing is left to chance, and equal positions have equal answers.

    Attributes:
        game: whose positions it sees.
        network: what is asked.
        num_symmetries: images of each position, the first ones of the game's.
    """

    def __init__(self, network: NetworkEvaluator, *, num_symmetries: int) -> None:
        """Prepares the images; there must be so many."""
        self.network = network
        self.num_symmetries = num_symmetries
        self._symmetries = network.game.spec.symmetries[:num_symmetries]
        self._upright = [inverse(symmetry).actions for symmetry in self._symmetries]
        assert len(self._symmetries) == num_symmetries, "more images than the game has symmetries"

    @property
    def game(self) -> Game:
        """The game whose positions it sees."""
        return self.network.game

    def for_game(self, game: Game) -> Self:
        """Returns one that sees the positions of a game with the same observation shape."""
        return type(self)(self.network.for_game(game), num_symmetries=self.num_symmetries)

    def evaluate(self, states: States) -> Evaluation:
        """Evaluates states, see `alphago.types.Evaluator`."""
        observations = self.game.observe(states)
        images = [transform_observations(observations, each) for each in self._symmetries]
        answer = self.network.evaluate_observations(np.concatenate(images))
        logits = answer.prior_logits.reshape(self.num_symmetries, len(states), -1)
        values = answer.value.reshape(self.num_symmetries, len(states))
        upright = [image[:, actions] for image, actions in zip(logits, self._upright, strict=True)]
        return Evaluation(np.mean(upright, axis=0), values.mean(axis=0))
