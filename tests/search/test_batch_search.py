"""`BatchSearch`: rows with budgets of their own, started and restarted at any time."""

from collections import deque

import numpy as np
import pytest

from alphago.errors import EvaluationError, FinishedGameError
from alphago.search import BatchSearch, run_search
from alphago.types import Evaluation, SearchResult
from tests.search.comparison import assert_same_bits, result_rows
from tests.search.evaluators import (
    HashEvaluator,
    RecordingEvaluator,
    SpoiledEvaluator,
    UniformEvaluator,
)
from tests.search.positions import (
    EVALUATOR_KINDS,
    GAME_NAMES,
    evaluator_of_kind,
    game_named,
    random_states,
    run_to_end,
    search_config,
    state_after,
)


@pytest.mark.parametrize("kind", EVALUATOR_KINDS)
@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_restarted_rows_with_mixed_budgets_equal_single_searches(game_name: str, kind: str) -> None:
    """Forty searches of 0 to 60 simulations go through five rows; each equals a search alone."""
    game = game_named(game_name)
    rng = np.random.default_rng(50)
    evaluator = evaluator_of_kind(kind, game)
    states = random_states(game, rng, num_states=40)
    budgets = rng.integers(0, 61, size=40)
    waiting = deque(range(40))
    search = BatchSearch(game, evaluator, search_config(), num_rows=5, max_simulations=60)
    jobs = np.array([waiting.popleft() for _ in range(5)])
    search.start(np.arange(5), states[jobs], budgets[jobs])
    results: dict[int, SearchResult] = {}
    while len(results) < 40:
        finished = [row for row in search.finished_rows().tolist() if jobs[row] not in results]
        for row in finished:
            results[int(jobs[row])] = search.result(np.array([row]))
        restarted = finished[: len(waiting)]
        if restarted:
            jobs[restarted] = [waiting.popleft() for _ in restarted]
            search.start(np.array(restarted), states[jobs[restarted]], budgets[jobs[restarted]])
        elif len(results) < 40:
            search.run_simulation()
    for job, result in results.items():
        alone = run_search(
            game,
            evaluator,
            states[job : job + 1],
            search_config(),
            num_simulations=int(budgets[job]),
        )
        assert_same_bits(result, alone)


def test_rows_finish_when_their_budget_is_spent() -> None:
    """Budgets 0, 2 and 4: reported in that order, and then standing still."""
    game = game_named("connect_four")
    evaluator = UniformEvaluator(game)
    search = BatchSearch(game, evaluator, search_config(), num_rows=3, max_simulations=4)
    search.start(np.arange(3), game.initial_states(3), np.array([0, 2, 4]))
    seen = set()
    for _ in range(7):
        seen.add(tuple(sorted(search.finished_rows().tolist())))
        search.run_simulation()
    assert {(0,), (0, 1), (0, 1, 2)} <= seen <= {(), (0,), (0, 1), (0, 1, 2)}
    counts = search.result(np.arange(3)).visit_counts
    assert counts.sum(axis=1).tolist() == [0, 2, 4]


def test_nothing_is_finished_before_it_is_started() -> None:
    """A caller that asks for finished rows never meets one that holds no search."""
    game = game_named("connect_four")
    evaluator = UniformEvaluator(game)
    search = BatchSearch(game, evaluator, search_config(), num_rows=3, max_simulations=4)
    assert search.finished_rows().tolist() == []
    search.start(np.array([1]), game.initial_states(1), np.array([2]))
    run_to_end(search, [1], max_calls=3)
    assert search.finished_rows().tolist() == [1]


def test_result_rows_come_in_the_order_asked_for() -> None:
    """Rows may be started and asked for in any order."""
    game = game_named("tic_tac_toe")
    evaluator = HashEvaluator(game, spread=2.0)
    states = random_states(game, np.random.default_rng(51), num_states=4)
    search = BatchSearch(game, evaluator, search_config(), num_rows=6, max_simulations=9)
    search.start(np.array([5, 0, 3, 1]), states, np.full(4, 9))
    run_to_end(search, [0, 1, 3, 5], max_calls=10)
    alone = run_search(game, evaluator, states, search_config(), num_simulations=9)
    assert_same_bits(search.result(np.array([5, 0, 3, 1])), alone)
    assert_same_bits(search.result(np.array([1, 5])), result_rows(alone, [3, 0]))


def test_results_are_copies() -> None:
    """A result in hand does not change when its row goes on to another position."""
    game = game_named("connect_four")
    evaluator = HashEvaluator(game, spread=2.0)
    search = BatchSearch(game, evaluator, search_config(), num_rows=2, max_simulations=5)
    search.start(np.arange(2), game.initial_states(2), np.full(2, 5))
    run_to_end(search, [0, 1], max_calls=6)
    result = search.result(np.arange(2))
    before = [field.tobytes() for field in result]
    search.start(np.arange(2), game.step(game.initial_states(2), [3, 3]), np.full(2, 3))
    search.run_simulation()
    assert [field.tobytes() for field in result] == before


