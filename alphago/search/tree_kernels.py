"""The compiled half of the search: descend to a leaf, expand it, back its value up. Knows no game.

Helpers are written for one tree; `game_tree` gives the views of one game, and only the outermost
kernels loop over the batch. Everything is changed in place.
"""

import math

import numpy as np
import numpy.typing as npt

from alphago.kernels import kernel
from alphago.search.formulas import first_play_value, puct_score
from alphago.search.tree import (
    LEAF_CHILD,
    LEAF_NONE,
    LEAF_ROOT,
    NO_PARENT,
    ROOT,
    UNVISITED,
    Leaves,
    StateRows,
    Tree,
)
from alphago.types import BoolArray, FloatArray, Int8Array, Real, UInt8Array

NO_BAD_ROW = -1  # returned by `expand_and_back_up` when every evaluation was usable


@kernel
def game_tree(trees: Tree, b: int) -> Tree:
    """Returns the tree of game `b` as views: every field loses its batch axis."""
    return Tree(
        trees.num_nodes[b : b + 1],
        trees.node_visits[b],
        trees.node_value_sums[b],
        trees.raw_values[b],
        trees.to_play[b],
        trees.is_over[b],
        trees.parents[b],
        trees.action_from_parent[b],
        trees.children_index[b],
        trees.children_priors[b],
        trees.children_visits[b],
        trees.children_value_sums[b],
        trees.legal_actions[b],
    )


@kernel
def select_action(
    visits: npt.NDArray[np.int32],
    value_sums: FloatArray,
    priors: FloatArray,
    legal: BoolArray,
    node_value: Real,
    exploration: Real,
    fpu_reduction: Real,
) -> int:
    """Returns the legal action with the highest PUCT score; the lowest number wins ties.

    Args:
        visits: int32 [A], simulations that took each action of the node.
        value_sums: float32 [A], sum of their values.
        priors: float32 [A].
        legal: bool [A].
        node_value: mean value of the node, view of its player to move.
        exploration: entry of the exploration table for the node's visits.
        fpu_reduction: how far below the node's value an untried action is assumed to be.
    """
    visited_prior = np.float32(0.0)
    for a in range(visits.size):
        if visits[a] > 0:
            visited_prior += priors[a]
    unvisited_value = first_play_value(node_value, visited_prior, fpu_reduction)
    best_action = -1
    best_score = np.float32(-np.inf)
    for a in range(visits.size):
        if legal[a]:
            value = unvisited_value
            if visits[a] > 0:
                value = value_sums[a] / np.float32(visits[a])
            score = puct_score(value, priors[a], visits[a], exploration)
            if score > best_score:
                best_score = score
                best_action = a
    return best_action


@kernel
def back_up(tree: Tree, leaf: int, value: Real) -> None:
    """Adds one visit of `value` (view of the leaf's player) to the leaf and to every node above it.

    The sign flips where the player changes, not per ply: a player may move twice in a row.
    """
    node = leaf
    tree.node_visits[node] += 1
    tree.node_value_sums[node] += value
    while tree.parents[node] != NO_PARENT:
        parent = tree.parents[node]
        action = tree.action_from_parent[node]
        if tree.to_play[parent] != tree.to_play[node]:
            value = -value
        tree.children_visits[parent, action] += 1
        tree.children_value_sums[parent, action] += value
        tree.node_visits[parent] += 1
        tree.node_value_sums[parent] += value
        node = parent


@kernel
def descend(
    tree: Tree, exploration: FloatArray, fpu_reduction: Real, root_fpu_reduction: Real
) -> tuple[int, int]:
    """Follows the best actions from the root; returns the last node on the way and its action.

    The child behind that action is either not in the tree yet or finished.
    """
    node = ROOT
    reduction = root_fpu_reduction
    while True:
        visits = tree.node_visits[node]
        action = select_action(
            tree.children_visits[node],
            tree.children_value_sums[node],
            tree.children_priors[node],
            tree.legal_actions[node],
            tree.node_value_sums[node] / np.float32(visits),
            exploration[visits],
            reduction,
        )
        child = tree.children_index[node, action]
        if child == UNVISITED or tree.is_over[child]:
            return node, action
        node = child
        reduction = fpu_reduction


