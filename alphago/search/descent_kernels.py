"""The compiled descent: select actions from the root down to a leaf, by PUCT or by Gumbel's rule.

Helpers speak of one tree or node, only the outermost kernel of a batch. All is changed in place.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.kernels import kernel
from alphago.search.formulas import first_play_value, puct_score
from alphago.search.gumbel_kernels import GumbelRows, select_by_gumbel
from alphago.search.tree import (
    LEAF_CHILD,
    LEAF_NONE,
    LEAF_ROOT,
    NONE_UNTRIED,
    ROOT,
    UNVISITED,
    Leaves,
    Nodes,
    StateRows,
    Tree,
)
from alphago.search.tree_kernels import back_up, copy_bytes, find_best_untried, own_value_sum
from alphago.types import FloatArray, Real


class PuctConstants(NamedTuple):
    """The constants of PUCT, see `SearchConfig`."""

    exploration: FloatArray  # [N + 1], see `exploration_table`
    fpu_reduction: np.float32
    root_fpu_reduction: np.float32


@kernel
def select_by_puct(
    nodes: Nodes,
    node: int,
    children: npt.NDArray[np.int32],
    untried_priors: FloatArray,
    exploration: Real,
    fpu_reduction: Real,
) -> tuple[int, int]:
    """Returns the action with the highest PUCT score, and its child or UNVISITED.

    The lowest action wins ties.

    Args:
        nodes: [N], the nodes of one tree.
        node: one of them, not over.
        children: int32 [A], its children.
        untried_priors: float32 [A].
        exploration: entry of the exploration table for the node's visits.
        fpu_reduction: how far below the node's value an untried action is assumed to be.
    """
    here = nodes[node]
    best_action = find_best_untried(here, untried_priors)
    best_child = UNVISITED
    best_score = np.float32(-np.inf)
    if best_action != NONE_UNTRIED:
        node_value = here["value_sum"] / np.float32(here["visits"])
        value = first_play_value(node_value, here["tried_prior"], fpu_reduction)
        best_score = puct_score(value, untried_priors[best_action], 0, exploration)
    for place in range(here["num_children"]):
        child = children[place]
        visits = nodes[child]["visits"]
        value = own_value_sum(nodes, child, here["to_play"]) / np.float32(visits)
        score = puct_score(value, nodes[child]["prior"], visits, exploration)
        is_first_of_equals = score == best_score and nodes[child]["action"] < best_action
        if score > best_score or is_first_of_equals:
            best_score = score
            best_action = nodes[child]["action"]
            best_child = child
    return best_action, best_child


@kernel
def select_action(
    trees: Tree, b: int, node: int, puct: PuctConstants, gumbel: GumbelRows
) -> tuple[int, int]:
    """Returns the action to take at a node of game b by its rule, and its child or UNVISITED."""
    if gumbel.is_on[b]:
        return select_by_gumbel(trees, b, node, gumbel)
    return select_by_puct(
        trees.nodes[b],
        node,
        trees.children[b, node],
        trees.untried_priors[b, node],
        puct.exploration[trees.nodes[b, node]["visits"]],
        puct.root_fpu_reduction if node == ROOT else puct.fpu_reduction,
    )


@kernel
def select_leaves(
    trees: Tree,
    states: StateRows,
    puct: PuctConstants,
    gumbel: GumbelRows,
    remaining: npt.NDArray[np.int32],
    leaves: Leaves,
) -> None:
    """Finds the leaf of each row's next simulation; fills `leaves` and `states.leaves` in place.

    A simulation that ends in a node already known to be finished needs no evaluation: its exact
    value is backed up here and the row goes on to its next simulation, so that a row wastes its
    slot of the batch only when its budget is spent. Where no child is to be made, the leaf state is
    that of the root.
    """
    for b in range(remaining.size):
        nodes = trees.nodes[b]
        leaves.kinds[b] = LEAF_NONE
        node = ROOT
        if remaining[b] > 0 and trees.num_nodes[b] == 0:
            leaves.kinds[b] = LEAF_ROOT
        while remaining[b] > 0 and leaves.kinds[b] == LEAF_NONE:
            action, child = select_action(trees, b, node, puct, gumbel)
            if child == UNVISITED:
                leaves.kinds[b] = LEAF_CHILD
                leaves.actions[b] = action
            elif nodes[child]["is_over"]:
                back_up(nodes, child, nodes[child]["raw_value"])
                remaining[b] -= 1
                node = ROOT
            else:
                node = child
        leaves.parents[b] = node
        copy_bytes(states.nodes[b, node], states.leaves[b])
