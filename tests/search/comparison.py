"""Comparing a search result with the oracle's tree, and two results with each other."""

import math

import numpy as np

from alphago.games.game import Game
from alphago.search import SearchConfig
from alphago.types import Evaluator, FloatArray, SearchResult, States
from tests.reference import mcts

VALUE_TOLERANCE = 1e-5
# Two scores closer than this may be ordered differently by correct programs of different precision.
SCORE_ROUNDING = 2e-6


class OracleSearch:
    """The oracle's tree of one position, grown step by step."""

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        *,
        state: States,
        config: SearchConfig,
        root_noise: FloatArray | None = None,
    ) -> None:
        """Evaluates the root.

        Args:
            game: the rules.
            evaluator: answers for every position.
            state: [1] the position to search.
            config: constants of the search.
            root_noise: float32 [A], or None.
        """
        self.game = game
        self.evaluator = evaluator
        self.config = config
        self.root = mcts.make_root(
            state, game, evaluator=evaluator, config=config, root_noise=root_noise
        )
        self.num_simulations = 0
        self.smallest_gap = math.inf

    def grow_to(self, num_simulations: int) -> None:
        """Simulates until the tree has had so many simulations."""
        while self.num_simulations < num_simulations:
            gap = mcts.simulate(self.root, self.game, evaluator=self.evaluator, config=self.config)
            self.smallest_gap = min(self.smallest_gap, gap)
            self.num_simulations += 1

    def result(self) -> SearchResult:
        """Returns what a search of this one row should return, [1] row of each field."""
        shape = (1, self.game.spec.num_actions)
        counts, targets = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
        values, priors = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        for action, prior in self.root.priors.items():
            priors[0, action] = prior
        for action, child in self.root.children.items():
            counts[0, action] = child.visits
            targets[0, action] = child.visits / self.num_simulations
            values[0, action] = self.root.child_value(action)
        if self.num_simulations == 0:
            targets = priors
        root_values = np.array([self.root.value()], dtype=np.float32)
        return SearchResult(counts, targets, root_values, values, priors)


def result_rows(result: SearchResult, rows: list[int]) -> SearchResult:
    """Returns some rows of a result, in the given order."""
    return SearchResult._make(field[rows] for field in result)


def assert_same_bits(result: SearchResult, expected: SearchResult) -> None:
    """Asserts that two results are equal in every bit, type and shape."""
    for name, ours, theirs in zip(SearchResult._fields, result, expected, strict=True):
        assert ours.dtype == theirs.dtype, name
        assert ours.shape == theirs.shape, name
        assert ours.tobytes() == theirs.tobytes(), f"{name}: {ours} differs from {theirs}"


def agrees_with_oracle(result: SearchResult, oracle: OracleSearch) -> bool:
    """Asserts that a result of one row is the oracle's.

    Returns:
        True if they agree; False if not, where the oracle met two scores that rounding could swap.
    """
    expected = oracle.result()
    same_visits = np.array_equal(result.visit_counts, expected.visit_counts)
    distances = {
        name: float(np.abs(getattr(result, name) - getattr(expected, name)).max())
        for name in ("policy_target", "root_values", "action_values", "priors")
    }
    if same_visits and max(distances.values()) <= VALUE_TOLERANCE:
        return True
    assert oracle.smallest_gap < SCORE_ROUNDING, (
        f"{oracle.num_simulations} simulations of {oracle.root.state}: visits "
        f"{result.visit_counts}, oracle {expected.visit_counts}; distances {distances}; "
        f"closest choice {oracle.smallest_gap}"
    )
    return False
