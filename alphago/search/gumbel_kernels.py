"""The compiled half of Gumbel's rule: select actions, and gather the improved policy of a root.

`gumbel.py` explains the rule and names its source. Trees are sparse: all untried actions of a node
have the same value, v_mix, so that everything over its actions is a loop over its children, and one
term for the rest. Helpers speak of one node, only the outermost kernel of a batch.

The transform sigma of a node's values is kept but for a constant, its value at the highest of them:
neither a softmax nor the order of scores sees it, and e to what is left cannot overflow. Sums are
double precision, in which `1 - tried_prior` loses nothing more.

An action whose prior is exactly 0 counts as illegal, see `highest_prior`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.kernels import kernel
from alphago.search.formulas import exp_of_negative, mixed_value, value_slope
from alphago.search.tree import (
    NO_PRIOR,
    NONE_UNTRIED,
    ROOT,
    UNVISITED,
    Nodes,
    Tree,
)
from alphago.search.tree_kernels import find_best_untried, own_value_sum
from alphago.types import BoolArray, FloatArray

Float64Array = npt.NDArray[np.float64]


class GumbelRows(NamedTuple):
    """The rows that go by Gumbel's rule, and what they need to know for it.

    B games, A actions, budgets of up to N simulations. Where no row ever does, `is_on`, `values`
    and `weights` alone have entries.
    """

    is_on: BoolArray  # [B]; where False, the row goes by PUCT and the rest is not read
    root_scores: FloatArray  # [B, A], Gumbel number + logit of the root's actions, or -inf
    considered_visits: npt.NDArray[np.int32]  # [B, N], by number of simulations so far
    values: Float64Array  # [A], room to work in: of a node's children
    weights: Float64Array  # [A], likewise
    value_scale: float  # see `GumbelConfig`
    visit_init: float


class GumbelResult(NamedTuple):
    """What searches by Gumbel's rule have found, K rows."""

    policy_targets: FloatArray  # [K, A], the improved policies; 0 where illegal
    actions: npt.NDArray[np.int64]  # [K], the moves: of the most visited actions the best
    values: FloatArray  # [K], of the improved policies, view of the player to move


class ValueTransform(NamedTuple):
    """The transform sigma of one node's values: slope * (value - highest), and a constant."""

    mixed_value: float  # v_mix, of every untried action
    highest: float
    slope: float


@kernel
def transform_values(
    nodes: Nodes,
    node: int,
    children: npt.NDArray[np.int32],
    has_untried: bool,
    gumbel: GumbelRows,
) -> ValueTransform:
    """Completes the values of a node by v_mix.

    Values and priors of its children go to `gumbel.values` and `gumbel.weights`.
    """
    here = nodes[node]
    prior_sum, product_sum = 0.0, 0.0
    lowest, highest = np.inf, -np.inf
    most_visits = 0
    for place in range(here["num_children"]):
        child = children[place]
        visits = nodes[child]["visits"]
        value = np.float64(own_value_sum(nodes, child, here["to_play"])) / visits
        prior = np.float64(nodes[child]["prior"])
        gumbel.values[place] = value
        gumbel.weights[place] = prior
        prior_sum += prior
        product_sum += prior * value
        lowest, highest = min(lowest, value), max(highest, value)
        most_visits = max(most_visits, visits)
    mixed = mixed_value(np.float64(here["raw_value"]), here["visits"] - 1, prior_sum, product_sum)
    if has_untried:
        lowest, highest = min(lowest, mixed), max(highest, mixed)
    slope = value_slope(highest - lowest, most_visits, gumbel.value_scale, gumbel.visit_init)
    return ValueTransform(mixed, highest, slope)


@kernel
def weigh(values: Float64Array, weights: Float64Array, transform: ValueTransform) -> None:
    """Multiplies priors of some children, in `weights`, by e to sigma of their values, in place."""
    for place in range(values.size):  # short and without branches, so that it runs on vectors
        exponent = transform.slope * (values[place] - transform.highest)
        weights[place] *= exp_of_negative(exponent)


@kernel
def select_improved(trees: Tree, b: int, node: int, gumbel: GumbelRows) -> tuple[int, int]:
    """Returns the action that is furthest behind its share of the improved policy, and its child.

    The highest pi'(a) - N(a) / (1 + sum of N); the lowest action wins ties.
    """
    nodes, children = trees.nodes[b], trees.children[b, node]
    here = nodes[node]
    best_action = find_best_untried(here, trees.untried_priors[b, node])
    has_untried = best_action != NONE_UNTRIED
    transform = transform_values(nodes, node, children, has_untried, gumbel)
    total, untried_weight = 0.0, 0.0
    if has_untried:
        prior = np.float64(trees.untried_priors[b, node, best_action])
        factor = exp_of_negative(transform.slope * (transform.mixed_value - transform.highest))
        untried_weight = prior * factor
        total = max(1.0 - np.float64(here["tried_prior"]), prior) * factor
    num_children = here["num_children"]
    weigh(gumbel.values[:num_children], gumbel.weights[:num_children], transform)
    for place in range(num_children):
        total += gumbel.weights[place]
    best_child = UNVISITED
    best_score = untried_weight / total if has_untried else -np.inf
    for place in range(here["num_children"]):
        child = children[place]
        score = gumbel.weights[place] / total - nodes[child]["visits"] / np.float64(here["visits"])
        is_first_of_equals = score == best_score and nodes[child]["action"] < best_action
        if score > best_score or is_first_of_equals:
            best_score = score
            best_action = nodes[child]["action"]
            best_child = child
    return best_action, best_child


