"""The search trees of a batch of games, as one flat struct of arrays."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.games.game import GameSpec
from alphago.types import States

ROOT = 0  # index of the root node in every tree
NO_PARENT = -1  # parent of the root
UNVISITED = -1  # index of a child that no simulation has reached

# What `select_leaves` found for a row.
LEAF_NONE = 0  # the row has spent its budget (or was never started)
LEAF_ROOT = 1  # the root itself has not been evaluated yet
LEAF_CHILD = 2  # a new child: an action that was never tried at its parent


class Tree(NamedTuple):
    """One tree per game: B games, N nodes per tree, A actions.

    Nodes are numbered in the order of their creation. `node_value_sums` and `raw_values` are in the
    view of the player to move at that node; `children_value_sums` in the view of the player to move
    at the *parent*, so that choosing an action never needs a sign. Sums are kept instead of means:
    a sum of results (1, 0, -1) is exact in any order, so that actions with equal results stay
    exactly equal, where a running mean is rounded at each step. A node that is over has a value but
    no children: its `children_*` and `legal_actions` rows are never written nor read.

    Attributes:
        num_nodes: nodes in use; 0 before the root is evaluated.
        node_visits: 1 (the node's own evaluation) plus the visits of its children; for a finished
            node its visits.
        node_value_sums: sum of all values backed up through the node, its own evaluation included.
        raw_values: the evaluator's value, or the exact result of a finished game.
        to_play: player to move.
        is_over: whether the game has ended there.
        parents: index of the parent, or NO_PARENT.
        action_from_parent: the action that led here.
        children_index: node index of each child, or UNVISITED.
        children_priors: prior of each action, 0 where illegal.
        children_visits: simulations that took each action.
        children_value_sums: sum of the values of these simulations.
        legal_actions: which actions are legal.
    """

    num_nodes: npt.NDArray[np.int32]  # [B]
    node_visits: npt.NDArray[np.int32]  # [B, N]
    node_value_sums: npt.NDArray[np.float32]  # [B, N]
    raw_values: npt.NDArray[np.float32]  # [B, N]
    to_play: npt.NDArray[np.int8]  # [B, N]
    is_over: npt.NDArray[np.bool_]  # [B, N]
    parents: npt.NDArray[np.int32]  # [B, N]
    action_from_parent: npt.NDArray[np.int32]  # [B, N]
    children_index: npt.NDArray[np.int32]  # [B, N, A]
    children_priors: npt.NDArray[np.float32]  # [B, N, A]
    children_visits: npt.NDArray[np.int32]  # [B, N, A]
    children_value_sums: npt.NDArray[np.float32]  # [B, N, A]
    legal_actions: npt.NDArray[np.bool_]  # [B, N, A]


class Leaves(NamedTuple):
    """Where the current simulation of each row ends."""

    kinds: npt.NDArray[np.int8]  # [B], LEAF_NONE, LEAF_ROOT or LEAF_CHILD
    parents: npt.NDArray[np.int32]  # [B], node under which a LEAF_CHILD hangs
    actions: npt.NDArray[np.int64]  # [B], action from that node to the leaf


class StateRows(NamedTuple):
    """Game states as rows of G bytes, so that kernels can move them without knowing the game."""

    nodes: npt.NDArray[np.uint8]  # [B, N, G], the state of every node
    leaves: npt.NDArray[np.uint8]  # [B, G], of each row's leaf; before the game's step its parent's


def allocate_trees(num_games: int, num_nodes: int, num_actions: int) -> Tree:
    """Allocates trees, which searches reuse: a node's row is written when the node is created."""
    nodes = (num_games, num_nodes)
    children = (num_games, num_nodes, num_actions)
    return Tree(
        num_nodes=np.zeros(num_games, np.int32),
        node_visits=np.zeros(nodes, np.int32),
        node_value_sums=np.zeros(nodes, np.float32),
        raw_values=np.zeros(nodes, np.float32),
        to_play=np.zeros(nodes, np.int8),
        is_over=np.zeros(nodes, np.bool_),
        parents=np.full(nodes, NO_PARENT, np.int32),
        action_from_parent=np.zeros(nodes, np.int32),
        children_index=np.full(children, UNVISITED, np.int32),
        children_priors=np.zeros(children, np.float32),
        children_visits=np.zeros(children, np.int32),
        children_value_sums=np.zeros(children, np.float32),
        legal_actions=np.zeros(children, np.bool_),
    )


def node_bytes(spec: GameSpec) -> int:
    """Returns the memory that one node takes, its state included."""
    tree = allocate_trees(1, 1, spec.num_actions)
    return spec.state_dtype.itemsize + sum(array.nbytes for array in tree)


def allocate_leaves(num_games: int) -> Leaves:
    """Allocates the leaves of a batch, all LEAF_NONE."""
    return Leaves(
        kinds=np.full(num_games, LEAF_NONE, np.int8),
        parents=np.zeros(num_games, np.int32),
        actions=np.zeros(num_games, np.int64),
    )


def state_rows(node_states: States, leaf_states: States) -> StateRows:
    """Returns views of structured states [B, N] and [B] as bytes."""
    num_bytes = node_states.dtype.itemsize
    return StateRows(
        nodes=node_states.view(np.uint8).reshape(*node_states.shape, num_bytes),
        leaves=leaf_states.view(np.uint8).reshape(*leaf_states.shape, num_bytes),
    )
