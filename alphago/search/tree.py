"""The search trees of a batch of games, as one flat struct of arrays."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.games.game import GameSpec
from alphago.types import States, UInt8Array

ROOT = 0  # index of the root node in every tree
NO_PARENT = -1  # parent of the root
UNVISITED = -1  # index of a child that no simulation has reached
NO_PRIOR = np.float32(-1.0)  # in `untried_priors`, of an action that is illegal or was tried

# Beside actions, in the field `best_untried` of a node.
NONE_UNTRIED = -1
NOT_LOOKED_UP = -2

# What `select_leaves` found for a row.
LEAF_NONE = 0  # the row has spent its budget (or was never started)
LEAF_ROOT = 1  # the root itself has not been evaluated yet
LEAF_CHILD = 2  # a new child: an action that was never tried at its parent

# What the tree keeps of a node, 32 bytes: two to a line of the processor's cache, since a descent
# looks at every tried action of every node on its way. Values are in the view of the player to
# move. Sums are kept instead of means: a sum of results (1, 0, -1) is exact in any order, so that
# actions with equal results stay exactly equal, where a running mean is rounded at each step.
NODE = np.dtype(
    [
        ("visits", np.int32),  # 1, its own evaluation, plus those of its children; if over: all
        ("value_sum", np.float32),  # of all values backed up through it, its own included
        ("raw_value", np.float32),  # the evaluator's value, or the exact result
        ("prior", np.float32),  # of the action that led here
        ("tried_prior", np.float32),  # sum of the priors of its children
        ("parent", np.int32),  # index of the node above, or NO_PARENT
        ("action", np.int16),  # that led here from the parent; of the root not read
        ("num_children", np.int16),  # actions that were tried
        ("best_untried", np.int16),  # action of the highest untried prior; the lowest of equals
        ("to_play", np.int8),
        ("is_over", np.bool_),  # whether the game has ended there; it then has no children
    ],
    align=True,
)

Nodes = npt.NDArray[np.void]  # rows of NODE


class Tree(NamedTuple):
    """One tree per game: B games, N nodes per tree, A actions.

    Nodes are numbered in the order of their creation. What is known of an action that was tried
    stands at the child it led to, and nowhere else: few of a node's actions are ever tried, and
    what is not written needs no memory traffic. `Edges` gives the usual form, by action.

    Attributes:
        num_nodes: nodes in use; 0 before the root is evaluated.
        nodes: see NODE.
        children: indices of the children, in the order in which their actions were tried; only the
            first `num_children` count.
        untried_priors: prior of each action that was not tried; NO_PRIOR for all others. Not
            written where the game is over.
    """

    num_nodes: npt.NDArray[np.int32]  # [B]
    nodes: Nodes  # [B, N]
    children: npt.NDArray[np.int32]  # [B, N, A]
    untried_priors: npt.NDArray[np.float32]  # [B, N, A]


class Edges(NamedTuple):
    """The actions of some nodes, K nodes with A actions each; see `BatchSearch.edges`.

    Values are in the view of the player to move at the node.
    """

    children: npt.NDArray[np.int32]  # [K, A], index of the child, or UNVISITED
    visits: npt.NDArray[np.int32]  # [K, A], simulations that took the action
    value_sums: npt.NDArray[np.float32]  # [K, A], sum of the values of these simulations
    priors: npt.NDArray[np.float32]  # [K, A], 0 where illegal
    legal: npt.NDArray[np.bool_]  # [K, A]


class Leaves(NamedTuple):
    """Where the current simulation of each row ends."""

    kinds: npt.NDArray[np.int8]  # [B], LEAF_NONE, LEAF_ROOT or LEAF_CHILD
    parents: npt.NDArray[np.int32]  # [B], node under which a LEAF_CHILD hangs
    actions: npt.NDArray[np.int64]  # [B], action from that node to the leaf


class LeafFacts(NamedTuple):
    """What the rules say of the leaves."""

    legal: npt.NDArray[np.bool_]  # [B, A]
    to_play: npt.NDArray[np.int8]  # [B]
    is_over: npt.NDArray[np.bool_]  # [B], whether the leaf is a finished game
    exact_values: npt.NDArray[np.float32]  # [B], result of finished leaves, view of `to_play`


class StateRows(NamedTuple):
    """Game states as rows of G bytes, so that kernels can move them without knowing the game."""

    nodes: npt.NDArray[np.uint8]  # [B, N, G], the state of every node
    leaves: npt.NDArray[np.uint8]  # [B, G], of each row's leaf; before the action its parent's


def allocate_trees(num_games: int, num_nodes: int, num_actions: int) -> Tree:
    """Allocates trees, which searches reuse: a node's row is written when the node is created."""
    children = (num_games, num_nodes, num_actions)
    return Tree(
        num_nodes=np.zeros(num_games, np.int32),
        nodes=np.zeros((num_games, num_nodes), NODE),
        children=np.zeros(children, np.int32),
        untried_priors=np.zeros(children, np.float32),
    )


def allocate_edges(num_nodes: int, num_actions: int) -> Edges:
    """Allocates the edges of so many nodes, for a kernel to fill."""
    shape = (num_nodes, num_actions)
    return Edges(
        children=np.empty(shape, np.int32),
        visits=np.empty(shape, np.int32),
        value_sums=np.empty(shape, np.float32),
        priors=np.empty(shape, np.float32),
        legal=np.empty(shape, np.bool_),
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


def state_bytes(states: States) -> UInt8Array:
    """Returns a view of contiguous structured states [...] as bytes, uint8 [..., G]."""
    return states.view(np.uint8).reshape(*states.shape, states.dtype.itemsize)