@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_at_most_one_evaluator_call_per_simulation(game_name: str) -> None:
    """One batch evaluates the roots and each of the ten simulations takes at most one more."""
    game = game_named(game_name)
    evaluator = RecordingEvaluator(UniformEvaluator(game))
    search = BatchSearch(game, evaluator, search_config(), num_rows=8, max_simulations=10)
    search.start(np.arange(8), game.initial_states(8), np.array([10] * 4 + [3] * 4))
    run_to_end(search, list(range(8)), max_calls=11)
    assert len(evaluator.batches) <= 11
    assert max(len(batch) for batch in evaluator.batches) <= 8


def test_simulations_into_a_known_end_leave_no_slot_of_the_batch_empty() -> None:
    """Row 0 has one free cell left: its 499 simulations into that end happen within one call.

    Row 1 asks the evaluator once per simulation.
    """
    game = game_named("tic_tac_toe")
    evaluator = RecordingEvaluator(UniformEvaluator(game))
    states = np.concatenate([state_after(game, [0, 1, 2, 4, 3, 5, 7, 6]), game.initial_states(1)])
    search = BatchSearch(game, evaluator, search_config(), num_rows=2, max_simulations=500)
    search.start(np.arange(2), states, np.array([500, 4]))
    run_to_end(search, [0, 1], max_calls=5)
    assert search.result(np.array([0])).visit_counts.tolist() == [[0] * 8 + [500]]
    assert search.num_batches == len(evaluator.batches) == 5
    # Row 0: its root and the one child. Row 1: its root and four children.
    assert search.num_leaves == 2 + 5


def test_noise_of_an_earlier_search_is_gone() -> None:
    """A row that had root noise and is started again without gives the plain result."""
    game = game_named("connect_four")
    evaluator = HashEvaluator(game, spread=1.0)
    states = game.initial_states(2)
    noise = np.zeros((2, 7), dtype=np.float32)
    noise[:, 6] = 1.0
    search = BatchSearch(game, evaluator, search_config(), num_rows=2, max_simulations=20)
    results = []
    for is_noisy in (True, False):
        search.start(np.arange(2), states, np.full(2, 20))
        search.run_simulation()
        if is_noisy:
            search.explore_roots(np.arange(2), noise)
        run_to_end(search, [0, 1], max_calls=20)
        results.append(search.result(np.arange(2)))
    plain = run_search(game, evaluator, states, search_config(), num_simulations=20)
    np.testing.assert_allclose(
        results[0].priors, 0.75 * plain.priors + 0.25 * noise, rtol=0, atol=1e-6
    )
    assert_same_bits(results[1], plain)


def test_noise_is_for_fresh_roots() -> None:
    game = game_named("tic_tac_toe")
    search = BatchSearch(
        game, HashEvaluator(game, 1.0), search_config(), num_rows=1, max_simulations=5
    )
    search.start(np.array([0]), game.initial_states(1), np.array([5]))
    run_to_end(search, [0], max_calls=6)
    with pytest.raises(AssertionError, match="a fresh root"):
        search.explore_roots(np.array([0]), np.full((1, 9), 1 / 9, np.float32))


def test_noise_of_one_row_stays_in_that_row() -> None:
    """Rows started together, one of which is explored, share nothing."""
    game = game_named("tic_tac_toe")
    evaluator = HashEvaluator(game, spread=1.0)
    noise = np.full((1, 9), 1 / 9, dtype=np.float32)
    search = BatchSearch(game, evaluator, search_config(), num_rows=2, max_simulations=15)
    search.start(np.arange(2), game.initial_states(2), np.full(2, 15))
    search.run_simulation()
    search.explore_roots(np.array([0]), noise)
    run_to_end(search, [0, 1], max_calls=15)
    plain = run_search(game, evaluator, game.initial_states(1), search_config(), num_simulations=15)
    assert_same_bits(search.result(np.array([1])), plain)
    assert search.result(np.array([0])).priors.tobytes() != plain.priors.tobytes()


def test_finished_root_is_refused() -> None:
    """As in `run_search`."""
    game = game_named("tic_tac_toe")
    search = BatchSearch(
        game, UniformEvaluator(game), search_config(), num_rows=1, max_simulations=5
    )
    with pytest.raises(FinishedGameError):
        search.start(np.array([0]), state_after(game, [0, 3, 1, 4, 2]), np.array([5]))


def test_broken_network_is_reported_at_the_simulation_that_meets_it() -> None:
    """An evaluator that goes wrong later is noticed later."""

    def spoil(evaluation: Evaluation) -> None:
        evaluation.prior_logits[:] = np.nan

    game = game_named("tic_tac_toe")
    evaluator = SpoiledEvaluator(game, spoil, from_call=2)
    search = BatchSearch(game, evaluator, search_config(), num_rows=1, max_simulations=5)
    search.start(np.array([0]), game.initial_states(1), np.array([5]))
    with pytest.raises(EvaluationError):
        run_to_end(search, [0], max_calls=6)
    assert evaluator.num_calls == 3
