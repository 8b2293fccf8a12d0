"""Train, resume, play, match and suite on one tiny run, through the command line."""

import dataclasses
import io
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from alphago.errors import TrainingError
from alphago.network import evaluator
from scripts.main import main
from scripts.train import describe_best, options_to_go_on, program
from tests.scripts.tiny_run import TINY, tiny_config
from train.checkpoint import newest_checkpoint
from train.run import RunResult
from train.stopping import INTERRUPTED, TARGET_REACHED


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of eight games."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    assert main(["train", *TINY, f"run_dir={folder}"]) == 0
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, to be changed."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def test_no_file_of_a_run_is_a_pickle(finished: Path) -> None:
    files = [path for path in finished.rglob("*") if path.is_file()]
    assert len(files) > 8
    heads = {path.relative_to(finished): path.read_bytes()[:2] for path in files}
    assert not [path for path, head in heads.items() if head[:1] == b"\x80"]
    archives = {path.suffix for path, head in heads.items() if head == b"PK"}
    assert archives <= {".npz"}  # without pickles, see tests/test_no_code_from_files.py


def test_cuda_that_does_not_work_is_told_once_in_a_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(evaluator, "cuda_fault", lambda: "the driver is too old")
    evaluator._warn_of_cuda.cache_clear()
    assert main(["train", *TINY, "evaluator.device=auto", f"run_dir={tmp_path / 'run'}"]) == 0
    told = [line for line in caplog.messages if "CUDA does not work" in line]
    assert len(told) == 1


def test_a_trained_network_plays_a_person(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("4\nq\n"))
    assert main(["play", str(finished)]) == 0
    out, err = capsys.readouterr()
    assert "X" in out  # the person's stone
    assert "O" in out  # the network's
    assert "error" not in err


def test_train_prints_its_folder_first_and_how_to_go_on_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *TINY, "run_dir=here/my run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run: here/my run"
    assert lines[-5].endswith("alphago play 'here/my run'")
    assert lines[-4].endswith("alphago resume 'here/my run' games=16")
    assert lines[-2].endswith("alphago rate 'here/my run'")
    assert lines[-1].endswith("alphago report 'here/my run'")
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
    assert (tmp_path / "here" / "my run" / "config.yaml").is_file()


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"minutes": 5.0}, ["minutes=11"]),
        ({"minutes": 6.0}, []),  # ended by Ctrl-C: what was asked for still stands
        ({"games": 1000, "steps": 300, "minutes": 1.5}, ["minutes=7", "games=2012"]),
        ({}, []),
    ],
)
def test_command_to_go_on_raises_the_limits_that_were_reached(
    limits: dict[str, float], expected: list[str]
) -> None:
    config = dataclasses.replace(tiny_config(), **{"games": None, **limits})
    result = RunResult(Path("run"), 299, 1012, 5.1, "", "00000299")
    assert options_to_go_on(config, result) == expected


def test_command_to_go_on_raises_minutes_that_ran_out_while_the_run_was_saved() -> None:
    config = dataclasses.replace(tiny_config(), games=None, minutes=5.2)
    result = RunResult(Path("run"), 299, 1012, 5.1, "minutes=5.2 reached", "00000299")
    assert options_to_go_on(config, result) == ["minutes=11"]


@pytest.mark.parametrize(
    ("step", "best", "expected"),
    [
        (905, "00000905", "00000905"),
        (
            905,
            "00000193",
            "00000193 (the newest, 00000905, was not promoted; play it as r:step=latest)",
        ),
        (
            905,
            "00000000",
            "still the untrained one (the newest, 00000905, was not promoted; play it as"
            " r:step=latest)",
        ),
        (0, "00000000", "still the untrained one"),
    ],
)
def test_end_says_which_network_is_the_best(step: int, best: str, expected: str) -> None:
    result = RunResult(Path("r"), step, 9, 5.1, "", best)
    assert describe_best(result, run="r") == expected


def test_command_to_go_on_drops_a_target_that_was_reached() -> None:
    result = RunResult(Path("run"), 299, 1, 5.1, TARGET_REACHED, "00000299")
    assert options_to_go_on(tiny_config(), result) == ["target=null"]


