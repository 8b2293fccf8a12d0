"""The search over a batch of games: select, step, evaluate, expand and back up.

Rows are independent. Each has its own game, tree and budget, and may be started again while the
others go on, so that self-play keeps the network's batch full with searches of any length.
`run_search` is the simple form for one position per row.
"""

import time

import numpy as np
import numpy.typing as npt

from alphago.errors import EvaluationError, FinishedGameError, check_count
from alphago.games.game import Game, check_states
from alphago.search.config import SearchConfig
from alphago.search.descent_kernels import PuctConstants, select_leaves
from alphago.search.formulas import exploration_table
from alphago.search.gumbel import GumbelConfig, allocate_gumbel_rows, plan_halving
from alphago.search.gumbel_kernels import GumbelResult, fill_gumbel_result
from alphago.search.noise import noise_of_roots
from alphago.search.tree import (
    LEAF_CHILD,
    LEAF_ROOT,
    ROOT,
    UNVISITED,
    Edges,
    LeafFacts,
    StateRows,
    allocate_edges,
    allocate_leaves,
    allocate_trees,
    state_bytes,
)
from alphago.search.tree_kernels import (
    NO_BAD_ROW,
    expand_and_back_up,
    fill_edges,
    fill_result,
    keep_subtree,
    mix_noise,
    store_leaves,
)
from alphago.types import (
    Evaluation,
    Evaluator,
    FloatArray,
    SearchResult,
    States,
    value_for,
)


def run_search(
    game: Game,
    evaluator: Evaluator,
    states: States,
    config: SearchConfig,
    *,
    num_simulations: int,
    rng: np.random.Generator | None = None,
) -> SearchResult:
    """Searches one position per row.

    Args:
        game: the rules.
        evaluator: the network.
        states: [B] positions, none over.
        config: the constants.
        num_simulations: simulations per row beside the root's own evaluation; 0 asks for the raw
            policy.
        rng: draws root noise; None for no noise (play and evaluation).

    Returns:
        The result of each row; with 0 simulations the policy target is the prior.

    Raises:
        ConfigError: if `num_simulations` is negative.
        StateError: if the states are not those of the game.
        FinishedGameError: if a position is over.
        EvaluationError: if the evaluator's answer cannot be used.
    """
    check_count("num_simulations", num_simulations, at_least=0)
    check_states(game, states)
    num_rows = len(states)
    search = BatchSearch(
        game, evaluator, config, num_rows=num_rows, max_simulations=num_simulations
    )
    rows = np.arange(num_rows)
    search.start(rows, states, np.full(num_rows, num_simulations))
    if rng is not None and num_rows > 0:
        search.run_simulation()  # the roots' own evaluation
        legal, concentration = search.root_edges(rows).legal, config.noise_concentration
        noise = noise_of_roots(legal, concentration=concentration, rngs=[rng] * num_rows)
        search.explore_roots(rows, noise)
    while search.finished_rows().size < num_rows:
        search.run_simulation()
    return search.result(rows)


def puct_constants(config: SearchConfig, *, max_visits: int) -> PuctConstants:
    """Returns the constants of PUCT as kernels read them, for nodes of up to so many visits."""
    return PuctConstants(
        exploration=exploration_table(
            max_visits, init=config.exploration_init, base=config.exploration_base
        ),
        fpu_reduction=np.float32(config.fpu_reduction),
        root_fpu_reduction=np.float32(config.root_fpu_reduction),
    )


