"""`alphago ablate`: a whole ablation of tiny runs, stopped, continued and extended; wrong files."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from alphago.errors import AlphagoError
from scripts.ablations.file import (
    ABLATIONS,
    BASE,
    Ablation,
    AblationError,
    find_ablation,
    load_ablation,
)
from scripts.ablations.rating import pairings
from scripts.ablations.runs import compose_runs, lay_down, short_runs
from scripts.ablations.training import Trainings, agree_on_cpus, read_num_cpus
from scripts.main import main
from selfplay.cpus import usable_cpus
from tests.scripts.tiny_run import TINY, tiny_config
from train.config import RunConfig

ROOT = Path(__file__).parents[2]
START_S = 240.0  # longest time for a run to start on a busy machine
FILE: dict[str, Any] = {
    "base": list(TINY),
    "variants": {"deeper": ["selfplay.num_simulations=6"]},
    "simulations": 2,
    "games": 4,
    "anchors": ["random", "uct:playouts=10"],
}


def write_file(folder: Path, **changes: object) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump({**FILE, **changes}))
    return path


def ablate(file: Path, *words: str) -> int:
    folder = file.parent / "out"
    return main(["ablate", str(file), f"folder={folder}", "workers=1", *words])


def results(file: Path) -> list[list[str]]:
    path = file.parent / "out" / "ratings" / "results.jsonl"
    return [json.loads(line)["players"] for line in path.read_text().splitlines()]


# ----- the files of the project


@pytest.mark.parametrize("path", sorted(ABLATIONS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_ablation_of_the_project_composes_and_each_variant_changes_something(
    path: Path,
) -> None:
    ablation = load_ablation(path)
    configs = compose_runs(ablation)  # refuses variants that change nothing
    assert list(configs) == [BASE, *ablation.variants]
    assert ablation.games >= 100


def test_an_ablation_of_the_project_is_found_by_name(tmp_path: Path) -> None:
    assert find_ablation("go_9x9") == ABLATIONS / "go_9x9.yaml"
    assert find_ablation(str(tmp_path)) == tmp_path
    with pytest.raises(AblationError, match="mine: cannot be read"):
        load_ablation(find_ablation("mine"))


# ----- wrong files


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"games": 3}, "games: got 3, allowed: an even integer of at least 2"),
        ({"games": True}, "games: got True, allowed"),
        ({"simulations": -1}, "simulations: got -1, allowed: an integer from 0 to 1000000"),
        ({"base": []}, "base: got [], allowed: a list of key=value"),
        ({"base": "seed=1"}, "base: got 'seed=1', allowed: a list of key=value"),
        ({"anchors": {"random": 0}}, "anchors: got {'random': 0}, allowed: a list of players"),
        ({"variants": {}}, "variants: got {}, allowed: NAME: [key=value, ...]"),
        ({"variants": {"a": "seed=2"}}, "variants: a: got 'seed=2', allowed: a list of key=value"),
        ({"variants": {"a": []}}, "variants: a: got [], allowed"),
        ({"variants": {"base": ["seed=2"]}}, "variants: got the name 'base', allowed: lower case"),
        ({"variants": {"uct": ["seed=2"]}}, "variants: got the name 'uct', allowed: lower case"),
        ({"variants": {"../a": ["seed=2"]}}, "variants: got the name '../a', allowed: lower case"),
        ({"variants": {3: ["seed=2"]}}, "variants: got the name 3, allowed: lower case"),
        ({"simulation": 3}, "simulation: unknown key; nearest: simulations; allowed: base, v"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    tmp_path: Path, changes: dict[str, object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_file(tmp_path, **changes)
    assert ablate(path) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"alphago ablate: error: {path}: {message}")
    assert not (tmp_path / "out").exists()


def test_a_file_without_a_key_or_with_one_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("base: [seed=1]\n")
    with pytest.raises(AblationError, match="lacks variants, simulations, games, anchors"):
        load_ablation(path)
    path.write_text("- 1\n")
    with pytest.raises(AblationError, match="no ablation, allowed: base, variants"):
        load_ablation(path)
    path.write_text("variants: {a: [seed=2], a: [seed=3]}\n")
    with pytest.raises(AblationError, match="a is there twice"):
        load_ablation(path)


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (["seed=1"], "a: changes nothing of the base"),
        (["run_dir=x"], "a: run_dir: got x, allowed: as in the base, None"),
        (["games=16"], "a: games: got 16, allowed: as in the base, 8"),
        (
            ["target=0.6", "suite.file=tic_tac_toe"],
            "a: target: got 0.6, allowed: as in the base, None",
        ),
        (["game.name=connect_four"], "a: plays connect_four, allowed: as in the base, tic_tac_toe"),
        (["seeds=2"], "a: seeds: unknown key; nearest: seed"),
        (["seed=two"], "a: seed: got 'two', allowed: an integer"),
        (["seed=1,2"], "a: seed=1,2: several values need --multirun"),
        (["network=huge"], "a: network: got 'huge'"),
        (["train.batch_size=0"], "a: train.batch_size: got 0"),
    ],
)
def test_variants_have_to_be_runs_that_differ_in_what_may_differ(
    variant: list[str], message: str
) -> None:
    with pytest.raises(AlphagoError) as caught:
        compose_runs(ablation_of({"a": variant}))
    assert str(caught.value).startswith(message)


def ablation_of(variants: Mapping[str, Sequence[str]], base: Sequence[str] = TINY) -> Ablation:
    return Ablation(base=base, variants=variants, simulations=2, games=4, anchors=["random"])


def test_a_base_needs_a_limit_and_faults_name_their_run() -> None:
    endless = [text for text in TINY if not text.startswith("games=")]
    with pytest.raises(AblationError, match="base: needs a limit, one of minutes, games, steps"):
        compose_runs(ablation_of({"a": ["seed=2"]}, base=endless))
    with pytest.raises(AblationError, match="base: sed: unknown key; nearest: seed"):
        compose_runs(ablation_of({"a": ["seed=2"]}, base=["sed=2"]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run_dir=x"], "base: run_dir: got x, allowed: null"),
        (["target=0.6", "suite.file=tic_tac_toe"], "base: target: got 0.6, allowed: null"),
    ],
)
def test_a_base_has_neither_a_folder_nor_a_target(words: list[str], message: str) -> None:
    keys = {word.partition("=")[0] for word in words}
    base = [text for text in TINY if text.partition("=")[0] not in keys] + words
    with pytest.raises(AblationError) as caught:
        compose_runs(ablation_of({"a": ["seed=2"]}, base=base))
    assert str(caught.value) == message


def test_what_a_variant_has_for_itself_takes_the_place_of_the_base() -> None:
    ablation = ablation_of({"small": ["network=small", "seed=3"]}, base=["network=tiny", "seed=1"])
    assert ablation.overrides("small") == ["network=small", "seed=3"]
    assert ablation.overrides(BASE) == ["network=tiny", "seed=1"]
    assert ablation.names == [BASE, "small"]


# ----- runs that are laid down


def test_runs_keep_their_options_once_they_have_begun(tmp_path: Path) -> None:
    first = compose_runs(ablation_of({"a": ["seed=2"]}))
    runs = lay_down(first, tmp_path)
    assert runs == {"base": tmp_path / "runs" / "base", "a": tmp_path / "runs" / "a"}
    other = compose_runs(ablation_of({"a": ["seed=3"]}))
    lay_down(other, tmp_path)  # nothing has begun yet
    assert "seed: 3" in (runs["a"] / "config.yaml").read_text()
    (runs["a"] / "checkpoints").mkdir()
    lay_down(other, tmp_path)
    with pytest.raises(AblationError, match="a: was begun with seed=3, now it is 2; remove"):
        lay_down(first, tmp_path)


def test_options_younger_than_a_run_do_not_count(tmp_path: Path) -> None:
    configs = compose_runs(ablation_of({"a": ["seed=2"]}))
    runs = lay_down(configs, tmp_path)
    (runs["a"] / "checkpoints").mkdir()
    path = runs["a"] / "config.yaml"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line for line in lines if "gradient_clip" not in line))
    lay_down(configs, tmp_path)
    path.write_text("seed: [")
    with pytest.raises(AblationError, match=r"config\.yaml: no YAML"):
        lay_down(configs, tmp_path)


@pytest.mark.parametrize(
    "path", ["seed1/checkpoints/00000001/manifest.json", "records/0.npz", "config.yaml~"]
)
def test_a_folder_with_something_else_is_refused_and_left_alone(tmp_path: Path, path: str) -> None:
    precious = tmp_path / "runs" / "a" / path
    precious.parent.mkdir(parents=True)
    precious.write_text("precious")
    with pytest.raises(AblationError, match="runs/a: is no run of this ablation, it holds"):
        lay_down(compose_runs(ablation_of({"a": ["seed=2"]})), tmp_path)
    assert precious.read_text() == "precious"
    assert not (tmp_path / "runs" / "base").exists()


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew(tmp_path: Path) -> None:
    configs = compose_runs(ablation_of({"a": ["seed=2"]}))
    run = lay_down(configs, tmp_path)["a"]
    (run / "records").mkdir()
    for name in ("lock", "sittings"):
        (run / name).touch()
    (run / "config.yaml").write_text("seed: [")
    lay_down(configs, tmp_path)
    assert "seed: 2" in (run / "config.yaml").read_text()


def test_kernels_are_compiled_by_short_games_of_each_kind_of_run() -> None:
    def run(*words: str) -> RunConfig:
        return tiny_config("games=null", "minutes=9", *words)

    runs = [run(), run("seed=2", "train.learning_rate=0.1"), run("selfplay.search=gumbel")]
    short = short_runs(runs)
    assert [config.selfplay.search for config in short.values()] == ["puct", "gumbel"]
    assert {
        (config.games, config.minutes, config.selfplay.num_simulations) for config in short.values()
    } == {(1, None, 4)}


# ----- training


_POPEN = subprocess.Popen


class Programs:
    """Takes the place of the processes that train: each ends at once, by default as it should."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **codes: str) -> None:
        """Prepares them.

        Args:
            monkeypatch: of the test.
            codes: by the name of a run, the program that it is instead; it uses no budget.
        """
        self.started: list[str] = []
        self.used: dict[str, float] = {}  # share of its budget
        self._codes = codes
        monkeypatch.setattr("scripts.ablations.training.subprocess.Popen", self._start)
        monkeypatch.setattr(
            "scripts.ablations.training.budget_used", lambda run, config: self.used.get(run.name, 0)
        )

    def _start(self, words: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
        name = Path(words[-1]).name
        assert list(words[1:5]) == ["-P", "-m", "scripts.main", "resume"]
        self.started.append(name)
        if name not in self._codes:
            self.used[name] = 0.995  # it had to be saved in the rest
        code = self._codes.get(name, "print('learning')")
        return _POPEN([sys.executable, "-c", code], **options)


def trainings(folder: Path, *names: str) -> Trainings:
    return Trainings(
        folder,
        {name: folder / "runs" / name for name in names},
        dict.fromkeys(names, tiny_config()),
    )


def test_runs_are_trained_once_and_those_that_failed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    programs = Programs(monkeypatch, b="print('learning'); exit('it diverged')")
    first = trainings(tmp_path, "base", "a", "b")
    assert not first.have_begun
    first.train([[0]], tell=told.append)
    assert programs.started == ["base", "a", "b"]
    assert first.missing == ["b"]
    assert first.faults == {"b": "it diverged"}
    assert told[-2:] == ["b: trains (3 of 3)", "b: FAILED: it diverged"]
    assert (tmp_path / "logs" / "a.log").read_text() == "learning\n"
    programs = Programs(monkeypatch)
    programs.used = {"base": 1.0, "a": 1.0}
    again = trainings(tmp_path, "base", "a", "b", "c")
    assert again.have_begun
    assert again.missing == ["b", "c"]
    again.train([[0]], tell=told.append)
    assert programs.started == ["b", "c"]
    assert (again.missing, again.faults) == ([], {})


def test_a_run_that_ends_before_its_budget_has_not_been_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = Programs(monkeypatch, base="print('stopped: interrupted')")
    programs.used = {"base": 0.26}
    runs = trainings(tmp_path, "base")
    runs.train([[0]], tell=lambda text: None)
    assert runs.faults == {"base": "stopped at 26% of its budget"}
    assert runs.missing == ["base"]


def test_a_killed_run_says_so_and_none_repeats_what_an_earlier_sitting_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = "import os; print('learning', flush=True); os.kill(os.getpid(), 9)"
    Programs(monkeypatch, a=kill, b="exit('it diverged')")
    runs = trainings(tmp_path, "a", "b")
    runs.train([[0]], tell=lambda text: None)
    assert runs.faults == {"a": "killed by SIGKILL", "b": "it diverged"}
    Programs(monkeypatch, a="exit(1)", b="exit(1)")
    runs = trainings(tmp_path, "a", "b")
    runs.train([[0]], tell=lambda text: None)
    assert runs.faults == {"a": "left no message", "b": "left no message"}


def test_each_process_is_kept_on_its_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[list[int]] = []
    monkeypatch.setattr(
        os, "sched_setaffinity", lambda process, cpus: kept.append(list(cpus)), raising=False
    )
    Programs(monkeypatch)
    trainings(tmp_path, "base", "a").train([[4, 5], [6, 7]], tell=lambda text: None)
    assert kept == [[4, 5], [6, 7]]


def test_a_process_that_cannot_be_kept_on_its_cpus_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(process: int, cpus: Sequence[int]) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", refuse, raising=False)
    Programs(monkeypatch, base="import time; time.sleep(600)")
    told: list[str] = []
    with pytest.raises(AblationError, match="base: cannot be kept on CPU 4, 5: Operation not"):
        trainings(tmp_path, "base").train([[4, 5]], tell=told.append)
    assert told[-1] == "stops and saves base"


def test_the_cpus_of_each_run_are_remembered(tmp_path: Path) -> None:
    agree_on_cpus(tmp_path, 2, have_begun=False)
    agree_on_cpus(tmp_path, 1, have_begun=False)
    agree_on_cpus(tmp_path, 1, have_begun=True)
    assert read_num_cpus(tmp_path) == 1
    with pytest.raises(AblationError, match="jobs: CPUs of each run: got 2, allowed: 1, as the"):
        agree_on_cpus(tmp_path, 2, have_begun=True)
    (tmp_path / "cpus").unlink()
    with pytest.raises(AblationError, match="cpus: the CPUs of each run cannot be read"):
        agree_on_cpus(tmp_path, 1, have_begun=True)


def test_no_more_jobs_than_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("selfplay.cpus.most_shares", lambda: 3)
    assert ablate(write_file(tmp_path), "jobs=4") == 2
    assert "jobs: got '4', allowed: an integer from 1 to 3, the usable" in capsys.readouterr().err


# ----- who plays whom


def test_everybody_meets_the_base_and_that_the_anchors_the_strongest_first() -> None:
    assert pairings(["base", "a", "b"], ["weak", "strong"]) == [
        ("base", "strong"),
        ("base", "weak"),
        ("a", "base"),
        ("b", "base"),
    ]


# ----- all of it


def test_an_ablation_from_nothing_to_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_file(tmp_path)
    folder = tmp_path / "out"
    assert ablate(file) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "# Ablation tiny"
    assert out == (folder / "table.md").read_text()
    (heading,) = [place for place, line in enumerate(lines) if line.startswith("| variant")]
    rows = {cells[1].strip(): cells for line in lines[heading + 2 :] if (cells := line.split("|"))}
    assert set(rows) == {"base", "deeper"}
    assert rows["deeper"][2].strip() == "`selfplay.num_simulations=6`"
    assert rows["base"][2].strip() == "nothing"
    assert rows["base"][4].strip() == "8"
    assert "base: has been trained" in err
    assert f"CPUs of each run: {usable_cpus()}. " in lines[2]
    expected = pairings(["base", "deeper"], ["random", "uct:playouts=10"])
    assert results(file) == [list(pair) for pair in expected]

    # The same command does nothing again; a new variant is trained and rated with the others.
    assert ablate(file) == 0
    assert capsys.readouterr().out == out
    variants = FILE["variants"] | {"other": ["train.learning_rate=0.01"]}
    file = write_file(tmp_path, variants=variants)
    assert ablate(file, "--json") == 0
    out, err = capsys.readouterr()
    assert [line for line in err.splitlines() if "trains" in line] == [
        "alphago ablate: other: trains (3 of 3)"
    ]
    data = json.loads(out)
    runs = {run["name"]: run for run in data["runs"]}
    assert set(runs) == {"base", "deeper", "other"}
    assert runs["base"]["difference"] == 0
    assert runs["other"]["standard_error"] > 0
    assert runs["other"]["num_games"] == 4
    assert results(file)[len(expected) :] == [
        ["other", "base"],
    ]

    assert data["num_cpus"] == usable_cpus()

    # A run that is gone would be another one with old results.
    shutil.rmtree(folder / "runs" / "base")
    assert ablate(file) == 2
    assert "has results of an earlier base, whose run is gone" in capsys.readouterr().err
    shutil.rmtree(folder / "ratings")
    configs = compose_runs(load_ablation(file))
    assert Trainings(folder, lay_down(configs, folder), configs).missing == ["base"]


def test_a_stopped_ablation_saves_its_runs_which_go_on_the_next_time(tmp_path: Path) -> None:
    options = [text for text in TINY if not text.startswith("games=")]
    variants = {"a": ["seed=2"]}
    file = write_file(tmp_path, base=[*options, "games=100000"], variants=variants)
    folder = tmp_path / "out"
    base = folder / "runs" / "base"
    words = [sys.executable, "-m", "scripts.main", "ablate", str(file), f"folder={folder}"]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True) as program:
        wait_for_games(base, program)
        program.send_signal(signal.SIGTERM)
        _, err = program.communicate(timeout=START_S)
    assert program.returncode == 130, err
    assert "base: trains (1 of 2)" in err
    assert "stops and saves base" in err
    assert f"{folder} keeps what is done; the same command goes on" in err
    assert "stopped: interrupted" in (folder / "logs" / "base.log").read_text()

    configs = compose_runs(load_ablation(file))
    again = Trainings(folder, lay_down(configs, folder), configs)
    assert again.missing == ["base", "a"]
    assert again.have_begun
    assert json.loads((base / "state.json").read_text())["games"] >= 1
    assert list((base / "checkpoints").iterdir())


def wait_for_games(run: Path, program: "subprocess.Popen[str]") -> None:
    """Waits until the first games of a run are on the disk."""
    deadline = time.monotonic() + START_S
    while not any((run / "records").glob("*.npz")):
        assert time.monotonic() < deadline, "no game was finished"
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(timeout=0.1)
            raise AssertionError(program.communicate()[1])
