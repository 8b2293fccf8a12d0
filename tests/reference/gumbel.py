"""Gumbel's rule with one Python object per node: the slow, plain oracle for `gumbel.py`.

Written from the paper (Danihelka et al. 2022, "Policy improvement by planning with Gumbel") with a
number for every legal action of every node, in double precision; it shares the nodes of
`tests/reference/mcts.py`, and no code with the search under test.
"""

import math
from typing import NamedTuple

import numpy as np

from alphago.games.game import Game
from alphago.types import Evaluator, FloatArray, States
from tests.reference.mcts import Node, back_up


class Constants(NamedTuple):
    """As in `GumbelConfig`."""

    num_considered: int
    value_scale: float
    visit_init: float


def schedule(num_considered: int, num_simulations: int) -> list[int]:
    """Returns the visits that an action must have to be taken, by simulation.

    Plays sequential halving with candidates that never change their order.
    """
    visits = [0] * num_considered
    taken: list[int] = []
    num_phases = max(1, (num_considered - 1).bit_length())
    survivors = list(range(num_considered))
    while True:
        rounds = max(1, num_simulations // (num_phases * len(survivors)))
        for _ in range(rounds):
            for candidate in survivors:
                if len(taken) == num_simulations:
                    return taken
                taken.append(visits[candidate])
                visits[candidate] += 1
        if len(survivors) > 2:
            survivors = survivors[: max(2, len(survivors) // 2)]


def visits_of(node: Node) -> dict[int, int]:
    """Returns the visits of every legal action of a prior above 0; the others are left out."""
    return {
        a: node.children[a].visits if a in node.children else 0
        for a, prior in node.priors.items()
        if prior > 0
    }


def logits_of(node: Node) -> dict[int, float]:
    """Returns the logits, but for a constant, of these actions."""
    return {a: math.log(node.priors[a]) for a in visits_of(node)}


def completed_values(node: Node) -> dict[int, float]:
    """Returns the value of each of these actions, v_mix where it was not tried."""
    values = {a: node.child_value(a) for a in node.children}
    priors = {a: math.exp(logits_of(node)[a]) for a in values}
    mixed = node.own_value
    if values:
        num_visits = sum(visits_of(node).values())
        mean = math.fsum(priors[a] * values[a] for a in values) / math.fsum(priors.values())
        mixed = (node.own_value + num_visits * mean) / (1 + num_visits)
    return {a: values.get(a, mixed) for a in visits_of(node)}


def transformed_values(node: Node, constants: Constants) -> dict[int, float]:
    """Returns sigma of the completed value of each of these actions."""
    values = completed_values(node)
    lowest = min(values.values())
    value_range = max(max(values.values()) - lowest, 1e-3)
    weight = (constants.visit_init + max(visits_of(node).values())) * constants.value_scale
    return {a: weight * (value - lowest) / value_range for a, value in values.items()}


def improved_policy(node: Node, constants: Constants) -> dict[int, float]:
    """Returns softmax(logits + sigma(completed values)) of each of these actions."""
    logits, sigma = logits_of(node), transformed_values(node, constants)
    sums = {a: logits[a] + sigma[a] for a in logits}
    highest = max(sums.values())
    weights = {a: math.exp(each - highest) for a, each in sums.items()}
    total = math.fsum(weights.values())
    return {a: weight / total for a, weight in weights.items()}


def improved_value(node: Node, constants: Constants) -> float:
    """Returns the mean of the completed values under the improved policy."""
    policy, values = improved_policy(node, constants), completed_values(node)
    return math.fsum(policy[a] * values[a] for a in policy)


class GumbelOracle:
    """The tree of one position, searched to the end of its budget."""

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        *,
        state: States,
        constants: Constants,
        numbers: FloatArray,
        num_simulations: int,
    ) -> None:
        """Searches.

        Args:
            game: the rules.
            evaluator: answers for every position.
            state: [1] the position.
            constants: of the rule.
            numbers: float32 [A], the Gumbel numbers.
            num_simulations: the budget.
        """
        self.game = game
        self.evaluator = evaluator
        self.constants = constants
        self.numbers = numbers
        self.smallest_gap = math.inf  # between the best score of a choice and another one
        self.root = Node(state, game, evaluator)
        num_considered = min(constants.num_considered, len(visits_of(self.root)))
        for num_visits in schedule(num_considered, num_simulations):
            self._simulate(num_visits)

    def action(self) -> int:
        """Returns the move: of the most visited actions the best one."""
        return self._best_at_root(max(visits_of(self.root).values()))

    def _simulate(self, num_visits: int) -> None:
        path = [self.root]
        action = self._best_at_root(num_visits)
        while action in path[-1].children and not path[-1].children[action].is_over:
            path.append(path[-1].children[action])
            action = self._best_below(path[-1])
        node = path[-1]
        if action not in node.children:
            state = self.game.step(node.state, np.array([action]))
            node.children[action] = Node(state, self.game, self.evaluator)
            back_up(path, node.children[action], value=node.children[action].own_value)
        else:
            leaf = node.children[action]
            back_up([*path, leaf], leaf, value=leaf.own_value)

    def _best_at_root(self, num_visits: int) -> int:
        logits = logits_of(self.root)
        sigma = transformed_values(self.root, self.constants)
        scores = {
            a: float(self.numbers[a]) + logits[a] + sigma[a]
            for a, visits in visits_of(self.root).items()
            if visits == num_visits
        }
        return self._best(scores)

    def _best_below(self, node: Node) -> int:
        policy, visits = improved_policy(node, self.constants), visits_of(node)
        total = sum(visits.values())
        return self._best({a: policy[a] - visits[a] / (1 + total) for a in policy})

    def _best(self, scores: dict[int, float]) -> int:
        best = max(scores.values())
        gaps = [best - score for score in scores.values() if score != best]
        self.smallest_gap = min([self.smallest_gap, *gaps])
        return min(action for action, score in scores.items() if score == best)
