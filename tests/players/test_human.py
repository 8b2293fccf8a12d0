import io
import sys

import pytest

from alphago.games import make_game
from alphago.games.notation import parse_moves, replay
from alphago.players import HumanPlayer, HumanQuit, MoveAdvice, UndoRequested
from alphago.players.human import HINT_LEGEND

GAME = make_game("connect_four")


class Advisor:
    def analyse(self, states):
        return [[MoveAdvice(3, "4", 0.75, 0.5, 0.4), MoveAdvice(0, "1", 0.0, None, 0.1)]]


def ask(text, *, moves="", advisor=None, can_undo=False):
    """Lets a person answer with these lines; returns the action and everything on the screen."""
    screen = io.StringIO()
    human = HumanPlayer(GAME, lines=io.StringIO(text), screen=screen)
    human.advisor = advisor
    human.can_undo = can_undo
    action = human.choose_actions(replay(GAME, parse_moves(GAME, moves)))
    return action.tolist(), screen.getvalue()


def test_shows_board_and_moves_and_plays_the_answer():
    actions, screen = ask("4\n", moves="1 2")
    assert actions == [3]
    assert "X O . . . . ." in screen
    assert "Your move (1 2 3 4 5 6 7, ? for help): " in screen


@pytest.mark.parametrize("wrong", ["x", "99", "0", "8", "-1", "3.5", "4 4", "é", "\t#"])
def test_asks_again_after_what_is_no_move(wrong):
    actions, screen = ask(f"{wrong}\n4\n")
    assert actions == [3]
    assert screen.count("Your move") == 2
    assert "allowed: 1 2 3 4 5 6 7" in screen


def test_asks_again_after_an_illegal_move_and_lists_only_legal_ones():
    actions, screen = ask("1\n 2 \n", moves="1 1 1 1 1 1")
    assert actions == [1]
    assert "1 is not legal here, allowed: 2 3 4 5 6 7" in screen


@pytest.mark.parametrize("answer", ["", "?", "help"])
def test_help_lists_the_commands(answer):
    actions, screen = ask(f"{answer}\n4\n")
    assert actions == [3]
    assert "undo" in screen
    assert "quit" in screen


@pytest.mark.parametrize("answer", ["q\n", "quit\n", "", "x\n"])
def test_leaving_and_the_end_of_the_input_are_no_errors(answer):
    with pytest.raises(HumanQuit) as caught:
        ask(answer)
    assert not isinstance(caught.value, ValueError)


def test_hint_shows_the_advisors_moves():
    _, screen = ask("hint\n4\n", advisor=Advisor())
    lines = [line.split() for line in screen.splitlines()]
    assert ["4", "75.0%", "+0.50", "40.0%"] in lines
    assert ["1", "0.0%", "-", "10.0%"] in lines
    heading = lines.index(["move", "visits", "value", "prior"])
    assert screen.splitlines()[heading - 1].endswith(HINT_LEGEND)


def test_hint_without_an_advisor_says_so():
    assert "Nobody here gives hints; networks and the classical players do." in ask("hint\n4\n")[1]


def test_help_offers_hints_only_where_there_are_any():
    assert "hint" in ask("help\n4\n", advisor=Advisor())[1]
    assert "hint" not in ask("help\n4\n")[1]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_person_at_a_terminal_can_edit_the_line(monkeypatch):
    prompts = []
    answers = iter(["x", "4"])

    def edited(prompt):
        prompts.append(prompt)
        answer = next(answers, None)
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.setattr("builtins.input", edited)
    monkeypatch.setattr("sys.stdin", Terminal())
    human = HumanPlayer(GAME, lines=sys.stdin, screen=sys.stdout)
    assert human.choose_actions(GAME.initial_states(1)).tolist() == [3]
    assert prompts == ["Your move (1 2 3 4 5 6 7, ? for help): "] * 2
    with pytest.raises(HumanQuit, match="input ended"):
        human.choose_actions(GAME.initial_states(1))
    elsewhere = HumanPlayer(GAME, lines=sys.stdin, screen=io.StringIO())
    with pytest.raises(HumanQuit):
        elsewhere.choose_actions(GAME.initial_states(1))
    assert len(prompts) == 3  # only where the prompt is on the same terminal


def test_undo_is_passed_on_where_it_is_possible():
    assert "cannot be taken back" in ask("undo\n4\n")[1]
    with pytest.raises(UndoRequested):
        ask("undo\n4\n", can_undo=True)


def test_bytes_that_are_no_text_are_no_traceback():
    lines = io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n4\n"), encoding="utf-8")
    screen = io.StringIO()
    with pytest.raises(HumanQuit):  # Python drops what it read together with the bad bytes
        HumanPlayer(GAME, lines=lines, screen=screen).choose_actions(GAME.initial_states(1))
    assert "no text" in screen.getvalue()


def test_long_lists_of_moves_are_cut():
    game = make_game("connect_four")
    game.legal_actions = lambda states: [[True] * 20]
    game.action_to_text = lambda action: f"m{action}"
    screen = io.StringIO()
    with pytest.raises(HumanQuit):
        human = HumanPlayer(game, lines=io.StringIO("q\n"), screen=screen)
        human._ask(game.initial_states(1))
    assert "such as m0 or m19" in screen.getvalue()
