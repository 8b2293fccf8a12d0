"""`alphago suite` without a network."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from eval.suite_files import shipped_suites
from eval.suites import Answers, ask_player
from scripts.main import main
from tests.scripts.tiny_run import TINY

POSITIONS = [
    {"id": "left", "kind": "win", "moves": "0 3 1 4", "best": ["2"]},
    {"id": "right", "kind": "win", "moves": "0 3 1 8", "best": ["2"]},
    {"id": "wrong", "kind": "trap", "moves": "0 3 1 4", "avoid": ["2"]},
    {"moves": "0 3 1 4", "best": ["2", "5"]},
]


@pytest.fixture
def suite(tmp_path: Path) -> str:
    file = tmp_path / "four.json"
    file.write_text(json.dumps({"game": "tic_tac_toe", "positions": POSITIONS}), "utf-8")
    return str(file)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_without_words_the_suites_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite"]) == 0
    lines = lines_of(capsys)
    assert [line.split()[0] for line in lines] == ["suite", *shipped_suites()]
    (line,) = [line for line in lines if line.startswith("go_9x9 ")]
    assert line.split()[1:5] == ["go_9x9", "22", "18", "capture,"]


@pytest.mark.parametrize("file", [[], ["nothing_alike"]])
def test_a_wrong_name_names_the_suites(file: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", "random", *file]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert all(name in error for name in shipped_suites())


def test_kinds_and_failures_are_shown(suite: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", "minimax", suite, "--failures"]) == 0
    lines = lines_of(capsys)
    assert lines[1] == "  moves played  75.0% (3 of 4), 95 % interval 30.1% to 95.4%"
    assert [line.split() for line in lines[2:]] == [
        ["kind", "moves", "played"],
        ["trap", "0.0%", "(0", "of", "1)"],
        ["win", "100.0%", "(2", "of", "2)"],
        ["failed", "kind", "played", "right"],
        ["wrong", "trap", "2", "5", "6", "7", "8"],
    ]


def test_json_tells_kinds_and_failures(suite: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", "minimax", suite, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["choice"]["num_correct"] == 3
    assert result["kinds"]["win"]["choice"]["num_positions"] == 2
    failure = {"id": "wrong", "kind": "trap", "chosen": "2", "best": ["5", "6", "7", "8"]}
    assert result["failures"] == [failure]


def test_a_player_that_fails_nowhere_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps({"positions": POSITIONS[:1]}), "utf-8")
    assert main(["suite", "minimax", str(file), "game=tic_tac_toe", "--failures"]) == 0
    assert lines_of(capsys)[-1] == "no failures"


def test_the_game_of_a_suite_brings_its_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", "uct:playouts=100", "go_2x2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["game"] == "go_2x2"
    assert main(["suite", "random", "go_2x2", "game=go_2x2"]) == 2
    assert "suite go_2x2 is for go_2x2:komi=1.5, the player plays go_2x2" in capsys.readouterr().err


def test_checkpoints_are_shown_as_they_come_without_those_that_are_gone(
    suite: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = tmp_path / "run"
    assert main(["train", *TINY, f"run_dir={run}"]) == 0
    first, *others = sorted((run / "checkpoints").iterdir())
    for folder in others:
        shutil.rmtree(folder)
    for step in (100, 200):
        shutil.copytree(first, run / "checkpoints" / f"{step:08d}")
    capsys.readouterr()
    shown: list[str] = []
    remarks: list[str] = []

    def ask_and_prune(*arguments: Any) -> Answers:
        out, err = capsys.readouterr()
        shown.append(out)
        remarks.append(err)
        shutil.rmtree(run / "checkpoints" / "00000100", ignore_errors=True)
        return ask_player(*arguments)

    monkeypatch.setattr("eval.suites.ask_player", ask_and_prune)
    assert main(["suite", f"{run}:simulations=2", suite, "--checkpoints"]) == 0
    out = capsys.readouterr().out
    assert [text.split()[0] for text in shown] == ["step", str(int(first.name))]
    assert out.split()[0] == "200"
    assert "".join(remarks) == "alphago suite: step 100: removed by its run, left out\n"


@pytest.mark.parametrize("player", ["random", "runs/nowhere"])
def test_only_a_run_has_checkpoints(
    player: str, suite: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["suite", player, suite, "--checkpoints"]) == 2
    assert f"--checkpoints: got {player}, allowed: a run" in capsys.readouterr().err
