"""`advance` and `resume`: a searched move's part of the tree becomes the next tree."""

import numpy as np
import pytest

from alphago.search import BatchSearch
from alphago.search.tree import NO_PARENT, ROOT, UNVISITED
from alphago.types import States
from tests.reference import mcts
from tests.search.comparison import SCORE_ROUNDING, OracleSearch
from tests.search.evaluators import HashEvaluator, UniformEvaluator
from tests.search.positions import (
    GAME_NAMES,
    game_named,
    random_states,
    run_to_end,
    search_config,
    state_after,
)

# The root is treated like every other node: a kept tree then equals the oracle's subtree.
CONFIG = search_config(root_fpu_reduction=0.2)


def searched(game_name: str, states: States, *, num_simulations: int, capacity: int) -> BatchSearch:
    game = game_named(game_name)
    search = BatchSearch(
        game,
        HashEvaluator(game, spread=1.5),
        CONFIG,
        num_rows=len(states),
        max_simulations=capacity,
    )
    rows = np.arange(len(states))
    search.start(rows, states, np.full(len(states), num_simulations))
    run_to_end(search, rows.tolist(), max_calls=num_simulations + 1)
    return search


@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_going_on_below_each_move_equals_the_oracle(game_name: str) -> None:
    """Every child in turn: the kept visits, and those after forty further simulations."""
    game = game_named(game_name)
    states = random_states(game, np.random.default_rng(60), num_states=6)
    num_compared = 0
    for b in range(len(states)):
        state = states[b : b + 1]
        for action in np.flatnonzero(game.legal_actions(state)[0]).tolist():
            search = searched(game_name, state, num_simulations=60, capacity=100)
            oracle = OracleSearch(game, HashEvaluator(game, spread=1.5), state=state, config=CONFIG)
            oracle.grow_to(60)
            child = oracle.root.children.get(action)
            if not search.advance(0, action):
                assert child is None or game.is_over(game.step(state, [action]))[0]
                continue
            assert child is not None
            assert search.root_visits(0) == child.visits
            num_further = min(40, 100 - child.visits)
            search.resume(0, num_further)
            run_to_end(search, [0], max_calls=num_further)
            for _ in range(num_further):
                gap = mcts.simulate(child, game, evaluator=oracle.evaluator, config=CONFIG)
                oracle.smallest_gap = min(oracle.smallest_gap, gap)
            if oracle.smallest_gap < SCORE_ROUNDING:
                continue
            counts = search.result(np.array([0])).visit_counts[0]
            expected = {a: grandchild.visits for a, grandchild in child.children.items()}
            assert {a: int(counts[a]) for a in np.flatnonzero(counts).tolist()} == expected
            num_compared += 1
    assert num_compared > 10


@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_kept_nodes_hold_the_positions_that_their_actions_lead_to(game_name: str) -> None:
    """States, links and sums fit, move after move, until a search has nothing to keep."""
    game = game_named(game_name)
    rng = np.random.default_rng(61)
    search = searched(game_name, game.initial_states(1), num_simulations=80, capacity=200)
    state, num_advanced = game.initial_states(1), 0
    while True:
        action = int(search.result(np.array([0])).visit_counts[0].argmax())
        if not search.advance(0, action):
            break
        num_advanced += 1
        state = game.step(state, [action])
        check_tree(search, row=0, root_state=state)
        room = 201 - search.root_visits(0)
        search.resume(0, min(room, int(rng.integers(20, 80))))
        run_to_end(search, [0], max_calls=80)
        check_tree(search, row=0, root_state=state)
    assert num_advanced > 2


def check_tree(search: BatchSearch, *, row: int, root_state: States) -> None:
    """Asserts that links go both ways, states follow from actions, and visits add up."""
    trees, game = search.trees, search.game
    states = search._node_states[row]
    assert states[ROOT : ROOT + 1].tobytes() == root_state.tobytes()
    nodes = trees.nodes[row]
    assert nodes[ROOT]["parent"] == NO_PARENT
    for node in range(1, trees.num_nodes[row]):
        parent, action = int(nodes[node]["parent"]), int(nodes[node]["action"])
        edges = search.edges(row, parent)
        assert edges.children[0, action] == node
        stepped = game.step(states[parent : parent + 1], [int(action)])
        assert stepped.tobytes() == states[node : node + 1].tobytes()
        assert edges.visits[0, action] == nodes[node]["visits"]
    for node in range(trees.num_nodes[row]):
        if not nodes[node]["is_over"]:
            edges = search.edges(row, node)
            index = edges.children[0]
            assert (index[index != UNVISITED] < trees.num_nodes[row]).all()
            assert (edges.legal[0] == game.legal_actions(states[node : node + 1])[0]).all()
            assert edges.priors.sum() == pytest.approx(1.0, abs=1e-5)
            tried = edges.priors[0, index != UNVISITED].sum()
            assert nodes[node]["tried_prior"] == pytest.approx(tried, abs=1e-5)
            assert nodes[node]["visits"] == 1 + edges.visits.sum()


def test_other_rows_are_left_alone() -> None:
    game = game_named("connect_four")
    states = random_states(game, np.random.default_rng(62), num_states=3)
    search = searched("connect_four", states, num_simulations=50, capacity=100)
    alone = searched("connect_four", states, num_simulations=50, capacity=100)
    assert search.advance(1, int(search.result(np.array([1])).visit_counts[0].argmax()))
    for row in (0, 2):
        got, expected = search.result(np.array([row])), alone.result(np.array([row]))
        assert got.visit_counts.tobytes() == expected.visit_counts.tobytes()


def test_nothing_is_kept_of_an_untried_move_or_a_finished_game() -> None:
    """X to move wins at 2; a search of one simulation tried one move only."""
    game = game_named("tic_tac_toe")
    state = state_after(game, [0, 3, 1, 4])
    search = BatchSearch(game, UniformEvaluator(game), CONFIG, num_rows=1, max_simulations=50)
    assert not search.advance(0, 2)  # never started
    search.start(np.array([0]), state, np.array([50]))
    run_to_end(search, [0], max_calls=51)
    assert search.result(np.array([0])).visit_counts[0, 2] > 0
    assert not search.advance(0, 2)
    search.start(np.array([0]), state, np.array([1]))
    run_to_end(search, [0], max_calls=2)
    untried = np.flatnonzero(search.result(np.array([0])).visit_counts[0] == 0)
    assert not search.advance(0, int(untried[0]))
    assert search.root_visits(0) == 2


def test_a_simulation_that_ends_in_a_finished_game_asks_no_network() -> None:
    game = game_named("tic_tac_toe")
    states = game.initial_states(1)
    for action in (0, 1, 2, 4, 3, 5, 7, 6):  # one cell is free
        states = game.step(states, [action])
    search = BatchSearch(game, UniformEvaluator(game), CONFIG, num_rows=1, max_simulations=20)
    search.start(np.array([0]), states, np.array([1]))
    run_to_end(search, [0], max_calls=2)
    for _ in range(7):
        search.resume(0, 1)
        search.run_simulation()
    assert search.root_visits(0) == 1 + 1 + 7
    assert search.num_batches == 2
