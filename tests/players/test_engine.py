import io
import shlex
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from alphago.errors import FinishedGameError, PlayerError
from alphago.games import make_game
from alphago.games.go.game import Go
from alphago.games.go.rules import RULE_SETS
from alphago.games.notation import format_moves, parse_moves, replay
from alphago.players import HumanPlayer, make_player, play_game
from alphago.players.engine import EngineSettings
from alphago.players.game_follower import Forfeit, GameFollower, GameSoFar
from alphago.players.random_player import RandomPlayer

FAKE = Path(__file__).parents[1] / "reference" / "fake_gtp_engine.py"
GO = Go(height=5, width=5, rules=RULE_SETS["chinese"])


@pytest.fixture
def engine(tmp_path):
    """Makes players of the fake engine, and a log of what all their programs were told."""
    players = []

    def make(*arguments, game=GO, num_processes=1, timeout_s=60.0):
        command = [sys.executable, str(FAKE), f"--log={tmp_path / 'log'}", *arguments]
        player = make_player(
            f"gtp:{shlex.join(command)}",
            game=game,
            engines=EngineSettings(timeout_s=timeout_s, num_processes=num_processes),
        )
        players.append(player)
        return player

    yield make
    for player in players:
        player.close()
    assert psutil.Process().children(recursive=True) == []


@pytest.fixture
def told(tmp_path):
    """Returns the commands since the last call, without their numbers."""
    seen = 0

    def read():
        nonlocal seen
        lines = (tmp_path / "log").read_text().splitlines()
        seen, new = len(lines), lines[seen:]
        return [line.partition(" ")[2] for line in new]

    return read


def so_far(moves, *, number=0, game=GO):
    actions = parse_moves(game, moves)
    return GameSoFar(number, actions, replay(game, actions))


def test_set_up_and_then_only_new_moves(engine, told):
    player = engine("--unknown=kata-set-rules,kgs-rules")
    assert isinstance(player, GameFollower)
    (action,) = player.choose_in_games([so_far("C3 pass")])
    assert GO.action_to_text(action) == "A1"
    assert told() == [
        "list_commands",
        "boardsize 5",
        "komi 7.5",
        "clear_board",
        "play b C3",
        "play w pass",
        "genmove b",
    ]
    player.choose_in_games([so_far("C3 pass A1 C4")])
    assert told() == ["play w C4", "genmove b"]


def test_moves_that_differ_and_other_games_start_anew(engine, told):
    player = engine()
    player.choose_in_games([so_far("C3")])
    told()
    player.choose_in_games([so_far("C4")])
    assert told() == ["clear_board", "play b C4", "genmove w"]
    player.choose_in_games([so_far("", number=7)])
    assert told() == ["clear_board", "genmove b"]


@pytest.mark.parametrize(
    ("rules", "unknown", "expected"),
    [
        (
            "aga",
            "",
            'kata-set-rules {"hasButton":false,"ko":"SITUATIONAL","scoring":"AREA",'
            '"suicide":false,"tax":"NONE","whiteHandicapBonus":"N-1"}',
        ),
        ("japanese", "kata-set-rules", "kgs-rules japanese"),
        ("tromp_taylor", "kata-set-rules", None),
    ],
)
def test_rules_are_told_to_those_who_listen(engine, told, rules, unknown, expected):
    game = make_game(f"go_5x5:rules={rules},komi=5")
    player = engine(f"--unknown={unknown}", game=game)
    player.choose_in_games([so_far("", game=game)])
    commands = told()
    assert [command for command in commands if "rules" in command] == [expected] * bool(expected)
    assert "komi 5" in commands


def test_rectangles_and_handicap_stones(engine, told):
    game = make_game("go_9x7:handicap=2")
    player = engine("--unknown=kata-set-rules", game=game)
    player.choose_in_games([so_far("E4", game=game)])
    commands = told()
    assert "rectangular_boardsize 9 7" in commands
    assert commands[-3:] == ["set_free_handicap G5 C3", "play w E4", "genmove b"]
    plain = engine("--unknown=set_free_handicap", game=game)
    plain.choose_in_games([so_far("E4", game=game)])
    assert told()[-4:] == ["play b G5", "play b C3", "play w E4", "genmove b"]


def test_a_few_games_keep_a_program_each_and_many_share_them(engine, told):
    player = engine(num_processes=2)
    games = [so_far("C3", number=number) for number in (3, 8)]
    player.choose_in_games(games[:1])
    player.choose_in_games(games[1:])
    assert told().count("list_commands") == 2
    later = [so_far("C3 A1 C4", number=number) for number in (8, 3)]
    player.choose_in_games(later)
    assert sorted(told()) == ["genmove w"] * 2 + ["play b C4"] * 2
    many = [so_far("C3 A1 C4 B1 C5", number=number) for number in range(10)]
    assert len(player.choose_in_games(many)) == 10
    assert told().count("clear_board") == 8  # games 3 and 8 are where they were


@pytest.mark.parametrize(
    ("flaw", "kind", "words"),
    [
        ("crash:1", "crash", "about to crash"),
        ("hang:1", "timeout", "within 0.2 s"),
        ("illegal:1", "illegal move", "played C3, which is illegal here"),
        ("unreadable:1", "illegal move", "'somewhere'"),
        ("refuse-play", "refusal", "move 1: refuses 'play b C3': 'illegal move'"),
        ("refuse-genmove", "refusal", "refuses 'genmove w': 'cannot think'"),
        ("wrong-id:1", "protocol error", "allowed: =7"),
        ("garbage:1", "protocol error", "no GTP"),
        ("resign:1", "resignation", "resigned"),
    ],
)
def test_failures_forfeit_one_game(engine, flaw, kind, words):
    player = engine(f"--flaw={flaw}", timeout_s=0.2 if kind == "timeout" else 60.0)
    (answer,) = player.choose_in_games([so_far("C3")])
    assert isinstance(answer, Forfeit)
    assert answer.kind == kind
    assert words in answer.reason
    assert "\n" not in answer.reason


