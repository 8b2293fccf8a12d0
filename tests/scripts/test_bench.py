"""The bench: what it reports, not how fast this machine is."""

import json
import time

import pytest
import torch

from alphago.games import make_game
from alphago.network.hardware import computes_int8
from scripts.bench import describe
from scripts.machine import describe_machine
from scripts.main import main
from scripts.speed import openspiel, self_play
from scripts.speed.network import make_sample
from scripts.speed.rules import FreeEvaluator
from selfplay.reports import ActorMemory, PlayReport, PlayStats
from tests.scripts.tiny_run import TINY, tiny_config

QUICK = [*TINY, "seconds=0.05", "actors=1"]


def test_bench_reports_rates_and_their_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *QUICK, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["game"] == "tic_tac_toe"
    rules = result["rules"]
    for name in ("playouts_per_s", "uniform_playouts_per_s", "legal_actions_us", "step_us"):
        assert rules[name] > 0
    assert ("openspiel_playouts_per_s" in rules) == openspiel.is_installed()
    assert result["search"]["simulations_per_s"] > 0
    play = result["self_play"]
    ratio = play["evaluations_per_s"] / play["network_evaluations_per_s"]
    assert play["ratio_to_network"] == pytest.approx(ratio)
    assert play["positions_per_s"] > 0
    assert 0 < play["network_share"] < 1
    assert 0 < play["batch_fill"] <= 1
    assert play["bytes_per_game"] > 0
    assert play["cached"]["positions_per_s"] > 0
    assert 0 < play["cached"]["hits"] < 1
    trainer = result["trainer"]
    assert trainer["ratio"] == pytest.approx(
        trainer["samples_per_s"] / trainer["bare_samples_per_s"]
    )
    assert result["weight_update"]["seconds"] > 0
    assert result["machine"]["usable_cpus"] >= 1
    assert "actors" not in result


def test_bench_measures_every_network_at_both_batches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *QUICK, "--json"]) == 0
    networks = json.loads(capsys.readouterr().out)["network"]
    found = {(each["backend"], each["precision"], each["batch"]) for each in networks}
    assert len(found) == len(networks)
    for batch in (4, 1):
        assert ("torch eager", "fp32", batch) in found
        assert ("openvino", "fp32", batch) in found
        assert ("openvino", "int8", batch) in found or not computes_int8()
        rates = {
            (each["backend"], each["precision"]): each["evaluations_per_s"]
            for each in networks
            if each["batch"] == batch
        }
        for each in networks:
            if each["batch"] == batch:
                ratio = each["evaluations_per_s"] / rates["torch eager", "fp32"]
                assert each["ratio_to_eager"] == pytest.approx(ratio)


def test_bench_prints_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *QUICK]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("tic_tac_toe on ")
    for heading in ("rules and search", "bare network", "self-play and learning"):
        assert any(line.startswith(heading) for line in lines)
    assert any("OpenSpiel" in line for line in lines)
    assert "a weight update takes" in lines[-1]


def test_what_did_not_happen_in_the_measurement_is_no_rate(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_play, "TURN_S", 0.01)
    monkeypatch.setattr(self_play, "_spread_games", lambda setup: setup)
    # No search from the first position ends in so short a time; one near a win asks no network.
    words = [*QUICK[1:], "game=connect_four", "selfplay.num_simulations=16000"]
    words.append("selfplay.random_opening_probability=0.0")
    assert main(["bench", *words, "--json"]) == 0
    results = json.loads(capsys.readouterr().out)
    play = results["self_play"]
    assert play["evaluations_per_s"] > 0
    for name in ("simulations_per_s", "positions_per_s", "games_per_s"):
        assert play[name] is None
    assert play["cached"]["positions_per_s"] is None
    lines = describe(results).splitlines()
    for start in ("  simulations", "  positions", "  with the evaluation cache", "  games"):
        (line,) = [line for line in lines if line.startswith(start)]
        assert line.split()[-1] == "-"


def test_self_play_is_measured_longer_until_the_first_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[float] = []

    def play_for(actor: object, *, seconds: float) -> PlayReport:
        calls.append(seconds)
        num_positions = 4 if len(calls) == 4 else 0
        stats = PlayStats(1.0, 0.5, num_positions, num_positions, 8, 0, 8)
        return PlayReport([], stats, ActorMemory(0, 0, 0))

    monkeypatch.setattr(self_play, "TURN_S", 0.02)
    monkeypatch.setattr(self_play, "PATIENCE", 1e9)  # a busy machine takes long for a turn
    monkeypatch.setattr(self_play, "_play_for", play_for)
    monkeypatch.setattr(self_play, "_measure_cached", lambda sample, **how: {})
    sample = make_sample(tiny_config())
    found = self_play.measure_self_play(sample, seconds=0.03)
    # One turn to warm up, two that were asked for, and one more in which the moves are made.
    assert len(calls) == 4
    assert found["positions_per_s"] == pytest.approx(4 / 3)
    assert found["games_per_s"] is None


@pytest.mark.slow
def test_bench_compares_actors_within_two_minutes(capsys: pytest.CaptureFixture[str]) -> None:
    started = time.monotonic()
    assert main(["bench", "game=go_9x9", "--json"]) == 0
    assert time.monotonic() - started < 120
    actors = json.loads(capsys.readouterr().out)["actors"]
    assert actors["num_actors"] == 2
    assert actors["ratio"] == pytest.approx(
        actors["evaluations_per_s"] / actors["one_evaluations_per_s"]
    )
    assert actors["bytes_per_actor"] > 2**20


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
        (["evaluator.backend=torch", "evaluator.precision=int8"], ["evaluator.precision", "int8"]),
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


def test_a_machine_whose_cuda_does_not_work_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **settings: object) -> None:
        raise RuntimeError("CUDA error: no kernel image is available")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", refuse)
    monkeypatch.setattr(torch, "ones", refuse)
    assert describe_machine()["gpu"] is None
