"""The batched search grows the same trees as a plain one with an object per node."""

import numpy as np
import pytest

from alphago.games.game import Game
from alphago.search import SearchConfig, run_search
from alphago.types import Evaluator, States
from tests.search.comparison import OracleSearch, agrees_with_oracle, result_rows
from tests.search.evaluators import RecordingEvaluator, UniformEvaluator
from tests.search.positions import (
    EVALUATOR_KINDS,
    GAME_NAMES,
    evaluator_of_kind,
    game_named,
    random_states,
    search_config,
)

BUDGETS = (1, 2, 3, 7, 20, 60, 150, 300)  # simulations
NUM_STATES = 12

OTHER_CONFIGS = {
    "growing exploration": search_config(exploration_base=10.0),
    "little exploration": search_config(exploration_init=0.1),
    "wide": search_config(exploration_init=4.0),
    "no reduction": search_config(fpu_reduction=0.0),
    "reduction at the root": search_config(fpu_reduction=0.1, root_fpu_reduction=0.6),
    "clipped at -1": search_config(fpu_reduction=1.5, root_fpu_reduction=1.5),
}


def assert_equal_to_oracle(
    game_name: str, evaluator: Evaluator, *, config: SearchConfig, states: States
) -> None:
    """Compares every row after every budget; at most one row in fifty may hang on rounding."""
    game = game_named(game_name)
    oracles = [
        OracleSearch(game, evaluator, state=states[row : row + 1], config=config)
        for row in range(len(states))
    ]
    num_equal = 0
    for budget in BUDGETS:
        result = run_search(game, evaluator, states, config, num_simulations=budget)
        for row, oracle in enumerate(oracles):
            oracle.grow_to(budget)
            num_equal += agrees_with_oracle(result_rows(result, [row]), oracle)
    num_compared = len(BUDGETS) * len(states)
    assert num_compared - num_equal <= num_compared // 50


@pytest.mark.parametrize("kind", EVALUATOR_KINDS)
@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_same_visits_and_values(game_name: str, kind: str) -> None:
    """Many positions; tame, sharp, tied and hostile networks; 1 to 300 simulations."""
    game = game_named(game_name)
    states = random_states(game, np.random.default_rng(20), num_states=NUM_STATES)
    evaluator = evaluator_of_kind(kind, game)
    assert_equal_to_oracle(game_name, evaluator, config=search_config(), states=states)


@pytest.mark.parametrize("name", OTHER_CONFIGS)
@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_same_visits_with_other_constants(game_name: str, name: str) -> None:
    """Each constant of the formulas acts as written."""
    game = game_named(game_name)
    states = random_states(game, np.random.default_rng(21), num_states=4)
    evaluator = evaluator_of_kind("mild", game)
    assert_equal_to_oracle(game_name, evaluator, config=OTHER_CONFIGS[name], states=states)


@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_ties_go_to_the_lowest_action(game_name: str) -> None:
    """With equal priors and value 0 almost every choice is a tie."""
    game = game_named(game_name)
    states = random_states(game, np.random.default_rng(22), num_states=4)
    assert_equal_to_oracle(game_name, UniformEvaluator(game), config=search_config(), states=states)


def unfinished_positions(game: Game, evaluator: RecordingEvaluator) -> list[bytes]:
    """Returns the positions an evaluator has seen, in order, without finished ones."""
    states = np.concatenate(evaluator.batches)
    return [state.tobytes() for state in states[~game.is_over(states)]]


@pytest.mark.parametrize("kind", EVALUATOR_KINDS)
@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_same_leaves_in_the_same_order(game_name: str, kind: str) -> None:
    """The positions that the evaluator sees, one after the other, are the whole inner tree."""
    game = game_named(game_name)
    for state in np.split(random_states(game, np.random.default_rng(23), num_states=3), 3):
        ours = RecordingEvaluator(evaluator_of_kind(kind, game))
        theirs = RecordingEvaluator(evaluator_of_kind(kind, game))
        run_search(game, ours, state, search_config(), num_simulations=120)
        oracle = OracleSearch(game, theirs, state=state, config=search_config())
        oracle.grow_to(120)
        seen, expected = unfinished_positions(game, ours), unfinished_positions(game, theirs)
        assert seen[: len(expected)] == expected
        # A row that needs no answer may show an old position to fill its place in the batch.
        assert set(seen[len(expected) :]) <= set(expected)