def test_ctrl_c_ends_a_multirun_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: object, **keywords: object) -> RunResult:
        return RunResult(tmp_path, 0, 0, 0.1, INTERRUPTED, "00000000")

    monkeypatch.setattr("train.run.run", interrupted)
    assert main(["train", "--multirun", *TINY, f"run_dir={tmp_path}", "seed=1,2,3"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["0"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run 1 of 3: seed=1"
    assert lines[-2].split() == ["seed=1", f"{tmp_path}/0"]
    assert lines[-1] == "not started: the 2 runs that were to follow"


def test_train_makes_a_folder_named_after_game_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *TINY]) == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("tic_tac_toe-")
    assert capsys.readouterr().out.splitlines()[0] == f"run: runs/{folder.name}"


def test_multirun_gives_each_job_its_folder_and_lists_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*TINY, f"run_dir={tmp_path}", "seed=1,2", "keep_checkpoints=3"]
    assert main(["train", "--multirun", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("run ")] == [
        "run 1 of 2: seed=1",
        "run 2 of 2: seed=2",
    ]
    assert [line.split() for line in lines[-3:]] == [
        ["options", "folder"],
        ["seed=1", f"{tmp_path}/0"],
        ["seed=2", f"{tmp_path}/1"],
    ]
    seeds = [
        yaml.safe_load((tmp_path / name / "config.yaml").read_text(encoding="utf-8"))["seed"]
        for name in "01"
    ]
    assert seeds == [1, 2]


def test_train_into_a_run_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(run.rglob("*"))
    assert main(["train", *TINY, f"run_dir={run}"]) == 2
    assert f"alphago resume {run}" in capsys.readouterr().err
    assert sorted(run.rglob("*")) == before


def test_resume_without_options_keeps_the_configuration(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (run / "config.yaml").read_text(encoding="utf-8")
    assert main(["resume", str(run)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"run: {run}\nstopped: ")
    assert (run / "config.yaml").read_text(encoding="utf-8") == before


def test_a_run_killed_before_ray_has_started_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def kill(**keywords: object) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("scripts.ray_session.ray_session", kill)
        assert main(["train", *TINY, "selfplay=ray", f"run_dir={folder}"]) == 130
    assert [path.name for path in folder.iterdir()] == ["config.yaml"]
    assert main(["resume", str(folder), "selfplay=inline"]) == 0
    assert "8 games" in capsys.readouterr().out


def test_resume_lists_what_changes_and_goes_on(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["games=16", "train.learning_rate=1e-3", "selfplay.num_simulations=3"]
    assert main(["resume", str(run), *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:5]] == [
        ["changed", "old", "new"],
        ["selfplay.num_simulations", "4", "3"],
        ["train.learning_rate", "0.002", "0.001"],
        ["games", "8", "16"],
    ]
    assert len(list((run / "records").glob("*.npz"))) > 1
    saved = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    assert saved["games"] == 16


def test_resume_works_from_another_folder_with_a_relative_path(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(run)
    assert main(["resume", "../copy"]) == 0
    assert capsys.readouterr().out.startswith("run: ../copy\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["network.num_channels=8"], ["network.num_channels", "4", "8"]),
        (["network=small"], ["network.num_blocks", "1", "4"]),
        (["game=connect_four"], ["game.name", "tic_tac_toe", "connect_four"]),
        (["game.name=connect_four"], ["game.name", "tic_tac_toe", "connect_four"]),
        (["seed=2"], ["seed", "1", "2"]),
        (["train.optimizer=sgd"], ["train.optimizer", "adamw", "sgd"]),
        (["train.ema_decay=0.99"], ["train.ema_decay", "null", "0.99"]),
        (["train.momentum=0"], ["train.momentum", "0.9", "0"]),
        (["run_dir=elsewhere"], ["run_dir", "elsewhere"]),
        (["experiment=tic_tac_toe_3min"], ["experiment"]),
        (["train.batchsize=3"], ["train.batchsize", "train.batch_size"]),
        (["train.batch_size=x"], ["train.batch_size", "'x'", "an integer"]),
        (["train.batch_size=-1"], ["train.batch_size", "-1"]),
        (["+foo=1"], ["+foo=1"]),
        (["games=9,10"], ["games=9,10", "one value"]),
        (["selfplay=inlin"], ["selfplay", "inline"]),
        (["minutes={"], ["minutes={"]),
        (["suite.file=connect_fuor"], ["connect_fuor", "connect_four"]),
        (["suite.file=connect_four"], ["is for connect_four", "tic_tac_toe"]),
        (["evaluator.backend=torch", "evaluator.precision=int8"], ["evaluator.precision", "int8"]),
        (["minutes", "3"], ["write minutes=3"]),
        (["--minutes", "3"], ["options are written minutes=3"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_resume_refuses_what_a_run_cannot_change(
    words: list[str], expected: list[str], finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    assert main(["resume", str(finished), *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    for text in expected:
        assert text in err
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"game: [", "line 1"),
        (b"\xff\xfe\x00", "decode"),
        (b"", "is empty; `alphago check"),
        (b"- 1\n", ""),
        (b"unknown: 1\n", "unknown"),
        (b"seed: x\n", "seed"),
        (b"[" * 5000, "too deep"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_resume_of_a_broken_configuration_is_one_line(
    content: bytes, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_bytes(content)
    assert main(["resume", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "config.yaml" in err
    assert expected in err


def test_match_with_a_run_takes_its_game(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"{finished}:simulations=4", "random", "games=6", "opening_plies=1", "--json"]
    assert main(["match", *words]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["game"], result["num_games"]) == ("tic_tac_toe", 6)
    assert sum(result["total"].values()) == 6
    assert result["interval"][0] <= result["score"] <= result["interval"][1]


def test_player_of_another_game_is_refused_by_both_names(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["match", str(finished), "random", "game=connect_four"]) == 2
    err = capsys.readouterr().err
    assert "tic_tac_toe" in err
    assert "connect_four" in err


def test_analysis_of_a_run_counts_simulations_and_may_be_timed(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"{finished}:simulations=30", "moves=4 0", "top=2"]
    assert main(["analyze", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[-1].endswith(" s, 30 simulations")
    assert main(["analyze", f"{finished}:simulations=30,seconds=100", *words[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["num_visits"], told["moves"]) == (30, "4 0")
    assert main(["analyze", f"{finished}:simulations=0", "--json"]) == 0
    raw = json.loads(capsys.readouterr().out)
    assert (raw["num_visits"], raw["is_converged"]) == (0, None)


def test_suite_of_a_run_shows_search_and_raw_policy(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    positions = [{"moves": "0 3 1 4", "best": ["2"]}, {"moves": "0 3 1 8", "best": ["2"]}]
    file = tmp_path / "wins.json"
    file.write_text(json.dumps({"positions": positions}), encoding="utf-8")
    assert main(["suite", f"{finished}:simulations=200", str(file), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["choice"]["num_correct"] == 2  # a win in one is found by search
    assert result["raw_policy"]["num_positions"] == 2
    assert main(["suite", f"{finished}:simulations=200", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"wins: {finished}:simulations=200, 200 simulations a move"
    assert "raw policy" in lines[1]
    assert "100.0% (2 of 2), 95 % interval" in lines[2]


def test_suite_of_every_checkpoint_of_a_run(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wins.json"
    positions = [{"moves": "0 3 1 4", "best": ["2"]}, {"moves": "0 3 1 8", "best": ["2"]}]
    file.write_text(json.dumps({"positions": positions}), encoding="utf-8")
    words = ["suite", f"{finished}:simulations=200", str(file), "--checkpoints"]
    assert main(words) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split(maxsplit=3)[-1] == "moves played, 200 simulations a move"
    steps = sorted(int(folder.name) for folder in (finished / "checkpoints").iterdir())
    assert [int(row.split()[0]) for row in rows] == steps
    assert all(row.endswith("100.0% (2 of 2)") for row in rows)
    assert main([*words, "--json"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert [result["step"] for result in results] == steps
    assert [result["choice"]["share"] for result in results] == [1.0] * len(steps)
    assert main(["suite", f"{finished}:step={steps[0]}", str(file), "--checkpoints"]) == 2
    assert "allowed: a run, without step=" in capsys.readouterr().err


def test_suite_file_of_a_run_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    positions = [{"moves": "0 3 1 4", "best": ["2"]}]
    Path("wins.json").write_text(json.dumps({"positions": positions}), encoding="utf-8")
    assert main(["train", *TINY, "run_dir=run", "suite.file=wins.json"]) == 0
    monkeypatch.chdir("/")
    assert main(["resume", str(tmp_path / "run"), "games=16"]) == 0
    assert "suite wins" in capsys.readouterr().err


def test_commands_shown_work_without_an_active_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / ".venv" / "bin" / "alphago"
    tool.parent.mkdir(parents=True)
    tool.touch(mode=0o755)
    monkeypatch.setattr("sys.executable", str(tool.with_name("python")))
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.chdir(tmp_path)
    assert program("alphago") == ".venv/bin/alphago"
    monkeypatch.chdir("/")
    assert program("alphago") == str(tool.relative_to("/"))
    monkeypatch.setenv("PATH", str(tool.parent))
    assert program("alphago") == "alphago"


def test_actors_that_share_cpus_are_told_before_ray_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []

    def refuse(**resources: int) -> None:
        told.extend(caplog.messages)
        raise TrainingError("Ray does not start")

    monkeypatch.setattr("scripts.ray_session.ray_session", refuse)
    monkeypatch.setattr("train.pools.usable_cpus", lambda: 3)
    for num_actors in (3, 16):
        words = ["selfplay=ray", f"selfplay.num_actors={num_actors}"]
        assert main(["train", *TINY, *words, f"run_dir={tmp_path / str(num_actors)}"]) == 1
    assert told == ["selfplay.num_actors=16 on 3 usable CPUs: the actors share them"]


def test_a_run_that_diverges_fails_and_can_be_resumed_from_what_was_sound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    words = ["train.learning_rate=1e6", "train.warmup_steps=0", f"run_dir={folder}"]
    assert main(["train", *TINY, *words]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert re.match(r"alphago train: error: step [0-9]+: training has diverged", error)
    found = newest_checkpoint(folder)
    assert found is not None
    assert all(np.isfinite(array).all() for array in found[1].trainer_tensors.values())
    assert main(["resume", str(folder), "train.learning_rate=1e-3"]) == 0
    found = newest_checkpoint(folder)
    assert found is not None
    assert found[1].step > 0
