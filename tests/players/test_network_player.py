import math

import numpy as np
import pytest

from alphago.errors import EvaluationError, FinishedGameError
from alphago.games import make_game
from alphago.games.notation import parse_moves, replay
from alphago.games.random_play import random_actions
from alphago.players import Advisor
from alphago.players.network_player import NetworkPlayer
from alphago.search import run_search
from alphago.search.tree import node_bytes
from tests.search.evaluators import (
    FixedEvaluator,
    HashEvaluator,
    RecordingEvaluator,
    UniformEvaluator,
)
from tests.search.positions import search_config

TIC_TAC_TOE = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")
PRIORS = [0.05, 0.05, 0.1, 0.5, 0.2, 0.05, 0.05]


def network_player(game, evaluator, *, num_simulations, seed=0):
    return NetworkPlayer(
        game,
        evaluator,
        search_config=search_config(),
        num_simulations=num_simulations,
        name="network",
        seed=seed,
    )


def some_positions(game, num_positions):
    rng = np.random.default_rng(1)
    return np.concatenate(
        [replay(game, random_actions(game, rng, num_moves=4)) for _ in range(num_positions)]
    )


def test_without_simulations_it_plays_the_likeliest_legal_move():
    evaluator = FixedEvaluator([math.log(prior) for prior in PRIORS], 0.0)
    player = network_player(CONNECT_FOUR, evaluator, num_simulations=0)
    full_column_4 = replay(CONNECT_FOUR, parse_moves(CONNECT_FOUR, "4 4 4 4 4 4"))
    states = np.concatenate([CONNECT_FOUR.initial_states(1), full_column_4])
    assert player.choose_actions(states).tolist() == [3, 4]


def test_equal_priors_are_decided_by_seed():
    states = CONNECT_FOUR.initial_states(100)
    evaluator = UniformEvaluator(CONNECT_FOUR)
    first, same, other = (
        network_player(CONNECT_FOUR, evaluator, num_simulations=0, seed=seed).choose_actions(states)
        for seed in (1, 1, 2)
    )
    assert (first == same).all()
    assert (first != other).any()
    assert set(first.tolist()) == set(range(7))


def test_a_search_finds_the_win_and_the_block():
    player = network_player(TIC_TAC_TOE, UniformEvaluator(TIC_TAC_TOE), num_simulations=200)
    win = replay(TIC_TAC_TOE, [0, 1, 3, 4])  # 6 wins
    block = replay(TIC_TAC_TOE, [0, 4, 1])  # 2 would lose otherwise
    assert player.choose_actions(np.concatenate([win, block])).tolist() == [6, 2]


def test_noise_and_temperature_stay_out_of_play():
    states = some_positions(CONNECT_FOUR, 20)
    evaluator = HashEvaluator(CONNECT_FOUR, 1.5)
    plain = run_search(CONNECT_FOUR, evaluator, states, search_config(), num_simulations=50)
    for seed in range(5):
        player = network_player(CONNECT_FOUR, evaluator, num_simulations=50, seed=seed)
        chosen = plain.visit_counts[np.arange(20), player.choose_actions(states)]
        assert (chosen == plain.visit_counts.max(axis=1)).all()


def test_batches_of_any_size_are_searched_alike():
    states = some_positions(TIC_TAC_TOE, 300)
    evaluator = HashEvaluator(TIC_TAC_TOE, 1.5)
    player = network_player(TIC_TAC_TOE, evaluator, num_simulations=10)
    whole = player.search(states)
    for row in (0, 255, 256, 299):
        alone = player.search(states[row : row + 1])
        for found, expected in zip(alone, whole, strict=True):
            assert (found[0] == expected[row]).all()


def test_searches_of_many_nodes_take_fewer_positions_at_once(monkeypatch):
    states = some_positions(TIC_TAC_TOE, 8)
    evaluator = RecordingEvaluator(HashEvaluator(TIC_TAC_TOE, 1.5))
    player = network_player(TIC_TAC_TOE, evaluator, num_simulations=10)
    whole = player.search(states)
    assert {len(batch) for batch in evaluator.batches} == {8}
    evaluator.batches.clear()
    three_rows = 3 * 11 * node_bytes(TIC_TAC_TOE.spec)
    monkeypatch.setattr("alphago.players.budget._MAX_BATCH_BYTES", three_rows)
    parts = player.search(states)
    assert {len(batch) for batch in evaluator.batches} == {3, 2}
    for found, expected in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(found, expected)
    monkeypatch.setattr("alphago.players.budget._MAX_BATCH_BYTES", 1)
    assert len(player.choose_actions(states)) == 8  # one at a time


def test_no_positions_no_actions():
    player = network_player(TIC_TAC_TOE, UniformEvaluator(TIC_TAC_TOE), num_simulations=3)
    assert player.choose_actions(TIC_TAC_TOE.initial_states(0)).shape == (0,)


def test_analysis_is_sorted_and_in_the_movers_view():
    player = network_player(TIC_TAC_TOE, UniformEvaluator(TIC_TAC_TOE), num_simulations=200)
    advice = player.analyse(replay(TIC_TAC_TOE, [0, 1, 3, 4]))[0]
    assert advice[0].move == "6"
    assert advice[0].value == pytest.approx(1.0)
    assert [item.visit_share for item in advice] == sorted(
        (item.visit_share for item in advice), reverse=True
    )
    assert sum(item.visit_share for item in advice) == pytest.approx(1.0)
    assert sum(item.prior for item in advice) == pytest.approx(1.0)
    assert {item.action for item in advice} == {2, 5, 6, 7, 8}
    assert isinstance(player, Advisor)


def test_analysis_puts_first_what_would_be_played():
    player = network_player(CONNECT_FOUR, HashEvaluator(CONNECT_FOUR, 0.5), num_simulations=4)
    states = some_positions(CONNECT_FOUR, 60)
    result = player.search(states)
    most = result.visit_counts == result.visit_counts.max(axis=1, keepdims=True)
    assert (most.sum(axis=1) > 1).sum() > 5  # where the value decides between equal visits
    first = [advice[0].action for advice in player.analyse(states)]
    assert first == player.choose_actions(states).tolist()


def test_analysis_without_a_search_goes_by_priors():
    evaluator = FixedEvaluator([math.log(prior) for prior in PRIORS], 0.0)
    player = network_player(CONNECT_FOUR, evaluator, num_simulations=0)
    advice = player.analyse(CONNECT_FOUR.initial_states(1))[0]
    assert [item.move for item in advice[:3]] == ["4", "5", "3"]
    assert advice[0].prior == pytest.approx(0.5)
    assert advice[0].value is None
    assert advice[0].visit_share == 0.0


def test_finished_games_are_refused():
    player = network_player(TIC_TAC_TOE, UniformEvaluator(TIC_TAC_TOE), num_simulations=5)
    over = replay(TIC_TAC_TOE, [0, 1, 3, 4, 6])
    for method in (player.choose_actions, player.analyse, player.search):
        with pytest.raises(FinishedGameError, match="tic_tac_toe"):
            method(over)


def test_an_unusable_network_is_named_not_played():
    player = network_player(TIC_TAC_TOE, FixedEvaluator([math.nan] * 9, 0.0), num_simulations=0)
    with pytest.raises(EvaluationError):
        player.choose_actions(TIC_TAC_TOE.initial_states(1))
