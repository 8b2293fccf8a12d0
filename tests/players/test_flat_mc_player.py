import math

import numpy as np
import pytest

from alphago.errors import FinishedGameError, PlayerError
from alphago.games import make_game
from alphago.games.notation import parse_moves, replay
from alphago.players import Advisor, make_player
from alphago.players.flat_mc_player import FlatMcPlayer, in_turns, share_out, standard_errors
from tests.games.uniform_play import exact_value
from tests.reference.forced_pass_game import ForcedPassGame

TIC_TAC_TOE = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")


def player(game, num_playouts, seed=0):
    return FlatMcPlayer(game, num_playouts=num_playouts, seed=seed)


def after(game, moves):
    return replay(game, parse_moves(game, moves))


@pytest.mark.parametrize("moves", ["", "4", "0 4", "0 4 8", "4 0 1 7"])
def test_values_are_those_of_exactly_uniform_play(moves):
    """And the standard errors tell how far off they are, 2 of them in about 19 of 20 cases."""
    states = after(TIC_TAC_TOE, moves)
    mover = int(TIC_TAC_TOE.to_play(states)[0])
    estimates = player(TIC_TAC_TOE, 20_000).estimate(states)
    for action in np.flatnonzero(TIC_TAC_TOE.legal_actions(states)[0]):
        exact = exact_value(TIC_TAC_TOE, TIC_TAC_TOE.step(states, [action]), mover)
        error = estimates.standard_errors[0, action]
        assert error < 0.03
        assert abs(estimates.values[0, action] - exact) <= 4.5 * error


def test_standard_errors_are_as_large_as_values_scatter():
    states = TIC_TAC_TOE.initial_states(200)
    estimates = player(TIC_TAC_TOE, 900).estimate(states)
    scatter = estimates.values.std(axis=0)
    assert np.allclose(estimates.standard_errors.mean(axis=0), scatter, rtol=0.2)


def test_standard_errors_by_hand():
    # Ten wins and the two that are made up: mean 10/12, mean of squares 1.
    expected = math.sqrt((1 - (10 / 12) ** 2) / 12)
    counts, results = np.array([10, 10, 4]), np.array([10.0, -10.0, 0.0])
    errors = standard_errors(counts, results, np.array([10.0, 10.0, 0.0]))
    assert errors[:2] == pytest.approx([expected, expected])
    # Four draws: mean 0, mean of squares 2/6.
    assert errors[2] == pytest.approx(math.sqrt(2 / 6 / 6))
    # Many results: the usual standard error of a mean.
    many = standard_errors(np.array([10_000]), np.array([2_000.0]), np.array([10_000.0]))
    assert many[0] == pytest.approx(math.sqrt((1 - 0.2**2) / 10_000), rel=1e-3)


def test_a_move_that_always_won_is_not_known_for_sure_but_one_that_ends_the_game_is():
    states = after(TIC_TAC_TOE, "0 3 1 4")  # 2 wins at once
    (advice,) = player(TIC_TAC_TOE, 50).analyse(states)
    assert advice[0].move == "2"
    assert (advice[0].value, advice[0].standard_error) == (1.0, 0.0)
    # Nine further moves of the same side: nearly all playouts are won, none is certain.
    won = after(CONNECT_FOUR, "4 1 4 1 3 7")
    estimates = player(CONNECT_FOUR, 7).estimate(won)
    assert (estimates.standard_errors[0] > 0.2).all()


@pytest.mark.parametrize(
    ("game", "moves", "best"),
    [
        (TIC_TAC_TOE, "0 3 1 4", "2"),  # wins
        (TIC_TAC_TOE, "0 4 1", "2"),  # blocks
        (CONNECT_FOUR, "4 1 4 1 4 1", "4"),  # wins
    ],
)
def test_finds_wins_and_blocks_of_one_ply(game, moves, best):
    for seed in range(3):
        action = player(game, 2000, seed).choose_actions(after(game, moves))[0]
        assert game.action_to_text(int(action)) == best


def test_playouts_go_to_the_moves_after_which_the_game_goes_on():
    game = ForcedPassGame()
    states, is_over = after_which_some_games_end(game)
    mover = int(game.to_play(states)[0])
    estimates = player(game, 50).estimate(states)
    actions = np.flatnonzero(game.legal_actions(states)[0])
    counts = estimates.num_playouts[0, actions]
    assert not counts[is_over].any()
    assert counts.sum() == 50
    results = game.returns(game.step(states.repeat(is_over.sum()), actions[is_over]))[:, mover]
    assert (estimates.values[0, actions[is_over]] == results).all()
    assert (estimates.standard_errors[0, actions] > 0).tolist() == (~is_over).tolist()


def after_which_some_games_end(game):
    """Returns a position [1] of which some legal actions end the game and some do not."""
    rng = np.random.default_rng(0)
    while True:
        states = game.initial_states(1)
        while not game.is_over(states)[0]:
            actions = np.flatnonzero(game.legal_actions(states)[0])
            is_over = game.is_over(game.step(states.repeat(len(actions)), actions))
            if is_over.any() and not is_over.all():
                return states, is_over
            states = game.step(states, rng.choice(actions, 1))


def test_with_only_moves_that_end_the_game_no_playout_is_needed():
    (advice,) = player(TIC_TAC_TOE, 50).analyse(after(TIC_TAC_TOE, "0 1 2 4 3 5 7 6"))
    assert [(move.move, move.value, move.standard_error) for move in advice] == [("8", 0.0, 0.0)]
    assert (advice[0].visit_share, advice[0].num_visits) == (0.0, 0)


