"""The compiled half of the search: expand a leaf, back its value up, gather results. Knows no game.

Helpers speak of one tree or node, only the outermost kernels of a batch. All is changed in place.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from alphago.kernels import kernel
from alphago.search.formulas import exp_of_negative
from alphago.search.tree import (
    LEAF_CHILD,
    LEAF_NONE,
    NO_PARENT,
    NO_PRIOR,
    NONE_UNTRIED,
    NOT_LOOKED_UP,
    ROOT,
    UNVISITED,
    Edges,
    LeafFacts,
    Leaves,
    Nodes,
    StateRows,
    Tree,
)
from alphago.types import BoolArray, FloatArray, Real, SearchResult, UInt8Array

NO_BAD_ROW = -1  # returned by `expand_and_back_up` when every evaluation was usable


@kernel
def highest_prior(priors: FloatArray) -> int:
    """Returns the action with the highest prior [A] above 0, or NONE_UNTRIED.

    The lowest action wins ties. An action of prior 0 is never tried, as if it were illegal: no
    prior is small enough to keep a search from it for good where all else seems to lose.
    """
    best = NONE_UNTRIED
    highest = np.float32(0.0)
    for a in range(priors.size):
        if priors[a] > highest:
            highest = priors[a]
            best = a
    return best


@kernel
def own_value_sum(nodes: Nodes, child: int, to_play: int) -> Any:
    """Returns the sum of a child's values in the view of `to_play`, the player who chose it.

    The sign flips where the player changes, not per ply: a player may move twice in a row.
    """
    value_sum = nodes[child]["value_sum"]
    return value_sum if nodes[child]["to_play"] == to_play else -value_sum


@kernel
def find_best_untried(node: np.void, untried_priors: FloatArray) -> int:
    """Returns a node's untried action of the highest prior [A], or NONE_UNTRIED.

    All untried actions have the same value, so that of them only this one is looked at; it is kept
    until it is tried.
    """
    if node["best_untried"] == NOT_LOOKED_UP:
        node["best_untried"] = highest_prior(untried_priors)
    return int(node["best_untried"])


@kernel
def back_up(nodes: Nodes, leaf: int, value: Real) -> None:
    """Adds one visit of `value` (view of the leaf's player) to the leaf and to every node above."""
    to_play = nodes[leaf]["to_play"]
    node = leaf
    while node != NO_PARENT:
        nodes[node]["visits"] += 1
        nodes[node]["value_sum"] += value if nodes[node]["to_play"] == to_play else -value
        node = nodes[node]["parent"]


@kernel
def copy_bytes(source: UInt8Array, target: UInt8Array) -> None:
    """Copies one state, uint8 [G]."""
    for i in range(source.size):
        target[i] = source[i]


@kernel
def set_priors(priors: FloatArray, logits: FloatArray, legal: BoolArray) -> bool:
    """Fills `priors` [A], a softmax over legal actions, NO_PRIOR for the others.

    Returns:
        Whether the logits of all legal actions were finite.
    """
    # Short loops without branches run on vectors, and what is legal no processor can predict.
    are_finite = True
    for a in range(priors.size):
        are_finite &= np.isfinite(logits[a]) | ~legal[a]
    if not are_finite:
        return False
    highest = np.float32(-np.inf)
    for a in range(priors.size):
        priors[a] = logits[a] if legal[a] else np.float32(-np.inf)
        highest = max(highest, priors[a])
    for a in range(priors.size):
        priors[a] = np.float32(exp_of_negative(priors[a] - highest))
    total = np.float32(0.0)
    for a in range(priors.size):
        total += priors[a]
    for a in range(priors.size):
        priors[a] = priors[a] / total if legal[a] else NO_PRIOR
    return True


@kernel
def mix_noise(
    trees: Tree, rows: npt.NDArray[np.int64], noise: FloatArray, weight: np.float32
) -> None:
    """Mixes noise [K, A] into the root priors of K games: (1 - weight) * prior + weight * noise.

    Nothing may have been tried there yet.
    """
    rest = np.float32(1.0) - weight
    for k in range(len(rows)):
        untried_priors = trees.untried_priors[rows[k], ROOT]
        for a in range(untried_priors.size):
            if untried_priors[a] != NO_PRIOR:
                untried_priors[a] = rest * untried_priors[a] + weight * noise[k, a]
        trees.nodes[rows[k], ROOT]["best_untried"] = NOT_LOOKED_UP


@kernel
def make_node(
    nodes: Nodes, node: int, value: Real, action: int, to_play: int, is_over: bool
) -> None:
    """Writes a new node, see NODE: not visited yet, and below none."""
    new = nodes[node]
    new["visits"] = 0
    new["value_sum"] = np.float32(0.0)
    new["raw_value"] = value
    new["tried_prior"] = np.float32(0.0)
    new["parent"] = NO_PARENT
    new["action"] = action
    new["num_children"] = 0
    new["best_untried"] = NOT_LOOKED_UP
    new["to_play"] = to_play
    new["is_over"] = is_over


@kernel
def hang_below(
    nodes: Nodes, parent: int, children: npt.NDArray[np.int32], priors: FloatArray, child: int
) -> None:
    """Makes a new node, whose action is known, a child.

    Args:
        nodes: [N], the nodes of one tree.
        parent: the node above.
        children: int32 [A], of the parent.
        priors: float32 [A], the parent's untried priors.
        child: the new node.
    """
    above = nodes[parent]
    action = nodes[child]["action"]
    nodes[child]["parent"] = parent
    nodes[child]["prior"] = priors[action]
    above["tried_prior"] += priors[action]
    priors[action] = NO_PRIOR
    children[above["num_children"]] = child
    above["num_children"] += 1
    above["best_untried"] = NOT_LOOKED_UP


@kernel
def store_leaves(trees: Tree, states: StateRows, leaves: Leaves) -> None:
    """Copies the leaves' states to the nodes they will be, in place."""
    for b in range(len(leaves.kinds)):
        if leaves.kinds[b] != LEAF_NONE:
            copy_bytes(states.leaves[b], states.nodes[b, trees.num_nodes[b]])


@kernel
def expand_and_back_up(
    trees: Tree,
    leaves: Leaves,
    facts: LeafFacts,
    prior_logits: FloatArray,
    values: FloatArray,
    remaining: npt.NDArray[np.int32],
) -> int:
    """Adds the leaf of every row to its tree and backs its value up.

    Args:
        trees: changed in place.
        leaves: what `select_leaves` found.
        facts: what the rules say of it.
        prior_logits: float32 [B, A], of the leaves.
        values: float32 [B], the evaluator's, view of the player to move at the leaf.
        remaining: int32 [B], evaluations left, the root's own included; lowered in place.

    Returns:
        The first row with logits that are not finite or a value outside [-1, 1], else NO_BAD_ROW.
    """
    for b in range(remaining.size):
        if leaves.kinds[b] == LEAF_NONE:
            continue
        is_over = facts.is_over[b]
        value = facts.exact_values[b] if is_over else values[b]
        if not (-1.0 <= value <= 1.0):
            return b
        node = trees.num_nodes[b]
        priors = trees.untried_priors[b, node]
        if not is_over and not set_priors(priors, prior_logits[b], facts.legal[b]):
            return b
        make_node(trees.nodes[b], node, value, leaves.actions[b], facts.to_play[b], is_over)
        if leaves.kinds[b] == LEAF_CHILD:
            parent = leaves.parents[b]
            above = trees.untried_priors[b, parent]
            hang_below(trees.nodes[b], parent, trees.children[b, parent], above, node)
        trees.num_nodes[b] += 1
        back_up(trees.nodes[b], node, value)
        remaining[b] -= 1
    return NO_BAD_ROW


@kernel
def fill_edges(
    trees: Tree, rows: npt.NDArray[np.int64], nodes: npt.NDArray[np.int64], edges: Edges
) -> None:
    """Gathers by action what is known of the actions of K nodes.

    Args:
        trees: the trees.
        rows: int64 [K], the game of each node.
        nodes: int64 [K], none over.
        edges: filled in place.
    """
    for k in range(len(rows)):
        b, node = rows[k], nodes[k]
        tree = trees.nodes[b]
        for a in range(edges.priors.shape[1]):
            prior = trees.untried_priors[b, node, a]
            edges.legal[k, a] = prior != NO_PRIOR
            edges.priors[k, a] = prior if prior != NO_PRIOR else np.float32(0.0)
            edges.children[k, a] = UNVISITED
            edges.visits[k, a] = 0
            edges.value_sums[k, a] = np.float32(0.0)
        for place in range(tree[node]["num_children"]):
            child = trees.children[b, node, place]
            a = tree[child]["action"]
            edges.legal[k, a] = True
            edges.priors[k, a] = tree[child]["prior"]
            edges.children[k, a] = child
            edges.visits[k, a] = tree[child]["visits"]
            edges.value_sums[k, a] = own_value_sum(tree, child, tree[node]["to_play"])


@kernel
def fill_result(
    trees: Tree, rows: npt.NDArray[np.int64], value_sums: FloatArray, result: SearchResult
) -> None:
    """Writes what searches have found at their roots.

    Args:
        trees: the trees.
        rows: int64 [K], the games.
        value_sums: float32 [K, A], as in `Edges`, of the roots.
        result: [K] rows; visit counts and priors are there, the rest is filled in place.
    """
    num_actions = value_sums.shape[1]
    for k in range(len(rows)):
        visits, priors = result.visit_counts[k], result.priors[k]
        root = trees.nodes[rows[k], ROOT]
        result.root_values[k] = root["value_sum"] / root["visits"]
        total = 0
        for a in range(num_actions):
            total += visits[a]
        for a in range(num_actions):
            result.policy_target[k, a] = visits[a] / total if total > 0 else priors[a]
            result.action_values[k, a] = value_sums[k, a] / max(visits[a], 1)


@kernel
def keep_subtree(
    trees: Tree,
    states: UInt8Array,
    b: int,
    new_root: int,
    new_index: npt.NDArray[np.int32],
) -> None:
    """Makes a node the root; it and what is below it move to the front, the rest is dropped.

    A child has a higher number than its parent, so that one pass in ascending order finds every
    node's parent already moved, and no node is overwritten before its own turn. For the same reason
    each parent gets its children back in their order.

    Args:
        trees: the trees, one of which is changed in place.
        states: uint8 [N, G], the states of its nodes, moved along in place.
        b: the tree's game.
        new_root: the node, not the root.
        new_index: int32 [N], overwritten: where each node went, UNVISITED where it was dropped.
    """
    nodes, children = trees.nodes[b], trees.children[b]
    num_kept = 0
    for node in range(trees.num_nodes[b]):
        parent = nodes[node]["parent"]
        new_index[node] = UNVISITED
        if node == new_root:
            new_parent = NO_PARENT
        elif parent == NO_PARENT or new_index[parent] == UNVISITED:
            continue
        else:
            new_parent = new_index[parent]
        new_index[node] = num_kept
        nodes[num_kept] = nodes[node]
        nodes[num_kept]["parent"] = new_parent
        nodes[num_kept]["num_children"] = 0
        for a in range(trees.untried_priors.shape[2]):
            trees.untried_priors[b, num_kept, a] = trees.untried_priors[b, node, a]
        copy_bytes(states[node], states[num_kept])
        if new_parent != NO_PARENT:
            children[new_parent, nodes[new_parent]["num_children"]] = num_kept
            nodes[new_parent]["num_children"] += 1
        num_kept += 1
    trees.num_nodes[b] = num_kept