@kernel
def copy_bytes(source: UInt8Array, target: UInt8Array) -> None:
    """Copies one state, uint8 [G]."""
    for i in range(source.size):
        target[i] = source[i]


@kernel
def select_leaves(
    trees: Tree,
    states: StateRows,
    exploration: FloatArray,
    fpu_reduction: Real,
    root_fpu_reduction: Real,
    remaining: npt.NDArray[np.int32],
    leaves: Leaves,
) -> int:
    """Finds the leaf of each row's next simulation; fills `leaves` and `states.leaves` in place.

    A simulation that ends in a node already known to be finished needs no evaluation: its exact
    value is backed up here and the row goes on to its next simulation, so that a row wastes its
    slot of the batch only when its budget is spent. Where no child is to be made, the leaf state is
    that of the root.

    Returns:
        How many rows are LEAF_CHILD.
    """
    num_children = 0
    for b in range(remaining.size):
        tree = game_tree(trees, b)
        leaves.parents[b] = ROOT
        leaves.kinds[b] = LEAF_NONE
        if remaining[b] > 0 and tree.num_nodes[0] == 0:
            leaves.kinds[b] = LEAF_ROOT
        while remaining[b] > 0 and leaves.kinds[b] == LEAF_NONE:
            node, action = descend(tree, exploration, fpu_reduction, root_fpu_reduction)
            child = tree.children_index[node, action]
            if child == UNVISITED:
                leaves.kinds[b] = LEAF_CHILD
                leaves.parents[b] = node
                leaves.actions[b] = action
                num_children += 1
            else:
                back_up(tree, child, tree.raw_values[child])
                remaining[b] -= 1
        copy_bytes(states.nodes[b, leaves.parents[b]], states.leaves[b])
    return num_children


@kernel
def set_priors(priors: FloatArray, logits: FloatArray, legal: BoolArray) -> bool:
    """Fills `priors` [A], a softmax over legal actions; tells whether the logits were finite."""
    highest = np.float32(-np.inf)
    for a in range(priors.size):
        if legal[a]:
            if not np.isfinite(logits[a]):
                return False
            highest = max(highest, logits[a])
    total = np.float32(0.0)
    for a in range(priors.size):
        priors[a] = np.float32(0.0)
        if legal[a]:
            # A double's exp: the last bit of numpy's float32 exp differs with the compiler off.
            priors[a] = np.float32(math.exp(logits[a] - highest))
            total += priors[a]
    for a in range(priors.size):
        priors[a] /= total
    return True


@kernel
def mix_noise(priors: FloatArray, noise: FloatArray, weight: float) -> None:
    """Mixes noise [A] into the priors in place: (1 - weight) * prior + weight * noise."""
    for a in range(priors.size):
        priors[a] = (np.float32(1.0) - weight) * priors[a] + weight * noise[a]


@kernel
def open_children(
    index: npt.NDArray[np.int32],
    visits: npt.NDArray[np.int32],
    value_sums: FloatArray,
    legal: BoolArray,
    legal_at_leaf: BoolArray,
) -> None:
    """Resets what a new node keeps of its actions, [A] each: none was tried yet."""
    # One loop per array: a loop over all of them is twice as slow.
    for a in range(index.size):
        index[a] = UNVISITED
    for a in range(visits.size):
        visits[a] = 0
    for a in range(value_sums.size):
        value_sums[a] = np.float32(0.0)
    for a in range(legal.size):
        legal[a] = legal_at_leaf[a]


