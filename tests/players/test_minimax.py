import json
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import PlayerError
from alphago.games import make_game
from alphago.games.notation import parse_moves, replay
from alphago.games.random_play import random_actions
from alphago.players.minimax import MinimaxPlayer
from alphago.players.scores import WIN
from tests.reference.forced_pass_game import ForcedPassGame, position_of, solve

TIC_TAC_TOE = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")
SMALL_SUITE = Path(__file__).parents[1] / "data" / "connect_four_small.json"


def test_tic_tac_toe_is_a_draw_with_any_first_move():
    scores = MinimaxPlayer(TIC_TAC_TOE, seed=0).action_scores(TIC_TAC_TOE.initial_states(1))
    assert scores.tolist() == [[0] * 9]


def test_scores_tell_how_soon_a_game_is_won_or_lost():
    # X O .
    # X O .   X to move: 6 wins at once, 7 draws or better, anything else loses to O on 7.
    # . . .
    scores = MinimaxPlayer(TIC_TAC_TOE, seed=0).action_scores(replay(TIC_TAC_TOE, [0, 1, 3, 4]))
    assert scores[0, 6] == WIN - 1
    assert scores[0, 2] == scores[0, 5] == scores[0, 8] == 2 - WIN
    assert (scores[0, [0, 1, 3, 4]] == -WIN).all()  # taken


def test_prefers_the_faster_win():
    # X O .      4 makes two threats (8 and 6) and wins in 3 plies; 6 wins at once.
    # X . O
    # . . .
    player = MinimaxPlayer(TIC_TAC_TOE, seed=0)
    state = replay(TIC_TAC_TOE, [0, 1, 3, 5])
    scores = player.action_scores(state)
    assert (scores[0, 6], scores[0, 4]) == (WIN - 1, WIN - 3)
    assert player.choose_actions(state).tolist() == [6]


def test_loses_as_late_as_possible():
    # X O .      O to move: after 8, X makes two threats and wins in 4 plies; after anything else
    # . X .      X wins on 8 at once.
    # . . .
    player = MinimaxPlayer(TIC_TAC_TOE, seed=0)
    state = replay(TIC_TAC_TOE, [0, 1, 4])
    scores = player.action_scores(state)[0]
    assert scores[8] == 4 - WIN
    assert (scores[[2, 3, 5, 6, 7]] == 2 - WIN).all()
    assert player.choose_actions(state).tolist() == [8]


def test_advice_is_the_exact_result_of_each_move():
    (advice,) = MinimaxPlayer(TIC_TAC_TOE, seed=0).analyse(replay(TIC_TAC_TOE, [0, 1, 3, 4]))
    assert [move.move for move in advice] == ["6", "7", "2", "5", "8"]
    values = [move.value for move in advice]
    assert 1 > values[0] > 0.999
    assert values[1] == 0
    assert values[2:] == [-values[0] + 1 / WIN] * 3
    assert [move.plies_to_end for move in advice] == [1, None, 2, 2, 2]
    assert {(move.visit_share, move.prior, move.depth) for move in advice} == {(0.0, 0.0, None)}


def test_equal_moves_are_drawn_by_seed():
    states = TIC_TAC_TOE.initial_states(900)
    actions = MinimaxPlayer(TIC_TAC_TOE, seed=5).choose_actions(states)
    again = MinimaxPlayer(TIC_TAC_TOE, seed=5).choose_actions(states)
    assert (actions == again).all()
    # 100 expected, standard deviation 9.4.
    assert (np.abs(np.bincount(actions, minlength=9) - 100) < 50).all()


def test_agrees_with_a_plain_solver_where_a_player_passes_or_moves_twice():
    game = ForcedPassGame()
    player = MinimaxPlayer(game, seed=0)
    rng = np.random.default_rng(7)
    num_same_mover = 0
    for _ in range(40):
        states = replay(game, random_actions(game, rng, num_moves=int(rng.integers(0, 5))))
        mover = int(game.to_play(states)[0])
        scores = player.action_scores(states)[0]
        for action in np.flatnonzero(game.legal_actions(states)[0]):
            after = game.step(states, [action])
            expected = solve(position_of(after[0]), mover)
            assert np.sign(scores[action]) == expected
            num_same_mover += game.to_play(after)[0] == mover and not game.is_over(after)[0]
    assert num_same_mover > 10


def test_agrees_with_solved_endgames_of_connect_four():
    positions = json.loads(SMALL_SUITE.read_text())["positions"]
    late = [position for position in positions if len(position["moves"]) >= 27]
    assert len(late) >= 4
    player = MinimaxPlayer(CONNECT_FOUR, seed=0)
    for position in late:
        state = replay(CONNECT_FOUR, parse_moves(CONNECT_FOUR, position["moves"]))
        scores = player.action_scores(state)[0]
        value = np.sign(scores.max())
        legal = CONNECT_FOUR.legal_actions(state)[0]
        keeping = np.flatnonzero((np.sign(scores) == value) & legal)
        assert [str(action + 1) for action in keeping] == position["best"]


def test_refuses_a_game_that_is_too_large_and_says_what_else_there_is():
    with pytest.raises(PlayerError, match=r"100000 positions of connect_four.*uct:playouts"):
        MinimaxPlayer(CONNECT_FOUR, seed=0).choose_actions(CONNECT_FOUR.initial_states(1))


@pytest.mark.parametrize("name", ["go_5x5", "go_9x9", "go_19x19"])
def test_refuses_go_before_its_large_states_fill_the_memory(name, monkeypatch):
    game = make_game(name)
    play, num_bytes = game.play, []

    def counting_play(states, actions, rows):
        num_bytes.append(states.nbytes)
        play(states, actions, rows)

    monkeypatch.setattr(game, "play", counting_play)
    with pytest.raises(PlayerError, match=f"256 MB of positions of {name}.*uct:playouts"):
        MinimaxPlayer(game, seed=0).choose_actions(game.initial_states(1))
    assert 0 < max(num_bytes) <= 2**28


def test_plays_go_where_it_is_small_enough():
    # One point: suicide is forbidden, so both can only pass, and White wins by komi.
    game = make_game("go_1x1")
    scores = MinimaxPlayer(game, seed=0).action_scores(game.initial_states(1))
    assert scores.tolist() == [[-WIN, 2 - WIN]]


def test_the_limit_counts_unfinished_positions():
    start = TIC_TAC_TOE.initial_states(1)
    # 5,478 positions can occur, 958 of them are over.
    MinimaxPlayer(TIC_TAC_TOE, seed=0, max_positions=4520).choose_actions(start)
    with pytest.raises(PlayerError, match="more than 4519"):
        MinimaxPlayer(TIC_TAC_TOE, seed=0, max_positions=4519).choose_actions(start)