class BatchSearch:
    """Searches of B games that share the evaluator's batch. Trees are allocated once and reused."""

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        config: SearchConfig,
        *,
        num_rows: int,
        max_simulations: int,
        gumbel_config: GumbelConfig | None = None,
    ) -> None:
        """Allocates the trees.

        Args:
            game: the rules.
            evaluator: the network.
            config: the constants of PUCT and of its noise.
            num_rows: B, the number of games.
            max_simulations: the largest budget a row will ask for.
            gumbel_config: the constants of Gumbel's rule; None if no row will go by it.
        """
        self.game = game
        self.evaluator = evaluator
        self.config = config
        num_actions = game.spec.num_actions
        num_nodes = max_simulations + 1
        self.trees = allocate_trees(num_rows, num_nodes, num_actions)
        self._leaves = allocate_leaves(num_rows)
        self._node_states = np.zeros((num_rows, num_nodes), game.spec.state_dtype)
        # Rows that were never started are evaluated too.
        self._node_states[:, ROOT] = game.initial_states(num_rows)
        self._leaf_states = game.initial_states(num_rows)
        self._states = StateRows(state_bytes(self._node_states), state_bytes(self._leaf_states))
        # Evaluations left, the root's own included; -1: the row was never started.
        self._remaining = np.full(num_rows, -1, np.int32)
        self._new_index = np.zeros(num_nodes, np.int32)  # scratch of `advance`
        self._puct = puct_constants(config, max_visits=num_nodes)
        self._gumbel_config = gumbel_config
        self._gumbel = allocate_gumbel_rows(num_rows, max_simulations, num_actions, gumbel_config)
        self._no_values = np.zeros(num_rows, np.float32)  # exact ones, where no game is over
        self.num_batches = 0  # calls of the evaluator
        self.num_leaves = 0  # rows of these calls that a simulation asked for
        self.seconds_evaluating = 0.0  # wall time of these calls

    @property
    def num_bytes(self) -> int:
        """The memory of all rows together, which grows with their number and budget."""
        halving = (self._gumbel.root_scores, self._gumbel.considered_visits)
        return sum(array.nbytes for array in (*self.trees, *self._states, *halving))

    def start(
        self,
        rows: npt.NDArray[np.int64],
        states: States,
        num_simulations: npt.NDArray[np.int64],
    ) -> None:
        """Begins a new search by PUCT in some rows; whatever they were searching is forgotten.

        Args:
            rows: int [K], the rows.
            states: [K] their positions.
            num_simulations: int [K], their budgets.

        Raises:
            StateError: if the states are not those of the game.
            FinishedGameError: if a position is over.
        """
        check_states(self.game, states)
        if self.game.is_over(states).any():
            raise FinishedGameError("search: the game is over, there is no move to look for")
        # As bytes: numpy copies structured rows field by field.
        self._states.nodes[rows, ROOT] = state_bytes(np.ascontiguousarray(states))
        assert np.max(num_simulations, initial=0) < self._node_states.shape[1], (
            "budget above max_simulations"
        )
        self._remaining[rows] = num_simulations + 1
        self.trees.num_nodes[rows] = 0
        self._gumbel.is_on[rows] = False

    def evaluated_roots(self) -> npt.NDArray[np.int64]:
        """Returns the rows whose root the last simulation evaluated, in ascending order.

        Nothing was tried there yet: this is the time to explore them.
        """
        return np.flatnonzero(self._leaves.kinds == LEAF_ROOT)

    def root_edges(self, rows: npt.NDArray[np.int64]) -> Edges:
        """Returns what is known of the actions of some evaluated roots, [K, A] each."""
        return self._edges(rows, np.full(len(rows), ROOT))

    def explore_roots(self, rows: npt.NDArray[np.int64], noise: FloatArray) -> None:
        """Mixes noise into the priors of some rows, whose roots were just evaluated.

        Args:
            rows: int [K], the rows.
            noise: float32 [K, A], sums to 1 over the legal actions, see `noise_of_roots`.
        """
        assert (self.trees.num_nodes[rows] == 1).all(), "noise is for a fresh root"
        mix_noise(self.trees, rows, noise, np.float32(self.config.noise_weight))

    def explore_by_halving(self, rows: npt.NDArray[np.int64], gumbels: FloatArray) -> None:
        """Lets some rows, whose roots were just evaluated, go on by Gumbel's rule (`gumbel.py`).

        Args:
            rows: int [K], the rows.
            gumbels: float32 [K, A], see `gumbel_numbers`; zeros search without chance.
        """
        config = self._gumbel_config
        assert config is not None, "a search without the constants of Gumbel's rule"
        assert (self.trees.num_nodes[rows] == 1).all(), "the schedule begins at a fresh root"
        # Nothing was tried there yet; what is illegal has NO_PRIOR, below 0.
        priors = np.maximum(self.trees.untried_priors[rows, ROOT], np.float32(0.0))
        budgets = self._remaining[rows]
        plan_halving(self._gumbel, rows, priors, gumbels, budgets, config.num_considered)

    def advance(self, row: int, action: int) -> bool:
        """Makes the position after an action the root of a row and keeps what was found below it.

        The row is finished then, with the visits that the kept part has; `resume` goes on.

        Returns:
            False if nothing could be kept, since no simulation tried the action or it ends the
            game. The row is left as it was; `start` gives it the new position.
        """
        if self.root_visits(row) == 0:
            return False
        child = int(self.edges(row, ROOT).children[0, action])
        if child == UNVISITED or self.trees.nodes[row, child]["is_over"]:
            return False
        keep_subtree(self.trees, self._states.nodes[row], row, child, self._new_index)
        self._remaining[row] = 0
        self._gumbel.is_on[row] = False
        return True

    def resume(self, row: int, num_simulations: int) -> None:
        """Lets a row whose root was evaluated go on for so many further simulations.

        `root_visits(row) + num_simulations` may exceed the largest budget by the root's own visit.
        """
        visits = self.root_visits(row)
        assert visits > 0, "a row that has no root yet is started"
        assert not self._gumbel.is_on[row], "a halving ends with its budget"
        assert visits + num_simulations <= self._node_states.shape[1], "budget above capacity"
        self._remaining[row] = num_simulations

    def root_visits(self, row: int) -> int:
        """Returns the evaluations that went into a row's root, its own included; 0 before it."""
        is_begun = self.trees.num_nodes[row] > 0
        return int(self.trees.nodes[row, ROOT]["visits"]) if is_begun else 0

    def edges(self, row: int, node: int) -> Edges:
        """Returns what is known of the actions of a node that is not over, [1, A] each."""
        return self._edges(np.array([row]), np.array([node]))

    def run_simulation(self) -> None:
        """Runs the next simulation of every unfinished row, with one call of the evaluator.

        There is none where all rows spend their budgets in finished games, whose values are known.

        Raises:
            EvaluationError: if the evaluator's answer cannot be used.
        """
        self._find_leaves()
        if not self._leaves.kinds.any():
            return
        facts = self._look_at_leaves()
        started = time.perf_counter()
        evaluation = self.evaluator.evaluate(self._leaf_states)
        self.seconds_evaluating += time.perf_counter() - started
        self.num_batches += 1
        self._check_answer(evaluation)
        self._expand(facts, evaluation)

    def finished_rows(self) -> npt.NDArray[np.int64]:
        """Returns the rows whose budget is spent, in ascending order."""
        return np.flatnonzero(self._remaining == 0)

    def result(self, rows: npt.NDArray[np.int64]) -> SearchResult:
        """Returns what the search found at the roots of some finished rows [K]."""
        assert not self._remaining[rows].any(), "a row that has not finished has no result"
        edges = self.root_edges(rows)
        result = SearchResult(
            visit_counts=edges.visits,
            policy_target=np.empty_like(edges.priors),
            root_values=np.empty(len(rows), np.float32),
            action_values=np.empty_like(edges.priors),
            priors=edges.priors,
        )
        fill_result(self.trees, rows, edges.value_sums, result)
        return result

    def gumbel_result(self, rows: npt.NDArray[np.int64]) -> GumbelResult:
        """Returns what some finished rows [K] of that rule have found."""
        assert self._gumbel.is_on[rows].all(), "a row searched by PUCT has no improved policy"
        assert not self._remaining[rows].any(), "a row that has not finished has no result"
        num_actions = self.game.spec.num_actions
        result = GumbelResult(
            policy_targets=np.empty((len(rows), num_actions), np.float32),
            actions=np.empty(len(rows), np.int64),
            values=np.empty(len(rows), np.float32),
        )
        fill_gumbel_result(self.trees, rows, self._gumbel, result)
        assert (result.actions >= 0).all(), "a schedule that no action fits"
        return result

    def _edges(self, rows: npt.NDArray[np.int64], nodes: npt.NDArray[np.int64]) -> Edges:
        """Returns what is known of the actions of some nodes, [K, A] each."""
        edges = allocate_edges(len(rows), self.game.spec.num_actions)
        fill_edges(self.trees, rows, nodes, edges)
        return edges

    def _find_leaves(self) -> None:
        """Descends each tree and plays the action that leads out of it."""
        leaves = self._leaves
        select_leaves(
            self.trees,
            self._states,
            self._puct,
            self._gumbel,
            self._remaining,
            leaves,
        )
        self.num_leaves += int(np.count_nonzero(leaves.kinds))
        rows = np.flatnonzero(leaves.kinds == LEAF_CHILD)
        self.game.play(self._leaf_states, leaves.actions[rows], rows)

    def _look_at_leaves(self) -> LeafFacts:
        """Asks the rules about the leaves and stores their states.

        Both before the evaluation: a network leaves nothing of the states in the processor's cache.
        """
        game, states = self.game, self._leaf_states
        store_leaves(self.trees, self._states, self._leaves)
        to_play, is_over = game.to_play(states), game.is_over(states)
        exact_values = self._no_values
        if is_over.any():
            exact_values = value_for(game.returns(states), to_play)
        return LeafFacts(game.legal_actions(states), to_play, is_over, exact_values)

    def _expand(self, facts: LeafFacts, evaluation: Evaluation) -> None:
        """Adds the leaves to the trees and backs their values up."""
        prior_logits, values = evaluation
        bad_row = expand_and_back_up(
            self.trees,
            self._leaves,
            facts,
            prior_logits,
            values,
            self._remaining,
        )
        if bad_row != NO_BAD_ROW:
            logits = prior_logits[bad_row, facts.legal[bad_row]]
            raise EvaluationError(
                f"{type(self.evaluator).__name__}: got value {values[bad_row]} and"
                f" {np.count_nonzero(~np.isfinite(logits))} logits of legal actions that are not"
                " finite, allowed: finite logits and a value in [-1, 1]"
            )

    def _check_answer(self, evaluation: Evaluation) -> None:
        """Refuses what kernels cannot read, and shapes that they would read past the end."""
        for answer in evaluation:
            if not isinstance(answer, np.ndarray):
                raise EvaluationError(
                    f"{type(self.evaluator).__name__}: got a {type(answer).__name__},"
                    " allowed: numpy arrays"
                )
        num_rows, num_actions = len(self._remaining), self.game.spec.num_actions
        got = (evaluation.prior_logits.shape, evaluation.value.shape)
        if got != ((num_rows, num_actions), (num_rows,)):
            raise EvaluationError(
                f"{type(self.evaluator).__name__}: got logits and values of shapes {got[0]} and"
                f" {got[1]}, allowed: ({num_rows}, {num_actions}) and ({num_rows},)"
            )
