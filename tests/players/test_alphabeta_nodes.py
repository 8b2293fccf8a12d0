"""The alpha-beta player where its number of positions ends the search, as it does in Go."""

import numpy as np
import pytest

from alphago.games import make_game
from alphago.games.notation import parse_moves, replay
from alphago.games.random_play import random_states
from alphago.players import alphabeta as alphabeta_module
from alphago.players import make_player
from alphago.players.alphabeta import AlphaBetaPlayer, RootScores
from alphago.players.negamax import Negamax
from alphago.players.scores import WIN, ScoredMove, score_value
from alphago.players.text import DEFAULT_NODES
from alphago.players.transposition_table import TranspositionTable
from tests.reference.plain_minimax import plain_action_scores

CONNECT_FOUR = make_game("connect_four")


def alphabeta(game, depth, *, num_nodes=1_000_000, seed=0):
    return AlphaBetaPlayer(game, depth=depth, num_nodes=num_nodes, name="alphabeta", seed=seed)


def scores_of(found):
    return {move.action: move.score for move in found.moves}


def positions_of(game, num_positions):
    states = random_states(game, np.random.default_rng(8), num_rows=num_positions, most_moves=10)
    return np.split(states, num_positions)


def finished(found):
    """Returns the moves that were looked at as deep as any."""
    return [move for move in found.moves if move.depth == found.depth]


@pytest.fixture
def searches(monkeypatch):
    """Returns the list of all searches that players begin from now on."""
    begun = []

    class Watched(Negamax):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            begun.append(self)

    monkeypatch.setattr(alphabeta_module, "Negamax", Watched)
    return begun


@pytest.mark.parametrize("num_nodes", [1, 7, 50, 100, 400, 2000])
def test_keeps_all_moves_that_it_has_finished_when_nodes_run_out(num_nodes, searches):
    for state in positions_of(CONNECT_FOUR, 10):
        found = alphabeta(CONNECT_FOUR, 42, num_nodes=num_nodes).search(state)
        if found.is_proven:
            continue
        assert searches[-1].num_positions < num_nodes + 7 * 7  # the last batch may be made whole
        unlimited = alphabeta(CONNECT_FOUR, found.depth).search(state)
        if len(finished(found)) == len(found.moves):
            assert found == unlimited
            continue
        assert len(finished(found)) > 1
        before = alphabeta(CONNECT_FOUR, found.depth - 1).search(state)
        for move, last, new in zip(found.moves, before.moves, unlimited.moves, strict=True):
            assert move in (last, new) or (move.depth == found.depth and move.score >= new.score)
        scores = plain_action_scores(CONNECT_FOUR, state, found.depth) if found.depth < 5 else {}
        for move in finished(found):
            assert not scores or not move.is_exact or move.score == scores[move.action]


def test_of_an_unfinished_depth_the_finished_moves_come_first_unless_they_lose():
    deep, shallow = ScoredMove(0, 10, 4), [ScoredMove(1, 30, 3), ScoredMove(2, 20, 3)]
    assert RootScores([deep, *shallow], 4, is_proven=False).best_actions() == [0]
    lost = deep._replace(score=6 - WIN)
    root = RootScores([lost, *shallow, lost._replace(action=3, score=4 - WIN)], 4, is_proven=False)
    assert [move.action for move in root.best_first()] == [1, 2, 0, 3]
    assert root.best_actions() == [1]
    assert RootScores([lost, lost._replace(action=5)], 4, is_proven=False).best_actions() == [0, 5]


def test_default_nodes_reach_three_plies_on_9x9_and_part_of_the_fourth(searches):
    game = make_game("go_9x9")
    num_unfinished = 0
    for moves in ("", "E5 C3", "E5 C3 G7 F3 C6 D7", "C3 G7 G3 C7 E5 D6 F6 E7"):
        state = replay(game, parse_moves(game, moves))
        found = make_player("alphabeta", game=game).search(state)
        assert searches[-1].num_positions < DEFAULT_NODES + 256
        assert found.depth == 3 or 1 < len(finished(found)) < len(found.moves)
        assert {move.depth for move in found.moves} <= {3, 4}
        third = alphabeta(game, 3, num_nodes=DEFAULT_NODES).search(state)
        assert len(finished(third)) == len(third.moves)
        num_unfinished += found != third
    assert num_unfinished > 0


def test_depths_that_nodes_cut_are_one_player_and_smaller_ones_others():
    game = make_game("go_9x9")
    states = random_states(game, np.random.default_rng(1), num_rows=3, most_moves=20)
    played = [
        alphabeta(game, depth, num_nodes=10_000, seed=3).choose_actions(states).tolist()
        for depth in (1, 2, 5, 6)
    ]
    assert played[2] == played[3]
    assert played[0] != played[1] != played[2]


def test_a_full_table_changes_no_move(monkeypatch):
    class SmallTable(TranspositionTable):
        def __init__(self, state_bytes):
            super().__init__(state_bytes, max_bytes=100 * (state_bytes + 300))
            tables.append(self)

    states = random_states(CONNECT_FOUR, np.random.default_rng(4), num_rows=5, most_moves=12)
    expected = [alphabeta(CONNECT_FOUR, 6).search(states[row : row + 1]) for row in range(5)]
    tables = []
    monkeypatch.setattr(alphabeta_module, "TranspositionTable", SmallTable)
    for row, large in enumerate(expected):
        found = alphabeta(CONNECT_FOUR, 6).search(states[row : row + 1])
        assert found.best_actions() == large.best_actions()
        assert max(scores_of(found).values()) == max(scores_of(large).values())
    assert max(len(table) for table in tables) == 100


def test_advice_on_9x9_starts_with_what_would_be_played(searches):
    game = make_game("go_9x9")
    player = make_player("alphabeta", game=game)
    depths = set()
    for moves in ("", "C3 G7 G3 C7 E5 D6 F6 E7"):
        state = replay(game, parse_moves(game, moves))
        (advice,) = player.analyse(state)
        assert searches[-1].num_positions < DEFAULT_NODES + 256
        found = player.search(state)
        assert advice[0].action in found.best_actions()
        assert not advice[0].is_bound
        assert {move.action: move.depth for move in advice} == {
            move.action: move.depth for move in found.moves
        }
        equal = [move for move in advice if move.depth == found.depth]
        assert advice[: len(equal)] == equal
        assert sum(not move.is_bound for move in advice) > len(found.best_actions())
        depths.add(found.depth)
    assert 3 in depths


def test_where_nodes_run_out_advice_has_bounds():
    game = make_game("go_5x5")
    is_bound = set()
    for state in positions_of(game, 4):
        (advice,) = alphabeta(game, 3, num_nodes=2500).analyse(state)
        for depth in {move.depth for move in advice}:
            exact = scores_of(alphabeta(game, depth).search(state, score_others=True))
            equal = [move for move in advice if move.depth == depth]
            for move in equal:
                value = score_value(exact[move.action])
                assert move.value >= value if move.is_bound else move.value == value
            is_bound |= {move.is_bound for move in equal}
    assert is_bound == {False, True}