def test_a_new_program_serves_the_next_game(engine, told):
    player = engine("--flaw=crash:2")
    games = [so_far("C3", number=number) for number in range(4)]
    answers = player.choose_in_games(games)
    assert [isinstance(answer, Forfeit) for answer in answers] == [False, True, False, True]
    assert told().count("list_commands") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--flaw=crash-at-start"], "no network file"),
        (["--flaw=banner"], "Welcome to Fake!"),
        (["--flaw=size"], "unacceptable size"),
        (["--flaw=rules"], "no such rules"),
        (["--unknown=komi"], "refuses 'komi 7.5'"),
        (["--unknown=list_commands"], "refuses 'list_commands'"),
    ],
)
def test_a_program_that_cannot_play_at_all_is_a_wrong_input(engine, arguments, words):
    with pytest.raises(PlayerError, match=words):
        engine(*arguments).choose_in_games([so_far("")])


def test_a_program_that_fails_later_at_its_start_forfeits(engine, tmp_path):
    """The program is found but does not come up again after its first crash."""
    script = tmp_path / "engine"
    command = shlex.join([sys.executable, str(FAKE), "--flaw=crash:1"])
    script.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/twice ] && exit 9\ntouch {tmp_path}/twice\nexec {command}\n"
    )
    script.chmod(0o755)
    player = make_player(f"gtp:{script}", game=GO)
    answers = player.choose_in_games([so_far("C3", number=number) for number in range(2)])
    assert [answer.kind for answer in answers] == ["crash", "crash"]
    assert "exit code 9" in answers[1].reason


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--score=B+3.5"], 3.5),
        (["--score=W+12"], -12.0),
        (["--score=w+0.5"], -0.5),
        (["--score=0"], 0.0),
        (["--score=B+123456789.5"], 123456789.5),
        (["--score=W+1" + 400 * "0"], f"final_score answered {'W+1' + 37 * '0'!r}"),
        (["--score=?"], "final_score answered '?'"),
        ([], "final_score refused: 'cannot score'"),
    ],
)
def test_final_scores(engine, arguments, expected):
    assert engine(*arguments).final_scores([so_far("C3 pass pass")]) == [expected]


def test_a_crash_at_the_count_is_no_score(engine):
    (answer,) = engine("--flaw=crash-at-score").final_scores([so_far("pass pass")])
    assert "exit code 4" in answer


def test_positions_without_their_game(engine, told):
    player = engine()
    states = np.concatenate([replay(GO, parse_moves(GO, text)) for text in ("C3 B2", "C3 B2 D4")])
    actions = player.choose_actions(states)
    assert [GO.action_to_text(action) for action in actions.tolist()] == ["A1", "A1"]
    assert told()[-9:] == [
        *("clear_board", "play b C3", "play w B2", "genmove b"),
        *("clear_board", "play b D4", "play b C3", "play w B2", "genmove w"),
    ]
    with pytest.raises(FinishedGameError):
        player.choose_actions(replay(GO, [25, 25]))
    with pytest.raises(PlayerError, match="crash: .*exit code 3"):
        engine("--flaw=crash:1").choose_actions(states)


def test_the_text_after_gtp_is_a_command_line():
    with pytest.raises(PlayerError, match="nosuchengine: no such program"):
        make_player("gtp:nosuchengine --depth=3:x=1", game=GO)
    with pytest.raises(PlayerError, match="no command"):
        make_player("gtp: ", game=GO)
    with pytest.raises(PlayerError, match="cannot be split"):
        make_player("gtp:'gnugo", game=GO)
    with pytest.raises(PlayerError, match="plays Go alone, got tic_tac_toe"):
        make_player("gtp:gnugo", game="tic_tac_toe")
    with pytest.raises(PlayerError, match="which game"):
        make_player("gtp:gnugo")


def test_our_own_players_do_not_follow_games():
    assert not isinstance(RandomPlayer(GO, seed=0), GameFollower)


def test_programs_end_with_their_player(engine):
    player = engine()
    player.choose_in_games([so_far("")])
    assert psutil.Process().children() != []
    player.close()
    assert psutil.Process().children() == []
    assert player.choose_in_games([so_far("")]) == [GO.text_to_action("A1")]


def test_ctrl_c_stops_all_programs_at_once(engine):
    player = engine("--flaw=hang:1", num_processes=2)

    def interrupt(board, game):
        if game.number == 0:
            raise KeyboardInterrupt
        return board.choose(game)  # waits for ever

    with pytest.raises(KeyboardInterrupt):
        player._ask_all([so_far("", number=n) for n in range(4)], interrupt, on_fault=str)


def test_a_person_may_take_back_a_move_against_an_engine(engine, told):
    lines = io.StringIO("C3\nundo\nC4\npass\n")
    human = HumanPlayer(GO, lines=lines, screen=io.StringIO(), name="you")
    said = []
    played = play_game(GO, (human, engine("--moves=B2", "--flaw=resign:3")), tell=said.append)
    assert format_moves(GO, played) == "C4 B2 pass"
    assert said[-1] == "result: you won: resigned"
    assert [c for c in told() if c.startswith(("play", "clear"))] == [
        *("clear_board", "play b C3"),
        *("clear_board", "play b C4", "play b pass"),
    ]
