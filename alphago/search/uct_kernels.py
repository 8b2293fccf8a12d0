"""The compiled half of UCT: descend to a leaf, add it, back its result up. Knows no game.

Helpers speak of one tree; the outermost kernels loop over the batch. All is changed in place.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.games.random_bits import Streams, draw_below
from alphago.kernels import kernel
from alphago.search.tree import ROOT
from alphago.search.tree_kernels import copy_bytes
from alphago.types import BoolArray, FloatArray, Int8Array, Real, UInt8Array

NODE = np.dtype(
    [
        ("parent", np.int32),  # index of the node above; the root's is not read
        ("visits", np.int32),  # playouts that went through the node
        ("value_sum", np.float32),  # of their results, the view of the player to move at the parent
        ("num_candidates", np.int32),  # actions worth trying; 0 only where the game is over
        ("num_children", np.int32),  # candidates that were tried
        ("to_play", np.int8),
    ],
    align=True,
)

Nodes = npt.NDArray[np.void]  # [N] rows of NODE


class UctTrees(NamedTuple):
    """One tree per game: B games, N nodes per tree, A actions, states of G bytes.

    A node's actions are its candidates: first those that were tried, in the order in which they
    were, then the others. `children` belongs to them place by place.
    """

    num_nodes: npt.NDArray[np.int32]  # [B], nodes in use
    nodes: npt.NDArray[np.void]  # [B, N]
    actions: npt.NDArray[np.int16]  # [B, N, A], the first `num_candidates` count
    children: npt.NDArray[np.int32]  # [B, N, A], the first `num_children` count
    states: npt.NDArray[np.uint8]  # [B, N, G]


@kernel
def ucb1_score(
    mean_value: Real, visits: int, log_parent_visits: float, exploration: float
) -> float:
    """UCB1: share of wins + exploration * sqrt(ln N(s) / N(s, a)).

    Sources: Auer, Cesa-Bianchi and Fischer 2002, "Finite-time Analysis of the Multiarmed Bandit
    Problem", where the exploration is sqrt(2); Kocsis and Szepesvari 2006, "Bandit based
    Monte-Carlo Planning". Rewards are from 0 to 1 there: a value from -1 to 1 becomes a share.
    """
    return float((1.0 + mean_value) / 2.0 + exploration * np.sqrt(log_parent_visits / visits))


@kernel
def best_child(
    nodes: Nodes,
    children: npt.NDArray[np.int32],
    node: int,
    log_visits: npt.NDArray[np.float64],
    exploration: float,
) -> int:
    """Returns the child [of the first `num_children` in children, int32 [A]] of highest UCB1.

    The one tried first wins ties: candidates are tried in random order.
    """
    log_parent_visits = log_visits[nodes[node]["visits"]]
    best = ROOT
    best_score = -np.inf
    for place in range(nodes[node]["num_children"]):
        child = children[place]
        visits = nodes[child]["visits"]
        mean_value = nodes[child]["value_sum"] / np.float64(visits)
        score = ucb1_score(mean_value, visits, log_parent_visits, exploration)
        if score > best_score:
            best_score = score
            best = child
    return best


@kernel
def descend(
    nodes: Nodes,
    actions: npt.NDArray[np.int16],
    children: npt.NDArray[np.int32],
    log_visits: npt.NDArray[np.float64],
    exploration: float,
    stream: Streams,
) -> int:
    """Follows the best children from the root to a node that is finished or has untried actions.

    Of the untried ones, all equally likely, one is drawn and put in the next place to try.
    """
    node = ROOT
    while nodes[node]["num_candidates"] > 0:
        num_children = nodes[node]["num_children"]
        num_untried = nodes[node]["num_candidates"] - num_children
        if num_untried > 0:
            place = num_children + draw_below(stream, num_untried)
            action = actions[node, place]
            actions[node, place] = actions[node, num_children]
            actions[node, num_children] = action
            break
        node = best_child(nodes, children[node], node, log_visits, exploration)
    return node


@kernel
def select_leaves(
    trees: UctTrees,
    log_visits: npt.NDArray[np.float64],
    exploration: float,
    streams: Streams,
    leaf_parents: npt.NDArray[np.int32],
    leaf_actions: npt.NDArray[np.int64],
    leaf_states: UInt8Array,
) -> int:
    """Finds where each tree's next playout starts.

    Args:
        trees: the trees.
        log_visits: float64 [N], natural logarithms; entry 0 is not read.
        exploration: the constant of UCB1.
        streams: uint64 [B], one per tree.
        leaf_parents: int32 [B], filled with the node to play from; it may be finished.
        leaf_actions: int64 [B], filled with the action to play there, undefined if finished.
        leaf_states: uint8 [B, G], filled with the node's state.

    Returns:
        How many of the nodes are finished.
    """
    num_finished = 0
    for b in range(len(streams)):
        node = descend(
            trees.nodes[b],
            trees.actions[b],
            trees.children[b],
            log_visits,
            exploration,
            streams[b : b + 1],
        )
        leaf_parents[b] = node
        if trees.nodes[b, node]["num_candidates"] == 0:
            num_finished += 1
        else:
            leaf_actions[b] = trees.actions[b, node, trees.nodes[b, node]["num_children"]]
        copy_bytes(trees.states[b, node], leaf_states[b])
    return num_finished


@kernel
def back_up(nodes: Nodes, node: int, returns: FloatArray) -> None:
    """Adds one playout with these returns, float32 [P], to a node and to every node above it."""
    while node != ROOT:
        parent = nodes[node]["parent"]
        nodes[node]["visits"] += 1
        nodes[node]["value_sum"] += returns[nodes[parent]["to_play"]]
        node = parent
    nodes[ROOT]["visits"] += 1


@kernel
def open_node(
    node: np.void, actions: npt.NDArray[np.int16], to_play: int, legal: BoolArray
) -> None:
    """Resets a node that was never visited; its candidates, bool [A], go to `actions` [A]."""
    node["visits"] = 0
    node["value_sum"] = 0.0
    node["num_children"] = 0
    node["to_play"] = to_play
    num_candidates = 0
    for action in range(legal.size):
        if legal[action]:
            actions[num_candidates] = action
            num_candidates += 1
    node["num_candidates"] = num_candidates


@kernel
def open_roots(
    trees: UctTrees, to_play: Int8Array, candidates: BoolArray, states: UInt8Array
) -> None:
    """Begins new trees at positions [B]."""
    for b in range(len(to_play)):
        trees.num_nodes[b] = 1
        open_node(trees.nodes[b, ROOT], trees.actions[b, ROOT], to_play[b], candidates[b])
        copy_bytes(states[b], trees.states[b, ROOT])


@kernel
def expand_and_back_up(
    trees: UctTrees,
    leaf_parents: npt.NDArray[np.int32],
    leaf_states: UInt8Array,
    to_play: Int8Array,
    candidates: BoolArray,
    returns: FloatArray,
) -> None:
    """Adds a child where `select_leaves` found an untried action, and backs the playouts up.

    Args:
        trees: the trees.
        leaf_parents: int32 [B], as found.
        leaf_states: uint8 [B, G], after the action; a finished node's own state.
        to_play: int8 [B], of these states.
        candidates: bool [B, A], of these states.
        returns: float32 [B, P], of the playouts from there.
    """
    for b in range(len(leaf_parents)):
        node = leaf_parents[b]
        if trees.nodes[b, node]["num_candidates"] > 0:
            child = trees.num_nodes[b]
            trees.num_nodes[b] += 1
            trees.children[b, node, trees.nodes[b, node]["num_children"]] = child
            trees.nodes[b, node]["num_children"] += 1
            trees.nodes[b, child]["parent"] = node
            open_node(trees.nodes[b, child], trees.actions[b, child], to_play[b], candidates[b])
            copy_bytes(leaf_states[b], trees.states[b, child])
            node = child
        back_up(trees.nodes[b], node, returns[b])
