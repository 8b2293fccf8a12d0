"""UCT: Monte-Carlo tree search with UCB1 and random playouts, without a network.

Sources: Kocsis and Szepesvari 2006, "Bandit based Monte-Carlo Planning"; Browne et al. 2012, "A
Survey of Monte Carlo Tree Search Methods", algorithm 2. Each playout descends from the root by
UCB1, adds the first untried action as a new node, plays at random from there and adds the result to
every node on the way. What may be tried and how a playout goes is the game's own if it has an
opinion (`playouts_of`). The result of a finished node is exact.
"""

from collections.abc import Callable

import numpy as np

from alphago.errors import FinishedGameError, check_count
from alphago.games.game import Game, check_states
from alphago.games.random_bits import new_streams
from alphago.games.random_play import playouts_of
from alphago.search.tree import ROOT, state_bytes
from alphago.search.uct_kernels import (
    NODE,
    UctTrees,
    expand_and_back_up,
    open_roots,
    select_leaves,
)
from alphago.types import SearchResult, States


def run_uct(
    game: Game,
    states: States,
    *,
    num_playouts: int,
    exploration: float,
    rng: np.random.Generator,
    should_stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """Searches one position per row.

    Args:
        game: the rules.
        states: [B] positions, none over.
        num_playouts: playouts per row, at least 1.
        exploration: the constant of UCB1, at least 0, for results from 0 (lost) to 1 (won).
        rng: draws the order of untried actions and the playouts.
        should_stop: asked after each playout; True ends the search early. None for never.

    Returns:
        The result of each row. The policy target is the share of visits; the priors are uniform
        over the actions worth trying.

    Raises:
        ConfigError: if `num_playouts` is below 1.
        StateError: if the states are not those of the game.
        FinishedGameError: if a position is over.
    """
    check_count("num_playouts", num_playouts, at_least=1)
    check_states(game, states)
    if game.is_over(states).any():
        raise FinishedGameError("uct: the game is over, there is no move to look for")
    playouts = playouts_of(game)
    trees = allocate_uct_trees(game, num_rows=len(states), num_nodes=num_playouts + 1)
    candidates = playouts.root_actions(states)
    open_roots(trees, game.to_play(states), candidates, state_bytes(states))
    search = _Search(game, trees, exploration=exploration, rng=rng)
    for _ in range(num_playouts):
        search.run_playout()
        if should_stop is not None and should_stop():
            break
    return _result(trees, candidates)


def uct_node_bytes(game: Game) -> int:
    """Returns the memory that one node takes, its state included."""
    trees = allocate_uct_trees(game, num_rows=1, num_nodes=1)
    return sum(array.nbytes for array in trees)


def allocate_uct_trees(game: Game, *, num_rows: int, num_nodes: int) -> UctTrees:
    """Allocates trees; a node's row is written when the node is created."""
    children = (num_rows, num_nodes, game.spec.num_actions)
    return UctTrees(
        num_nodes=np.zeros(num_rows, np.int32),
        nodes=np.zeros((num_rows, num_nodes), NODE),
        actions=np.empty(children, np.int16),
        children=np.empty(children, np.int32),
        states=np.empty((num_rows, num_nodes, game.spec.state_dtype.itemsize), np.uint8),
    )


class _Search:
    """The buffers of a running search."""

    def __init__(
        self, game: Game, trees: UctTrees, *, exploration: float, rng: np.random.Generator
    ) -> None:
        num_rows, num_nodes = trees.nodes.shape
        self._game = game
        self._playouts = playouts_of(game)
        self._trees = trees
        self._exploration = exploration
        self._rng = rng
        self._streams = new_streams(num_rows, rng)
        self._log_visits = np.log(np.maximum(np.arange(num_nodes + 1, dtype=np.float64), 1.0))
        self._parents = np.zeros(num_rows, np.int32)
        self._actions = np.zeros(num_rows, np.int64)
        self._states = game.initial_states(num_rows)

    def run_playout(self) -> None:
        """Runs the next playout of every row."""
        num_finished = select_leaves(
            self._trees,
            self._log_visits,
            self._exploration,
            self._streams,
            self._parents,
            self._actions,
            state_bytes(self._states),
        )
        states = self._step_to_leaves(num_finished)
        expand_and_back_up(
            self._trees,
            self._parents,
            state_bytes(states),
            self._game.to_play(states),
            self._playouts.playout_actions(states),
            self._playouts.playout_returns(states, rng=self._rng),
        )

    def _step_to_leaves(self, num_finished: int) -> States:
        """Returns the states [B] to play out: after the action found, or finished."""
        if num_finished == 0:
            return self._game.step(self._states, self._actions)
        going_on = ~self._game.is_over(self._states)
        self._states[going_on] = self._game.step(self._states[going_on], self._actions[going_on])
        return self._states


def _result(
    trees: UctTrees, candidates: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
) -> SearchResult:
    """Gathers what the children of the roots have found."""
    visit_counts = np.zeros(candidates.shape, np.int32)
    action_values = np.zeros(candidates.shape, np.float32)
    for b, root in enumerate(trees.nodes[:, ROOT]):
        num_children = root["num_children"]
        actions = trees.actions[b, ROOT, :num_children]
        children = trees.nodes[b, trees.children[b, ROOT, :num_children]]
        visit_counts[b, actions] = children["visits"]
        action_values[b, actions] = children["value_sum"] / children["visits"]
    totals = visit_counts.sum(axis=1)
    values = (visit_counts * action_values).sum(axis=1) / totals
    return SearchResult(
        visit_counts=visit_counts,
        policy_target=(visit_counts / totals[:, np.newaxis]).astype(np.float32),
        root_values=values.astype(np.float32),
        action_values=action_values,
        priors=(candidates / candidates.sum(axis=1, keepdims=True)).astype(np.float32),
    )
