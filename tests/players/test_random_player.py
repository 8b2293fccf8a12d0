import numpy as np
import pytest

from alphago.errors import FinishedGameError, StateError
from alphago.games import make_game
from alphago.games.notation import parse_moves, replay
from alphago.players import KINDS, make_player

GAME = make_game("connect_four")


def test_every_legal_move_is_equally_likely_and_no_other_is_played():
    states = np.repeat(replay(GAME, parse_moves(GAME, "1 1 1 1 1 1")), 6000)
    actions = make_player("random", game=GAME, seed=1).choose_actions(states)
    counts = np.bincount(actions, minlength=7)
    assert counts[0] == 0
    # 1000 expected, standard deviation 29.
    assert (np.abs(counts[1:] - 1000) < 150).all()


def test_equal_seeds_play_alike_and_others_do_not():
    states = GAME.initial_states(50)
    first, same, other = (
        make_player("random", game=GAME, seed=seed).choose_actions(states) for seed in (3, 3, 4)
    )
    assert (first == same).all()
    assert (first != other).any()


def test_actions_are_int64_even_of_no_position():
    player = make_player("random", game=GAME)
    for num_games in (0, 1, 3):
        actions = player.choose_actions(GAME.initial_states(num_games))
        assert actions.dtype == np.int64
        assert actions.shape == (num_games,)


@pytest.mark.parametrize("text", KINDS)
def test_no_player_takes_the_states_of_another_game(text):
    other = make_game("tic_tac_toe")
    with pytest.raises(StateError, match="connect_four: got states of shape"):
        make_player(text, game=GAME).choose_actions(other.initial_states(1))


@pytest.mark.parametrize("text", KINDS)
def test_no_player_moves_in_a_finished_game(text):
    states = np.concatenate(
        [GAME.initial_states(1), replay(GAME, parse_moves(GAME, "1 2 1 2 1 2 1"))]
    )
    with pytest.raises(FinishedGameError, match="row 1 is over"):
        make_player(text, game=GAME).choose_actions(states)


def test_tells_how_likely_each_move_is():
    states = replay(GAME, parse_moves(GAME, "1 1 1 1 1 1"))
    (advice,) = make_player("random", game=GAME).analyse(states)
    assert [move.move for move in advice] == list("234567")
    assert {move.prior for move in advice} == {1 / 6}
    assert {(move.visit_share, move.value) for move in advice} == {(0.0, None)}