@kernel
def best_untried_at_root(untried_priors: FloatArray, root_scores: FloatArray) -> int:
    """Returns the untried action of the highest root score [A] above -inf, the lowest of equals."""
    best = NONE_UNTRIED
    highest = np.float32(-np.inf)
    for a in range(root_scores.size):
        if untried_priors[a] != NO_PRIOR and root_scores[a] > highest:
            highest = root_scores[a]
            best = a
    return best


@kernel
def select_considered(trees: Tree, b: int, num_visits: int, gumbel: GumbelRows) -> tuple[int, int]:
    """Returns the best root action of those with so many visits, and its child or UNVISITED.

    The highest g + logit + sigma(q), the lowest of equals. There must be one.
    """
    nodes, children = trees.nodes[b], trees.children[b, ROOT]
    untried_priors = trees.untried_priors[b, ROOT]
    if num_visits == 0:  # all have the same value
        return best_untried_at_root(untried_priors, gumbel.root_scores[b]), UNVISITED
    has_untried = find_best_untried(nodes[ROOT], untried_priors) != NONE_UNTRIED
    transform = transform_values(nodes, ROOT, children, has_untried, gumbel)
    best_action, best_child = NONE_UNTRIED, UNVISITED
    best_score = -np.inf
    for place in range(nodes[ROOT]["num_children"]):
        child = children[place]
        action = nodes[child]["action"]
        if nodes[child]["visits"] == num_visits:
            score = np.float64(gumbel.root_scores[b, action])
            score += transform.slope * (gumbel.values[place] - transform.highest)
            if score > best_score or (score == best_score and action < best_action):
                best_score = score
                best_action = action
                best_child = child
    return best_action, best_child


@kernel
def select_by_gumbel(trees: Tree, b: int, node: int, gumbel: GumbelRows) -> tuple[int, int]:
    """Returns the action to take at a node of game b, and its child or UNVISITED."""
    if node == ROOT:
        num_simulations = trees.nodes[b, ROOT]["visits"] - 1
        return select_considered(trees, b, gumbel.considered_visits[b, num_simulations], gumbel)
    return select_improved(trees, b, node, gumbel)


@kernel
def fill_improved_policy(trees: Tree, b: int, gumbel: GumbelRows, policy: FloatArray) -> float:
    """Writes the improved policy of a root, softmax(logits + sigma(completed values)), [A].

    Returns:
        Its value, the mean of the completed values. That of the visits would be far too low:
        sequential halving gives half of them to actions that it has drawn, not chosen.
    """
    nodes, children = trees.nodes[b], trees.children[b, ROOT]
    untried_priors = trees.untried_priors[b, ROOT]
    has_untried = find_best_untried(nodes[ROOT], untried_priors) != NONE_UNTRIED
    transform = transform_values(nodes, ROOT, children, has_untried, gumbel)
    factor = 0.0
    if has_untried:
        factor = exp_of_negative(transform.slope * (transform.mixed_value - transform.highest))
    total = 0.0
    for a in range(policy.size):
        weight = 0.0
        if untried_priors[a] != NO_PRIOR:
            weight = np.float64(untried_priors[a]) * factor
        gumbel.weights[a] = weight
        total += weight
    weighted_value = total * transform.mixed_value
    for place in range(nodes[ROOT]["num_children"]):
        child = nodes[children[place]]
        factor = exp_of_negative(transform.slope * (gumbel.values[place] - transform.highest))
        weight = np.float64(child["prior"]) * factor
        gumbel.weights[child["action"]] = weight
        total += weight
        weighted_value += weight * gumbel.values[place]
    for a in range(policy.size):
        policy[a] = gumbel.weights[a] / total
    return weighted_value / total


@kernel
def fill_gumbel_result(
    trees: Tree, rows: npt.NDArray[np.int64], gumbel: GumbelRows, result: GumbelResult
) -> None:
    """Writes what searches of some rows [K] have found; `result` is filled in place."""
    for k in range(len(rows)):
        b = rows[k]
        result.values[k] = fill_improved_policy(trees, b, gumbel, result.policy_targets[k])
        most_visits = 0
        for place in range(trees.nodes[b, ROOT]["num_children"]):
            child = trees.children[b, ROOT, place]
            most_visits = max(most_visits, trees.nodes[b, child]["visits"])
        result.actions[k], _ = select_considered(trees, b, most_visits, gumbel)
