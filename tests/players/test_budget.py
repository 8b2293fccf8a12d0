"""Limits of time and memory of players that search."""

import numpy as np
import pytest

from alphago.errors import PlayerError
from alphago.games import make_game
from alphago.players import make_player
from alphago.players.budget import (
    MAX_TREE_BYTES,
    limit_visits,
    most_visits,
    rows_at_once,
    search_in_parts,
    stop_after,
)
from alphago.players.network_player import NetworkPlayer
from alphago.players.uct_player import UctPlayer
from alphago.search.search import run_search
from alphago.search.search_until import run_search_until
from alphago.search.tree import node_bytes
from alphago.search.uct import uct_node_bytes
from alphago.types import MAX_SIMULATIONS
from tests.search.comparison import assert_same_bits
from tests.search.evaluators import HashEvaluator, RecordingEvaluator, UniformEvaluator
from tests.search.positions import search_config

TIC_TAC_TOE = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")


class FakeClock:
    """Goes on by a fixed step with each look at it."""

    def __init__(self, step):
        self.now = 0.0
        self.step = step

    def monotonic(self):
        self.now += self.step
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a tenth of a second with each look; players go by it."""
    fake = FakeClock(0.1)
    monkeypatch.setattr("alphago.players.budget.time", fake)
    return fake


def network_player(game, evaluator, *, num_simulations, seconds):
    return NetworkPlayer(
        game,
        evaluator,
        search_config=search_config(),
        num_simulations=num_simulations,
        name="network",
        seed=0,
        seconds=seconds,
    )


def test_a_search_is_told_to_stop_when_time_is_up_or_for_another_reason(clock):
    should_stop = stop_after(1.0)
    answers = [should_stop() for _ in range(12)]
    assert answers.index(True) == pytest.approx(9, abs=1)
    assert all(answers[10:])
    assert stop_after(None) is None
    reason = lambda: True  # noqa: E731
    assert stop_after(None, or_when=reason) is reason
    assert stop_after(1.0, or_when=reason)()


def test_memory_bounds_the_number_of_visits():
    assert most_visits(1) == MAX_SIMULATIONS
    assert most_visits(MAX_TREE_BYTES // 5) == 4  # and the root
    assert limit_visits(7, node_bytes=1, seconds=None, what="visits") == 7


@pytest.mark.parametrize("name", ["tic_tac_toe", "go_9x9", "go_19x19"])
@pytest.mark.parametrize("kind", ["uct", "network"])
def test_no_tree_is_larger_than_memory_allows(name, kind):
    game = make_game(name)

    def num_visits(wanted, seconds):
        if kind == "uct":
            who = UctPlayer(
                game, num_playouts=wanted, exploration=1, name="who", seed=0, seconds=seconds
            )
            return who.num_playouts
        evaluator = UniformEvaluator(game)
        return network_player(
            game, evaluator, num_simulations=wanted, seconds=seconds
        ).num_simulations

    size = uct_node_bytes(game) if kind == "uct" else node_bytes(game.spec)
    most = num_visits(None, 1.0)
    assert num_visits(10**9, 1.0) == most
    assert num_visits(most, None) == num_visits(most, 1.0) == most
    assert (most + 1) * size <= MAX_TREE_BYTES
    assert (most + 2) * size > MAX_TREE_BYTES or most == MAX_SIMULATIONS
    for wanted in (most + 1, None):
        message = f"s of {name}: got {wanted}, allowed: at most {most} \\(a tree may take 1 GB"
        with pytest.raises(PlayerError, match=message):
            num_visits(wanted, None)


def test_the_memory_of_a_batch_is_bounded(monkeypatch):
    monkeypatch.setattr("alphago.players.budget._MAX_BATCH_BYTES", 1000)
    assert rows_at_once(9, node_bytes=20, most_rows=64) == 5
    assert rows_at_once(9, node_bytes=20, most_rows=4) == 4
    assert rows_at_once(99, node_bytes=20, most_rows=64) == 1


def test_searches_in_parts_put_results_together():
    who = make_player("uct:playouts=5", game=TIC_TAC_TOE)
    sizes = []

    def search(states):
        sizes.append(len(states))
        return who.search(states)

    result = search_in_parts(TIC_TAC_TOE.initial_states(7), num_rows=3, search=search)
    assert sizes == [3, 3, 1]
    assert result.visit_counts.shape == (7, 9)


# --- UCT ---


def test_uct_searches_each_position_for_its_time(clock):
    who = make_player("uct:seconds=1", game=CONNECT_FOUR)
    counts = who.search(CONNECT_FOUR.initial_states(3)).visit_counts.sum(axis=1)
    assert counts.tolist() == pytest.approx([10, 10, 10], abs=1)


@pytest.mark.parametrize(("text", "expected"), [("playouts=4,seconds=1", 4), ("seconds=0.01", 1)])
def test_uct_stops_at_what_is_spent_first_but_has_an_answer(clock, text, expected):
    who = make_player(f"uct:{text}", game=CONNECT_FOUR)
    assert who.search(CONNECT_FOUR.initial_states(1)).visit_counts.sum() == expected


def test_uct_goes_on_obeying_whoever_plays_against_a_clock(clock):
    who = make_player("uct:seconds=1000", game=CONNECT_FOUR)
    looks = iter([False, False, True])
    who.should_stop = lambda: next(looks)
    assert who.search(CONNECT_FOUR.initial_states(1)).visit_counts.sum() == 3


def test_loading_what_is_compiled_costs_no_time_and_no_random_numbers(clock):
    timed, plain = (
        make_player(f"uct:playouts=5{seconds}", game=CONNECT_FOUR, seed=4)
        for seconds in (",seconds=1000", "")
    )
    states = CONNECT_FOUR.initial_states(1)
    for _ in range(2):
        for found, expected in zip(timed.search(states), plain.search(states), strict=True):
            assert (found == expected).all()


def test_uct_refuses_to_search_without_a_limit_or_for_no_time():
    def make(**limits):
        return UctPlayer(CONNECT_FOUR, exploration=0.4, name="uct", seed=0, **limits)

    with pytest.raises(PlayerError, match="uct: playouts of connect_four: got None, allowed: at"):
        make(num_playouts=None)
    with pytest.raises(PlayerError, match="uct: seconds: got 0, allowed: a number above 0"):
        make(num_playouts=5, seconds=0)


# --- networks ---


def test_a_network_searches_each_position_for_its_time(clock):
    evaluator = RecordingEvaluator(HashEvaluator(CONNECT_FOUR, 1.5))
    who = network_player(CONNECT_FOUR, evaluator, num_simulations=500, seconds=1.0)
    counts = who.search(CONNECT_FOUR.initial_states(2)).visit_counts.sum(axis=1)
    assert counts.tolist() == pytest.approx([9, 9], abs=1)
    assert {len(batch) for batch in evaluator.batches} == {1}


@pytest.mark.parametrize(("num_simulations", "seconds"), [(4, 1.0), (0, 1.0), (500, 0.01)])
def test_a_network_stops_at_what_is_spent_first(clock, num_simulations, seconds):
    who = network_player(
        CONNECT_FOUR,
        HashEvaluator(CONNECT_FOUR, 1.5),
        num_simulations=num_simulations,
        seconds=seconds,
    )
    result = who.search(CONNECT_FOUR.initial_states(1))
    assert result.visit_counts.sum() == (num_simulations if seconds == 1.0 else 0)
    assert result.policy_target.sum() == pytest.approx(1)
    assert who.choose_actions(CONNECT_FOUR.initial_states(0)).shape == (0,)


@pytest.mark.parametrize("num_simulations", [0, 1, 7, 60])
@pytest.mark.parametrize("game", [TIC_TAC_TOE, CONNECT_FOUR], ids=lambda game: game.spec.name)
def test_a_search_that_is_not_stopped_is_the_usual_one(game, num_simulations):
    evaluator = HashEvaluator(game, 1.5)
    states = game.step(game.initial_states(3), [0, 1, 2])
    found = run_search_until(
        game,
        evaluator,
        states,
        search_config(),
        num_simulations=num_simulations,
        should_stop=lambda: False,
    )
    expected = run_search(game, evaluator, states, search_config(), num_simulations=num_simulations)
    assert_same_bits(found, expected)


def test_time_is_looked_at_though_every_simulation_ends_in_a_finished_game(clock):
    """One cell is free: without a look after each simulation all 100,000 would be one call."""
    states = TIC_TAC_TOE.initial_states(1)
    for action in (0, 1, 2, 4, 3, 5, 7, 6):
        states = TIC_TAC_TOE.step(states, [action])
    who = network_player(
        TIC_TAC_TOE, UniformEvaluator(TIC_TAC_TOE), num_simulations=100_000, seconds=1.0
    )
    assert who.search(states).visit_counts.sum() < 12
    assert np.isfinite(who.search(states).root_values).all()
