"""The bench: what it reports, not how fast this machine is."""

import json

import numpy as np
import pytest

from alphago.games import make_game
from scripts import openspiel
from scripts.main import main
from scripts.measurements import FreeEvaluator, random_states
from tests.scripts.tiny_run import TINY

QUICK = [*TINY, "seconds=0.05", "actors=1"]


def test_bench_reports_rates_and_their_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *QUICK, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["game"], result["batch"]) == ("tic_tac_toe", 4)
    for name in ("selfplay_evaluations", "selfplay_simulations"):
        ratio = result[name] / result["network_evaluations"]
        assert result[f"{name}_ratio"] == pytest.approx(ratio)
    assert result["search_simulations_32"] > 0
    assert result["search_simulations_200"] > 0
    assert "actors_ratio" not in result
    assert result["uct_playouts"] > 0
    rules = result["rules"]
    for name in ("playouts_per_s", "uniform_playouts_per_s", "legal_actions_us", "step_us"):
        assert rules[name] > 0
    assert ("openspiel_playouts_per_s" in rules) == openspiel.is_installed()


def test_bench_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *QUICK]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tic_tac_toe"
    assert lines[1].split()[:1] == ["measured"]
    assert len(lines) == 13
    assert any("OpenSpiel" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["seconds=0"], ["seconds", "'0'"]),
        (["seconds=nan"], ["seconds", "'nan'"]),
        (["actors=0"], ["actors", "'0'"]),
        (["actors=1", "actors=2"], ["actors", "twice"]),
        (["game=conect4"], ["game", "connect_four"]),
        (["netwrk=tiny"], ["netwrk", "network"]),
        (["second=1"], ["second", "nearest: seconds"]),
        (["actor=1"], ["actor", "nearest: actors"]),
        (["--seconds", "1"], ["options are written seconds=1"]),
        (["seconds", "1"], ["write seconds=1"]),
        (["train.batch_size=0"], ["train.batch_size"]),
        (["seed=1,2"], ["seed=1,2"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_wrong_words_are_one_line(
    words: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("alphago bench: error: ")
    assert err.count("\n") == 1
    for text in expected:
        assert text in err


def test_random_states_are_unfinished_and_differ() -> None:
    game = make_game("connect_four")
    states = random_states(game, num_rows=64, seed=1)
    assert not game.is_over(states).any()
    assert len(np.unique(states.view(np.uint8).reshape(64, -1), axis=0)) > 40


def test_free_evaluator_knows_nothing() -> None:
    game = make_game("tic_tac_toe")
    evaluation = FreeEvaluator(game, num_rows=3).evaluate(game.initial_states(3))
    assert evaluation.prior_logits.shape == (3, 9)
    assert not evaluation.prior_logits.any()
    assert not evaluation.value.any()


def test_openspiel_plays_go_of_its_own_rules_up_to_the_same_cap() -> None:
    game = make_game("go_9x9:komi=5.5,max_moves=130")
    assert openspiel.openspiel_name(game) == "go(board_size=9,komi=5.5,max_game_length=130)"
    assert openspiel.remark(game) == "a repeated board ends its games, and is forbidden in ours"
    assert openspiel.openspiel_name(make_game("connect_four")) == "connect_four"
    assert openspiel.remark(make_game("connect_four")) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("go_9x7", "boards of 9x7"),
        ("go_25x25", "boards of 25x25"),
        ("go_9x9:rules=aga", "ko=situational"),
        ("go_9x9:rules=japanese", "ko=simple, scoring=territory"),
        ("go_9x9:rules=tromp_taylor", "suicide"),
        ("go_9x9:handicap=2", "our handicap"),
    ],
)
def test_go_that_openspiel_does_not_have_is_told(text: str, expected: str) -> None:
    game = make_game(text)
    assert openspiel.openspiel_name(game) is None
    assert openspiel.remark(game) == f"its Go does not have {expected}"


def test_the_bench_says_what_is_different_about_openspiel(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openspiel, "is_installed", lambda: True)
    words = [*QUICK[1:], "game=go_5x5", "game.name=go_3x2", "network.heads=pooled"]
    assert main(["bench", *words]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "OpenSpiel" in line]
    assert "its Go does not have boards of 3x2" in line
    assert line.split()[-1] == "-"
