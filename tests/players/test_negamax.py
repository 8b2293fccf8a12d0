"""Alpha-beta from inside: windows, the table, and the bookkeeping of what is proven."""

import numpy as np
import pytest

from alphago.games import make_game
from alphago.games.notation import replay
from alphago.games.random_play import random_actions
from alphago.players import negamax as negamax_module
from alphago.players.negamax import INFINITE, Negamax, OutOfPositionsError, best_first
from alphago.players.scores import (
    LARGEST_GUESS,
    WIN,
    further,
    further_score,
    is_decided,
    is_lost,
    nearer_score,
    plies_to_end,
    score_value,
)
from alphago.players.transposition_table import TranspositionTable
from tests.reference.forced_pass_game import ForcedPassGame, position_of, solve
from tests.reference.plain_minimax import plain_scores

TIC_TAC_TOE = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")
GAMES = [TIC_TAC_TOE, CONNECT_FOUR, make_game("go_3x3"), ForcedPassGame()]
WIDE = {"alpha": -INFINITE, "beta": INFINITE}


def name_of(game):
    return game.spec.name


def negamax(game, *, max_bytes=1 << 24, max_positions=10**9):
    table = TranspositionTable(game.spec.state_dtype.itemsize, max_bytes=max_bytes)
    return Negamax(game, max_positions=max_positions, table=table)


def positions(game, rng, num_positions):
    for _ in range(num_positions):
        yield replay(game, random_actions(game, rng, num_moves=int(rng.integers(0, 10))))


@pytest.mark.parametrize("game", GAMES, ids=name_of)
@pytest.mark.parametrize("max_bytes", [0, 2000, 1 << 24])
def test_the_table_changes_no_score(game, max_bytes):
    rng = np.random.default_rng(1)
    for state in positions(game, rng, 5):
        search = negamax(game, max_bytes=max_bytes)
        for depth in (1, 2, 3, 4):
            expected = int(plain_scores(game, state, depth)[0])
            assert search.search(state, depth=depth, **WIDE).score == expected


@pytest.mark.parametrize("game", GAMES, ids=name_of)
def test_outside_of_the_window_the_score_is_a_bound_on_the_same_side(game):
    rng = np.random.default_rng(2)
    for state in positions(game, rng, 6):
        score = int(plain_scores(game, state, 3)[0])
        search = negamax(game)  # with what earlier windows have left in the table
        for low in (-WIN, score - 1000, score - 1, score, score + 1, score + 1000):
            high = low + int(rng.integers(1, 2000))
            found = search.search(state, depth=3, alpha=low, beta=high).score
            if score <= low:
                assert score <= found <= low
            elif score >= high:
                assert high <= found <= score
            else:
                assert found == score


def test_the_table_saves_positions():
    state = TIC_TAC_TOE.initial_states(1)
    counts = []
    for max_bytes in (0, 1 << 24):
        search = negamax(TIC_TAC_TOE, max_bytes=max_bytes)
        assert search.search(state, depth=9, **WIDE) == (0, True)
        counts.append(search.num_positions)
    assert counts[1] < 0.6 * counts[0]


@pytest.mark.parametrize("batch_size", [1, 20, 10_000])
def test_the_size_of_batches_changes_no_score(batch_size, monkeypatch):
    monkeypatch.setattr(negamax_module, "BATCH_SIZE", batch_size)
    for game in GAMES:
        for state in positions(game, np.random.default_rng(3), 3):
            expected = int(plain_scores(game, state, 3)[0])
            assert negamax(game).search(state, depth=3, **WIDE).score == expected


@pytest.mark.parametrize("game", [TIC_TAC_TOE, ForcedPassGame()], ids=name_of)
def test_what_is_proven_holds_to_the_end_of_the_game(game):
    rng = np.random.default_rng(4)
    num_proven = {-1: 0, 0: 0, 1: 0}
    for state in positions(game, rng, 30):
        end = int(plain_scores(game, state, game.spec.max_moves)[0])
        search = negamax(game)
        for depth in range(1, 8):
            found = search.search(state, depth=depth, **WIDE)
            assert found.is_proven or depth < game.spec.max_moves
            if found.is_proven:
                assert found.score == end
                num_proven[int(np.sign(end))] += 1
            else:
                assert not is_decided(found.score)
    assert num_proven[1] > 1
    assert num_proven[-1] > 1
    assert num_proven[0] > 1 or isinstance(game, ForcedPassGame)  # which is hardly ever drawn


def test_a_side_that_moves_twice_keeps_its_sign():
    game = ForcedPassGame()
    for state in positions(game, np.random.default_rng(5), 30):
        found = negamax(game).search(state, depth=game.spec.max_moves, **WIDE)
        assert found.is_proven
        position = position_of(state[0])
        assert np.sign(found.score) == solve(position, position.to_play)


def test_positions_are_bounded():
    state = CONNECT_FOUR.initial_states(1)
    search = negamax(CONNECT_FOUR, max_positions=500)
    with pytest.raises(OutOfPositionsError):
        search.search(state, depth=8, **WIDE)
    assert 500 <= search.num_positions < 500 + 7 * 7


def test_children_are_searched_best_first():
    guesses = np.array([3, -1, 9, 3])
    assert best_first(guesses, None) == [2, 0, 3, 1]
    assert best_first(guesses, 3) == [3, 2, 0, 1]


# --- scores ---


def test_only_wins_and_losses_move_away():
    scores = np.array([WIN - 1, 5 - WIN, 0, LARGEST_GUESS, -LARGEST_GUESS, 1, -1])
    expected = [WIN - 2, 6 - WIN, 0, LARGEST_GUESS, -LARGEST_GUESS, 1, -1]
    assert further(scores).tolist() == expected
    assert [further_score(score) for score in scores.tolist()] == expected


def test_a_bound_for_a_child_stands_for_the_one_of_its_parent():
    scores = [WIN - 3, WIN - 2, 2 - WIN, 3 - WIN, 0, 1, LARGEST_GUESS, -LARGEST_GUESS]
    for bound in [*scores, INFINITE, -INFINITE, -LARGEST_GUESS - 1]:
        for score in scores:
            assert (score > nearer_score(bound)) == (further_score(score) > bound)
            assert (score < nearer_score(bound)) == (further_score(score) < bound)


def test_scores_as_values():
    assert score_value(WIN - 1) == 1 - 1 / WIN
    assert score_value(1 - WIN) == 1 / WIN - 1
    assert score_value(0) == 0.0
    assert score_value(LARGEST_GUESS // 2) == 0.5


def test_scores_tell_who_wins_and_when():
    scores = [WIN - 3, 4 - WIN, 0, LARGEST_GUESS, -LARGEST_GUESS]
    assert [plies_to_end(score) for score in scores] == [3, 4, None, None, None]
    assert [is_lost(score) for score in scores] == [False, True, False, False, False]
