"""Play, match and suite without a network."""

import io
import json
from pathlib import Path

import pytest

from scripts.main import main
from scripts.matches.players import MatchPlayer

SMALL_SUITE = str(Path(__file__).parents[1] / "data" / "connect_four_small.json")  # of no game


def play(
    words: list[str],
    lines: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    """Plays with these input lines, then end of input; returns what was shown."""
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert main(["play", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_wrong_lines_are_asked_again_and_quit_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "x\n\n99\n0\n4\n4 4\nq\n"
    out = play(["random", "game=connect_four"], lines, monkeypatch, capsys)
    assert out.count("Your move (1 2 3 4 5 6 7") == 7
    assert "1 2 3 4 5 6 7\n" in out  # the columns are named under the board
    assert "undo" in out  # an empty line shows the help


def test_end_of_input_ends_the_game(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = play(["random", "game=tic_tac_toe"], "", monkeypatch, capsys)
    assert out.endswith("Goodbye: the input ended.\n")


def test_player_moves_first_when_the_person_is_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = play(["minimax", "game=tic_tac_toe", "side=second"], "q\n", monkeypatch, capsys)
    assert out.startswith("tic_tac_toe, you move second, against minimax\nminimax")
    assert out.count("X") == 1


def test_undo_takes_back_a_move(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = play(["random", "game=tic_tac_toe"], "4\nundo\nq\n", monkeypatch, capsys)
    assert out.count("Your move (0 1 2 3 4 5 6 7 8") == 2


def test_whole_game_ends_with_its_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    every_move = "\n".join("012345678") + "\n"
    out = play(["human", "game=tic_tac_toe"], every_move, monkeypatch, capsys)
    # The moves go to the two people in turn: X takes 0 2 4 6 and has the diagonal 2 4 6.
    assert out.splitlines()[-1] == "result: you won, moving first"


def test_the_first_move_is_whites_in_a_handicap_game_and_rules_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["random", "game=go_7x7:handicap=2,rules=japanese"]
    out = play(words, "pass\nq\n", monkeypatch, capsys)
    lines = out.splitlines()
    assert lines[0] == "go_7x7:rules=japanese,handicap=2, you move first, against random"
    assert lines[1].split() == list("ABCDEFG")  # the board, before anybody has moved
    assert "White (O) to play" in out.partition("Your move")[0]
    out = play([*words, "side=second"], "q\n", monkeypatch, capsys)
    assert out.splitlines()[0].endswith(", you move second, against random")
    assert out.splitlines()[1].startswith("random: ")
    assert "Black (X) to play" in out.partition("Your move")[0]


def test_same_seed_same_game(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["random", "game=connect_four", "seed=5"]
    first, second = (play(words, "4\n4\nq\n", monkeypatch, capsys) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["play"], ["which player?", "game=NAME"]),
        (["play", "random"], ["which game?", "connect_four", "(game="]),
        (["play", "random", "--side", "second"], ["options are written side=second"]),
        (["play", "random", "game", "tic_tac_toe"], ["write game=tic_tac_toe"]),
        (["match", "random", "random", "--games=20"], ["options are written games=20"]),
        (["play", "random", "game=go"], ["'go'", "tic_tac_toe"]),
        (["play", "random", "game=tic_tac"], ["did you mean tic_tac_toe?"]),
        (["play", "randm", "game=tic_tac_toe"], ["randm", "random"]),
        (["play", "alphabeta:dept=3", "game=tic_tac_toe"], ["dept", "depth"]),
        (["play", "random", "side=third"], ["side", "first or second"]),
        (["play", "random", "game=tic_tac_toe", "seed=-1"], ["seed", "'-1'"]),
        (["play", "random", "gme=tic_tac_toe"], ["gme", "game"]),
        (["play", "nowhere/run"], ["nowhere/run"]),
        (["match", "random"], ["B"]),
        (["match", "random", "minimax", "gams=3"], ["gams", "nearest: games"]),
        (["match", "random", "minimax", "games=3"], ["games", "'3'", "even"]),
        (["match", "random", "minimax", "games=x"], ["games", "'x'"]),
        (["match", "random", "minimax", "games=2", "games=4"], ["games", "twice"]),
        (["match", "random", "minimax", "40"], ["40", "key=value"]),
        (["match", "random", "minimax", "opening_plies=-1"], ["opening_plies", "'-1'"]),
        (["match", "random", "minimax", "game=chess"], ["'chess'", "connect_four"]),
        (["match", "random", "human", "game=tic_tac_toe"], ["human", "alphago play"]),
        (["suite", "random"], ["FILE"]),
        (["suite", "random", "connect_fuor", "game=connect_four"], ["did you mean connect_four"]),
        (["suite", "random", SMALL_SUITE], ["which game?"]),
        (["suite", "random", SMALL_SUITE, "game=tic_tac_toe"], ["position 1"]),
        (
            ["suite", "random", "connect_four", "game=tic_tac_toe"],
            ["suite connect_four is for connect_four, the player plays tic_tac_toe"],
        ),
        (["suite", "human", "connect_four", "game=connect_four"], ["human"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_wrong_words_are_one_line(
    words: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"alphago {words[0]}: error: ")
    assert err.count("\n") == 1
    for text in expected:
        assert text in err


def test_match_shows_both_sides_score_interval_and_distinct_games(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["minimax", "random", "game=tic_tac_toe", "games=20", "opening_plies=2", "seed=3"]
    assert main(["match", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tic_tac_toe: minimax against random"
    first, second, every = (
        [int(number) for number in line.replace(",", "").split() if number.isdigit()]
        for line in lines[1:4]
    )
    assert sum(first) == sum(second) == 10
    assert every == [a + b for a, b in zip(first, second, strict=True)]
    assert "95 % interval" in lines[4]
    assert lines[6].strip().startswith("20 games, ")
    assert lines[6].endswith(
        " distinct (from 2 random opening plies, each opening played from both sides)"
    )
    assert main(["match", *words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result["total"].values()) == every
    assert lines[6].split()[2] == str(result["num_distinct_games"])


def test_match_of_random_players_is_not_a_player_against_its_twin(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["match", "random", "random", "game=connect_four", "games=20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["num_distinct_games"] == 20


def test_shipped_suite_has_593_decisive_positions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", "random", "connect_four", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["choice"]["num_positions"] == 593
    assert 0.25 < result["choice"]["share"] < 0.45  # a random player keeps the value in 35 %
    assert result["raw_policy"] is None


def test_runs_of_different_games_are_asked_which_one_to_play(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    games = {"first": "go_5x5", "second": "go_9x9", "third": "go_9x9"}
    monkeypatch.setattr("alphago.players.game_of_player", games.__getitem__)
    monkeypatch.setattr(
        "scripts.matches.players.find_player", lambda text: MatchPlayer(text, text, None)
    )
    assert main(["match", "first", "second", "games=2"]) == 2
    error = capsys.readouterr().err
    assert "go_5x5 and go_9x9; write game=" in error
    assert main(["match", "second", "third", "games=2"]) == 2
    assert "which game" not in capsys.readouterr().err  # they agree; the folders do not exist