@kernel
def expand_and_back_up(
    trees: Tree,
    states: StateRows,
    leaves: Leaves,
    prior_logits: FloatArray,
    values: FloatArray,
    legal: BoolArray,
    to_play: Int8Array,
    is_over: BoolArray,
    exact_values: FloatArray,
    noise: FloatArray,
    noise_weights: FloatArray,
    remaining: npt.NDArray[np.int32],
) -> int:
    """Adds the leaf of every row to its tree and backs its value up.

    Args:
        trees: the trees, changed in place.
        states: the leaves' states are copied to their nodes, in place.
        leaves: what `select_leaves` found.
        prior_logits: float32 [B, A], of the leaf states.
        values: float32 [B], the evaluator's, view of the player to move at the leaf.
        legal: bool [B, A], at the leaf.
        to_play: int8 [B], at the leaf.
        is_over: bool [B], whether the leaf is a finished game.
        exact_values: float32 [B], result of finished leaves, view of the player to move there.
        noise: float32 [B, A], mixed into the priors of a root.
        noise_weights: float32 [B], 0 for no noise.
        remaining: int32 [B], evaluations left, the root's own included; lowered in place.

    Returns:
        The first row whose evaluation cannot be used (not finite, or a value outside [-1, 1]),
        else NO_BAD_ROW.
    """
    for b in range(remaining.size):
        if leaves.kinds[b] == LEAF_NONE:
            continue
        value = exact_values[b] if is_over[b] else values[b]
        if not (-1.0 <= value <= 1.0):
            return b
        # Written out: a helper would get the 13 arrays by value, which costs more than all this.
        node = trees.num_nodes[b]
        trees.num_nodes[b] += 1
        trees.node_visits[b, node] = 0
        trees.node_value_sums[b, node] = np.float32(0.0)
        trees.raw_values[b, node] = value
        trees.to_play[b, node] = to_play[b]
        trees.is_over[b, node] = is_over[b]
        trees.parents[b, node] = NO_PARENT
        if leaves.kinds[b] == LEAF_CHILD:
            trees.parents[b, node] = leaves.parents[b]
            trees.action_from_parent[b, node] = leaves.actions[b]
            trees.children_index[b, leaves.parents[b], leaves.actions[b]] = node
        if not is_over[b]:
            open_children(
                trees.children_index[b, node],
                trees.children_visits[b, node],
                trees.children_value_sums[b, node],
                trees.legal_actions[b, node],
                legal[b],
            )
            if not set_priors(trees.children_priors[b, node], prior_logits[b], legal[b]):
                return b
        if leaves.kinds[b] == LEAF_ROOT:
            mix_noise(trees.children_priors[b, node], noise[b], noise_weights[b])
        copy_bytes(states.leaves[b], states.nodes[b, node])
        back_up(game_tree(trees, b), node, value)
        remaining[b] -= 1
    return NO_BAD_ROW


@kernel
def keep_subtree(
    tree: Tree,
    states: UInt8Array,
    new_root: int,
    new_index: npt.NDArray[np.int32],
) -> None:
    """Makes a node the root; it and what is below it move to the front, the rest is dropped.

    A child has a higher number than its parent, so that one pass in ascending order finds every
    node's parent already moved, and no node is overwritten before its own turn.

    Args:
        tree: the tree of one game, changed in place.
        states: uint8 [N, G], the states of its nodes, moved along in place.
        new_root: the node, not the root.
        new_index: int32 [N], overwritten: where each node went, UNVISITED where it was dropped.
    """
    num_kept = 0
    for node in range(tree.num_nodes[0]):
        parent = tree.parents[node]
        new_index[node] = UNVISITED
        if node == new_root:
            new_parent = NO_PARENT
        elif parent == NO_PARENT or new_index[parent] == UNVISITED:
            continue
        else:
            new_parent = new_index[parent]
        new_index[node] = num_kept
        move_node(tree, node, num_kept)
        copy_bytes(states[node], states[num_kept])
        tree.parents[num_kept] = new_parent
        if new_parent != NO_PARENT:
            tree.children_index[new_parent, tree.action_from_parent[num_kept]] = num_kept
        num_kept += 1
    tree.num_nodes[0] = num_kept


@kernel
def move_node(tree: Tree, source: int, target: int) -> None:
    """Copies all that a tree keeps of one node to the place of another, in place."""
    tree.node_visits[target] = tree.node_visits[source]
    tree.node_value_sums[target] = tree.node_value_sums[source]
    tree.raw_values[target] = tree.raw_values[source]
    tree.to_play[target] = tree.to_play[source]
    tree.is_over[target] = tree.is_over[source]
    tree.action_from_parent[target] = tree.action_from_parent[source]
    tree.children_index[target] = tree.children_index[source]
    tree.children_priors[target] = tree.children_priors[source]
    tree.children_visits[target] = tree.children_visits[source]
    tree.children_value_sums[target] = tree.children_value_sums[source]
    tree.legal_actions[target] = tree.legal_actions[source]