def test_believes_that_the_opponent_answers_at_random():
    """The move that wins most random games loses to the right answer, which UCT sees."""
    states = after(TIC_TAC_TOE, "7 5 3")
    flat = player(TIC_TAC_TOE, 6_000).choose_actions(states)[0]
    uct = make_player("uct:playouts=2000", game=TIC_TAC_TOE).choose_actions(states)[0]
    scores = make_player("minimax", game=TIC_TAC_TOE).action_scores(states)[0]
    assert scores[flat] < 0 <= scores[uct]


def test_playouts_are_shared_out_evenly_over_the_candidates():
    candidates = np.array([[True, False, True, True], [False, True, False, False]])
    rng = np.random.default_rng(0)
    rest = np.zeros(4)
    for _ in range(300):
        counts = share_out(candidates, 8, rng)
        assert counts.sum(axis=1).tolist() == [8, 8]
        assert not counts[~candidates].any()
        assert sorted(counts[0, candidates[0]]) == [2, 3, 3]
        rest += counts[0] == 2
    assert (np.abs(rest[[0, 2, 3]] - 100) < 40).all()  # whose share is smaller is chance


def test_with_fewer_playouts_than_moves_only_moves_tried_are_played():
    who = player(CONNECT_FOUR, 1)
    for _ in range(20):
        (advice,) = who.analyse(CONNECT_FOUR.initial_states(1))
        assert sum(move.num_visits for move in advice) == 1
        assert advice[0].num_visits == 1
        assert {move.value for move in advice[1:]} == {None}
    played = set(player(CONNECT_FOUR, 1).choose_actions(CONNECT_FOUR.initial_states(300)).tolist())
    assert played == set(range(7))


def test_equal_seeds_play_alike_and_equals_are_decided_by_seed():
    states = TIC_TAC_TOE.initial_states(50)
    text = "flat_mc:playouts=9"  # one for each move: many are equal
    first, again, other = (
        make_player(text, game=TIC_TAC_TOE, seed=seed).choose_actions(states) for seed in (1, 1, 2)
    )
    assert (first == again).all()
    assert (first != other).any()
    assert len(set(first.tolist())) > 4


def test_own_eyes_are_left_alone():
    game = make_game("go_5x5:komi=0.5")
    cells = ".X.XO XXXXO XOOOO XO.O. XOOOO".replace(" ", "")
    black, white = ([i for i, mark in enumerate(cells) if mark == who] for who in "XO")
    for mover in range(2):
        (advice,) = player(game, 20).analyse(game.position(black, white, mover))
        assert advice[0].move == "pass"
        assert {move.num_visits for move in advice[1:]} <= {0}


def test_plays_games_with_forced_passes_and_explains_itself():
    game = ForcedPassGame()
    who = player(game, 30)
    assert isinstance(who, Advisor)
    states = game.initial_states(1)
    while not game.is_over(states)[0]:
        (advice,) = who.analyse(states)
        assert [m.value for m in advice] == sorted((m.value for m in advice), reverse=True)
        states = game.step(states, who.choose_actions(states))


def test_many_playouts_are_played_in_parts(monkeypatch):
    monkeypatch.setattr("alphago.players.flat_mc_player._ROWS_AT_ONCE", 10)
    states = CONNECT_FOUR.initial_states(3)
    counts = player(CONNECT_FOUR, 95).estimate(states).num_playouts
    assert (counts.sum(axis=1) == 95).all()


def test_refuses_finished_games_and_no_playouts():
    with pytest.raises(FinishedGameError):
        player(TIC_TAC_TOE, 9).choose_actions(after(TIC_TAC_TOE, "0 1 3 4 6"))
    with pytest.raises(FinishedGameError):
        player(TIC_TAC_TOE, 9).analyse(after(TIC_TAC_TOE, "0 1 3 4 6"))
    with pytest.raises(PlayerError, match="flat_mc: playouts: got 0, allowed"):
        player(TIC_TAC_TOE, 0)


def test_no_positions_no_actions():
    assert player(TIC_TAC_TOE, 3).choose_actions(TIC_TAC_TOE.initial_states(0)).shape == (0,)


def test_playouts_of_moves_take_turns():
    assert in_turns(np.array([2, 3, 1])).tolist() == [0, 1, 2, 0, 1, 1]
    assert in_turns(np.array([0, 2])).tolist() == [1, 1]


def test_whoever_stops_early_has_tried_the_moves_equally_often():
    asked = []
    stopped = player(TIC_TAC_TOE, 1_000_000)
    stopped.should_stop = lambda: len(asked) > 2 or asked.append(None)
    counts, values, errors = stopped.estimate(TIC_TAC_TOE.initial_states(1))
    assert counts.max() - counts.min() <= 1
    assert 1000 < counts.sum() < 10_000
    assert (np.isfinite(values) & (errors > 0)).all()


def test_a_move_that_was_not_reached_has_no_value_and_is_not_played():
    game = make_game("go_25x25")
    stopped = player(game, 10_000)
    stopped.should_stop = lambda: True
    states = after(game, "N13 N14")  # stones touch: all points are candidates
    counts, values, _ = stopped.estimate(states)
    assert (np.isnan(values) == (counts == 0)).all()
    assert counts.max() == 1
    assert 100 < counts.sum() < 600
    assert stopped.choose_actions(states)[0] < 625
