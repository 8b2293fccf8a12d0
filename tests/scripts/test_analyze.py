"""What `alphago analyze` shows, without a network; `test_runs.py` asks one."""

import json
import re
from types import SimpleNamespace
from typing import cast

import pytest

from alphago.games import GAME_NAMES, make_game
from alphago.players import Player
from scripts.analyze import analyse
from scripts.arguments import CommandLineError
from scripts.main import main

QUIET = "moves=4 1 4 1"  # of Connect Four: nobody completes a line with the next stone


def analyze(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["analyze", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["analyze", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_shows_board_moves_convergence_and_what_it_took(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["uct:playouts=400", QUIET, "game=connect_four", "top=3", "seed=1"]
    lines = analyze(capsys, *words).splitlines()
    assert lines[5] == "O . . X . . ."
    assert lines[7] == "X to play"
    assert lines[8] == "uct:playouts=400:"
    assert lines[9].split() == ["move", "visits", "value", "prior"]
    first, second = (float(line.split()[1].rstrip("%")) for line in lines[10:12])
    assert re.fullmatch(r"4 more: [\d.]+% of the visits", lines[13])
    told = re.fullmatch(r"first move ahead by (.*)% of the visits: (.*) \(above 50%\)", lines[14])
    assert told is not None
    assert float(told[1]) == pytest.approx(first - second, abs=0.11)  # each is rounded
    assert told[2] == ("converged" if first - second > 50 else "not converged")
    assert re.fullmatch(r"\d+\.\d\d s, 400 playouts", lines[15])
    assert len(lines) == 16


def test_json_has_all_moves(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["uct:playouts=50", "moves=E5,C3", "game=go_7x7:komi=9.5", "--json"]
    told = json.loads(analyze(capsys, *words))
    assert told["game"] == "go_7x7:komi=9.5"
    assert told["player"] == "uct:playouts=50"
    assert told["moves"] == "E5 C3"
    assert told["num_visits"] == 50
    assert told["seconds"] > 0
    advice = told["advice"]
    assert len(advice) == 48  # and the pass
    assert advice[0]["visit_share"] == told["first_share"]
    assert told["is_converged"] is False
    assert sum(move["num_visits"] for move in advice) == 50
    assert advice[0].keys() == {
        "action", "move", "visit_share", "value", "prior", "standard_error", "num_visits",
        "is_bound", "plies_to_end", "depth",
    }  # fmt: skip


def test_the_same_seed_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    first, again, other = (
        json.loads(analyze(capsys, "flat_mc:playouts=40", "game=tic_tac_toe", seed, "--json"))
        for seed in ("seed=3", "seed=3", "seed=4")
    )
    assert first["advice"] == again["advice"]
    assert first["advice"] != other["advice"]


def test_flat_monte_carlo_shows_win_rates_with_their_errors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = analyze(capsys, "flat_mc:playouts=90", "game=tic_tac_toe")
    assert re.search(r"^ +4 +11\.1% +\d+\.\d% ± \d+\.\d%$", out, re.M)
    assert re.search(r"^first move ahead by .* standard errors on\)$", out, re.M)
    assert "9 more" not in out
    assert out.endswith("90 playouts\n")


def test_a_player_that_counts_nothing_tells_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("random", "minimax", "alphabeta:depth=2"):
        out = analyze(capsys, text, "game=tic_tac_toe", "top=2")
        assert "\n7 more" in out
        assert "converged" not in out
        assert re.fullmatch(r"\d+\.\d\d s", out.splitlines()[-1])


def test_a_player_that_only_plays_is_refused() -> None:
    player = cast(Player, SimpleNamespace(name="mute"))
    with pytest.raises(CommandLineError, match="mute: only plays, and cannot tell what"):
        analyse(player, make_game("tic_tac_toe").initial_states(1))


@pytest.mark.parametrize("name", GAME_NAMES)
def test_every_game_can_be_analysed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = analyze(capsys, "uct:playouts=3", f"game={name}", "top=1")
    assert out.endswith("3 playouts\n")
    assert out.count(" to play") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["uct"], "which game?"),
        (["human", "game=tic_tac_toe"], "human: only `alphago play`"),
        (["gtp:no_such_program", "game=go_5x5"], "no_such_program: no such program"),
        (["uct", "game=tic_tac_toe", "moves=9"], "move 1 of 1: tic_tac_toe: got '9'"),
        (["uct", "game=tic_tac_toe", "moves=0 0"], "ply 2: tic_tac_toe: 0 is illegal here"),
        (["uct", "game=tic_tac_toe", "moves=0 3 1 4 2"], "the game of row 0 is over"),
        (["uct", "game=tic_tac_toe", "top=0"], "top: got '0', allowed: an integer of at least 1"),
        (["uct", "game=tic_tac_toe", "top=x"], "top: got 'x', allowed: an integer of at least 1"),
        (["uct", "game=tic_tac_toe", "move=4"], "move: unknown key; nearest: moves"),
        (["uct:seconds=0", "game=tic_tac_toe"], "seconds: got '0', allowed: a number above 0"),
        (
            ["uct:playouts=1000000", "game=go_19x19"],
            "uct:playouts=1000000: playouts of go_19x19: got 1000000, allowed: at most 592",
        ),
        (["runs/none"], "no such kind of player and no such file or folder"),
        ([], "required"),
    ],
)
def test_wrong_words_are_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refusal(capsys, *words)
