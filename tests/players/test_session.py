import io

import numpy as np
import pytest

from alphago.errors import IllegalActionError
from alphago.games import make_game
from alphago.players import HumanPlayer, HumanQuit, MoveAdvice, make_player, play_game

GAME = make_game("connect_four")


class Scripted:
    """Plays a list of moves, whatever the position; explains itself."""

    name = "script"

    def __init__(self, *actions):
        self.actions = list(actions)

    def choose_actions(self, states):
        return np.array([self.actions.pop(0)])

    def analyse(self, states):
        return [[MoveAdvice(5, "6", 1.0, 0.25, 0.5)]]


def sit_down(text):
    screen = io.StringIO()
    return HumanPlayer(GAME, lines=io.StringIO(text), screen=screen), screen


def test_a_game_to_its_end_is_told():
    told = []
    players = (Scripted(0, 0, 0, 0), Scripted(1, 1, 1))
    assert play_game(GAME, players, tell=told.append) == [0, 1, 0, 1, 0, 1, 0]
    assert told[0] == "script: 1"
    assert told[-1] == "result: script won, moving first"


def test_who_moved_second_can_win():
    told = []
    play_game(GAME, (Scripted(1, 1, 1, 2), Scripted(0, 0, 0, 0)), tell=told.append)
    assert told[-1] == "result: script won, moving second"


def test_the_end_of_a_game_that_began_elsewhere():
    told = []
    play_game(GAME, (Scripted(0), Scripted()), tell=told.append, actions=[0, 1, 0, 1, 0, 1])
    assert told[-1] == "result: script won, moving first"
    with pytest.raises(IllegalActionError, match="ply 7"):
        play_game(GAME, (Scripted(), Scripted()), tell=told.append, actions=[0] * 7)


def test_a_draw_is_told():
    game = make_game("tic_tac_toe")
    told = []
    play_game(game, (Scripted(0, 2, 3, 7, 8), Scripted(1, 4, 6, 5)), tell=told.append)
    assert told[-1] == "result: a draw"


def test_bad_input_never_ends_a_game():
    human, screen = sit_down("x\n\n99\n0\n4\n4 4\nq\n")
    opponent = make_player("alphabeta:depth=1", game=GAME, seed=0)
    told = []
    with pytest.raises(HumanQuit):
        play_game(GAME, (human, opponent), tell=told.append)
    assert told[0] == "human: 4"
    assert len(told) == 2  # the move and the answer to it
    assert screen.getvalue().count("Your move") == 7


def test_a_person_can_move_second():
    human, screen = sit_down("4\n")
    with pytest.raises(HumanQuit):
        play_game(GAME, (Scripted(3, 3), human), tell=lambda text: None)
    assert "O" in screen.getvalue()


def test_undo_goes_back_to_ones_own_last_move():
    human, _ = sit_down("1\nundo\n7\n7\n7\n7\n")
    actions = play_game(GAME, (human, Scripted(1, 2, 2, 2)), tell=lambda text: None)
    assert actions == [6, 2, 6, 2, 6, 2, 6]


def test_undo_before_ones_first_move_is_refused():
    human, _ = sit_down("undo\nq\n")
    told = []
    with pytest.raises(HumanQuit):
        play_game(GAME, (Scripted(3), human), tell=told.append)
    assert told == ["script: 4", "There is no move of yours to take back."]


def test_an_opponent_that_gives_no_hints_is_named():
    human, screen = sit_down("hint\nq\n")
    other, _ = sit_down("")
    with pytest.raises(HumanQuit):
        play_game(GAME, (human, other), tell=lambda text: None)
    assert "human gives no hints; networks and the classical players do." in screen.getvalue()


def test_hints_come_from_an_opponent_that_can_explain_itself():
    human, screen = sit_down("hint\nq\n")
    with pytest.raises(HumanQuit):
        play_game(GAME, (human, Scripted()), tell=lambda text: None)
    assert "+0.25" in screen.getvalue()


def test_points_are_told_and_who_moves_first_in_a_handicap_game():
    # Two black stones are all there is, so Black owns the 49 points; White moves first.
    game = make_game("go_7x7:handicap=2,handicap_bonus=0,komi=0.5")
    end = game.spec.pass_action
    told = []
    white = Scripted(end)
    white.name = "white"
    black = Scripted(end)
    black.name = "black"
    play_game(game, (black, white), tell=told.append)
    assert told[:2] == ["white: pass", "black: pass"]
    assert told[-1] == "result: black won by 48.5 points, moving second"


def test_a_game_at_its_cap_on_moves_is_told_to_be_cut_off():
    game = make_game("go_5x5:komi=24,max_moves=1")
    told = []
    play_game(game, (Scripted(12), Scripted()), tell=told.append)
    assert told[-1] == "result: script won by 1 point, moving first, cut off by the cap on moves"
