"""Tree search with one Python object per node: the slow, plain oracle for `alphago.search`.

It is written from the formulas alone and shares no code with the search under test. All arithmetic
is double precision, except that priors are rounded to float32 once, as the search publishes them.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from alphago.games.game import Game
from alphago.types import Evaluator, FloatArray, States

if TYPE_CHECKING:
    from alphago.search import SearchConfig


class Node:
    """One position of the tree. Values are in the view of its player to move."""

    def __init__(self, state: States, game: Game, evaluator: Evaluator) -> None:
        """Evaluates a position, by the rules if the game is over and by the evaluator if not.

        Args:
            state: [1] the position.
            game: its rules.
            evaluator: asked for unfinished positions only.
        """
        self.state = state
        self.to_play = int(game.to_play(state)[0])
        self.is_over = bool(game.is_over(state)[0])
        self.children: dict[int, Node] = {}
        self.priors: dict[int, float] = {}  # by legal action
        if self.is_over:
            own_value = float(game.returns(state)[0, self.to_play])
        else:
            evaluation = evaluator.evaluate(state)
            own_value = float(evaluation.value[0])
            legal_actions = np.flatnonzero(game.legal_actions(state)[0]).tolist()
            self.priors = softmax({a: float(evaluation.prior_logits[0, a]) for a in legal_actions})
        self.own_value = own_value
        self.visits = 1
        self.value_sum = own_value

    def value(self) -> float:
        """Returns the mean of the own value and of all simulations that went through."""
        return self.value_sum / self.visits

    def child_value(self, action: int) -> float:
        """Returns the value of a visited child in the view of the player to move here."""
        child = self.children[action]
        return child.value() if child.to_play == self.to_play else -child.value()


def softmax(logits: dict[int, float]) -> dict[int, float]:
    """Turns logits by legal action into probabilities, rounded to float32."""
    highest = max(logits.values())
    weights = {action: math.exp(logit - highest) for action, logit in logits.items()}
    total = math.fsum(weights.values())
    return {action: float(np.float32(weight / total)) for action, weight in weights.items()}


def make_root(
    state: States,
    game: Game,
    *,
    evaluator: Evaluator,
    config: "SearchConfig",
    root_noise: FloatArray | None = None,
) -> Node:
    """Returns the root of a new tree.

    Args:
        state: [1] the position to search.
        game: its rules.
        evaluator: answers for every position.
        config: constants of the search.
        root_noise: float32 [A] to mix into the priors, or None.
    """
    root = Node(state, game, evaluator)
    if root_noise is not None:
        weight = config.noise_weight
        root.priors = {
            action: float(np.float32((1.0 - weight) * prior + weight * float(root_noise[action])))
            for action, prior in root.priors.items()
        }
    return root


def action_scores(node: Node, config: "SearchConfig", *, is_root: bool) -> dict[int, float]:
    """Returns the PUCT score of each legal action of a prior above 0; others are never tried."""
    growth = math.log((node.visits + config.exploration_base + 1.0) / config.exploration_base)
    exploration = (config.exploration_init + growth) * math.sqrt(node.visits)
    reduction = config.root_fpu_reduction if is_root else config.fpu_reduction
    visited_prior = math.fsum(node.priors[action] for action in node.children)
    first_play_value = max(-1.0, node.value() - reduction * math.sqrt(visited_prior))
    scores = {}
    for action, prior in node.priors.items():
        if prior == 0:
            continue
        visits = node.children[action].visits if action in node.children else 0
        value = node.child_value(action) if visits else first_play_value
        scores[action] = value + exploration * prior / (1 + visits)
    return scores


def simulate(root: Node, game: Game, *, evaluator: Evaluator, config: "SearchConfig") -> float:
    """Runs one simulation.

    Returns:
        The smallest distance, over all choices on the way down, between the chosen action's score
        and another one that is not exactly equal. Where it is below the rounding of float32,
        another program may rightly choose differently.
    """
    path = [root]
    smallest_gap = math.inf
    while not path[-1].is_over:
        node = path[-1]
        scores = action_scores(node, config, is_root=node is root)
        best = max(scores.values())
        gaps = [best - score for score in scores.values() if score != best]
        smallest_gap = min([smallest_gap, *gaps])
        action = min(action for action, score in scores.items() if score == best)
        if action not in node.children:
            leaf = Node(game.step(node.state, np.array([action])), game, evaluator)
            node.children[action] = leaf
            back_up(path, leaf, value=leaf.own_value)
            return smallest_gap
        path.append(node.children[action])
    leaf = path[-1]
    back_up(path, leaf, value=leaf.own_value)
    return smallest_gap


def back_up(path: list[Node], leaf: Node, *, value: float) -> None:
    """Adds a value in the view of the leaf's player to every node of the path."""
    for node in path:
        node.visits += 1
        node.value_sum += value if node.to_play == leaf.to_play else -value


def tree_as_json(node: Node) -> dict[str, Any]:
    """Returns the tree below a node as nested plain dicts, for golden files."""
    return {
        "to_play": node.to_play,
        "is_over": node.is_over,
        "visits": node.visits,
        "value": round(node.value(), 9),
        "priors": {str(action): round(prior, 9) for action, prior in node.priors.items()},
        "children": {
            str(action): tree_as_json(child) for action, child in sorted(node.children.items())
        },
    }
