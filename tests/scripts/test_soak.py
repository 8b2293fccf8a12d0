"""The soak: its plan, what it sees, what it holds against a run, and its report."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from scripts.soak import __main__ as program
from scripts.soak import invariants
from scripts.soak.disk import Disk
from scripts.soak.endings import ENDINGS, fault_of_ending
from scripts.soak.harm import FATAL, HARMS
from scripts.soak.observer import Observer
from scripts.soak.plan import KINDS, SECONDS, make_plan
from scripts.soak.report import as_data, as_text
from scripts.soak.soak import Faults, Made, Result, Settings, possible_kinds
from selfplay.records import read_records, write_records
from tests.train.tiny import tiny_config, train

# ----- the plan


def test_every_kind_can_be_made_and_every_end_belongs_to_a_kind() -> None:
    names = {kind.name for kind in KINDS}
    assert set(HARMS) == names
    assert set(ENDINGS) - names == {"limit"}
    assert set(ENDINGS) >= FATAL


def test_the_seed_decides_the_plan_and_no_kind_is_missing() -> None:
    plan = make_plan(KINDS, num_faults=400, seed=1)
    assert plan == make_plan(KINDS, num_faults=400, seed=1)
    assert plan != make_plan(KINDS, num_faults=400, seed=2)
    assert {fault.kind for fault in plan[: len(KINDS)]} == {kind.name for kind in KINDS}
    counts = Counter(fault.kind for fault in plan)
    assert counts["actor_killed"] > counts["actor_hung"] > 0
    assert all(SECONDS[0] <= fault.seconds < SECONDS[1] for fault in plan)
    assert all(0 <= fault.share < 1 for fault in plan)
    assert len(make_plan(KINDS, num_faults=3, seed=1)) == 3


def test_what_a_machine_does_not_permit_is_left_out_with_the_reason(tmp_path: Path) -> None:
    kinds, left_out = possible_kinds(Disk(tmp_path, ""), only=None)
    assert set(left_out) == {"disk_full", "disk_slow"}
    assert {kind.name for kind in kinds} | set(left_out) == {kind.name for kind in KINDS}
    kinds, left_out = possible_kinds(
        Disk(tmp_path, "tmpfs"), only=("disk_full", "disk_slow", "actor_killed")
    )
    assert {kind.name for kind in kinds} == {"disk_full", "actor_killed"}
    assert "fsfreeze" in left_out["disk_slow"]
    assert left_out["driver_killed"] == "was not asked for"


# ----- ends


@pytest.mark.parametrize(
    ("kind", "code", "text", "is_allowed"),
    [
        ("driver_killed", -signal.SIGKILL, "", True),
        ("driver_killed", -signal.SIGSEGV, "", False),
        ("driver_interrupted", 0, "report it: alphago report\n", True),
        ("driver_interrupted", 0, "", False),
        ("driver_interrupted", 130, "", False),
        ("driver_interrupted_twice", 130, "", True),
        ("disk_full", 2, "x\nalphago train: error: records: cannot be written: disk full\n", True),
        ("disk_full", 2, "alphago train: error: something else\n", False),
        ("disk_full", 1, "disk full", False),
        ("actor_killed", 1, "error: selfplay.max_restarts=6 is used up", True),
        ("actor_stopped", 0, "", False),
        ("disk_full", 2, "Traceback (most recent call last):\n  disk full", False),
    ],
)
def test_which_ends_are_in_order(kind: str, code: int, text: str, is_allowed: bool) -> None:
    assert (fault_of_ending(kind, code=code, text=text) == "") == is_allowed


# ----- what must hold


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("soak") / "run"
    train(folder, tiny_config(games=12))
    return folder


@pytest.fixture
def observer(finished: Path, tmp_path: Path) -> Observer:
    """What was seen of a copy of a sound run."""
    seen = Observer(Path(shutil.copytree(finished, tmp_path / "run")))
    seen.note_sitting()
    return seen


def newest_file(observer: Observer) -> Path:
    return max((observer.run / "records").iterdir())


def test_nothing_speaks_against_a_sound_run(observer: Observer) -> None:
    records, unread = invariants.all_records(observer)
    assert len(records) == observer.num_games == observer.games_told() >= 12
    assert unread == observer.faults == []
    assert invariants.lost_games(observer) == []
    assert invariants.stored_twice(records) == []
    assert invariants.not_replayed(records, game_name="tic_tac_toe") == []
    assert invariants.broken_checkpoints(observer.run) == []


def test_a_file_that_is_gone_or_has_changed_is_held_against_a_run(observer: Observer) -> None:
    path = newest_file(observer)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert invariants.lost_games(observer) == [f"{path.name} has changed"]
    (fault,) = invariants.all_records(observer)[1]
    assert path.name in fault
    path.unlink()
    assert invariants.lost_games(observer) == [f"{path.name} is gone"]


def test_games_that_the_log_knows_and_the_disk_does_not_are_held_against_it(
    observer: Observer,
) -> None:
    path = newest_file(observer)
    num_games, count = observer.num_games, len(read_records(path))
    del observer.files[path.name]
    path.unlink()
    assert f"{num_games} games were told of, {num_games - count} are on the disk" in (
        invariants.lost_games(observer)
    )


def test_games_stored_twice_and_gaps_are_held_against_it(observer: Observer) -> None:
    records = read_records(newest_file(observer))
    number = observer.num_games + 5
    write_records(observer.run / "records" / f"{number:09d}-{len(records)}.npz", records)
    observer.look()
    assert f"game {number - 5} is followed by game {number}" in invariants.lost_games(observer)
    twice = invariants.stored_twice(invariants.all_records(observer)[0])
    assert twice == [f"{record}: 2 times" for record in records]


def test_broken_checkpoints_and_a_wrong_best_are_held_against_it(observer: Observer) -> None:
    newest = max((observer.run / "checkpoints").iterdir())
    (newest / "weights.safetensors").write_bytes(b"")
    (observer.run / "best").write_text("00009999\n")
    faults = invariants.broken_checkpoints(observer.run)
    assert len(faults) == 2
    assert newest.name in faults[0]
    assert "00009999" in faults[1]


def test_counters_that_fall_are_held_against_it(observer: Observer) -> None:
    shutil.rmtree(max((observer.run / "checkpoints").iterdir()))
    observer.note_sitting()
    assert any(fault.startswith("step fell from") for fault in observer.faults)


def test_a_process_that_lives_on_is_held_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariants, "LEFT_BEHIND_S", 0.0)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        seen = psutil.Process(process.pid)
        (fault,) = invariants.processes_left({seen})
        assert f"process {process.pid} " in fault
    assert invariants.processes_left({seen}) == []


def test_new_shared_memory_that_nobody_uses_is_held_against_it(tmp_path: Path) -> None:
    before = invariants.shared_memory()
    path = Path("/dev/shm") / f"alphago-test-{os.getpid()}-{time.time_ns()}"
    try:
        with path.open("w"):
            assert path.name not in invariants.shared_memory_left(before)
        assert path.name in invariants.shared_memory_left(before)
    finally:
        path.unlink()


# ----- report and command line

SETTINGS = Settings(
    minutes=1.0,
    num_faults=2,
    seed=1,
    game="tic_tac_toe",
    loop="synchronous",
    folder=Path("/tmp/soak"),
    only=None,
)


def test_a_report_tells_kinds_and_invariants() -> None:
    result = Result(
        seconds=60.0,
        faults=Faults(
            made=[Made("actor_killed", 1.0, False, 2.0), Made("actor_killed", 9.0, True, 4.0)],
            missed=["ray_killed"],
        ),
        left_out={"disk_slow": "no disk of its own"},
        sittings=[],
        counters=None,
        invariants={"counters never fall": [], "no finished game is lost": ["one is", *"abcdef"]},
    )
    text = as_text(SETTINGS, result)
    assert "actor_killed  2     1 " in text
    assert "3.0 s" in text
    assert "left out: disk_slow: no disk of its own" in text
    assert "holds: counters never fall" in text
    assert "FAILS: no finished game is lost\n    one is\n" in text
    assert "and 2 more" in text
    assert "could not be made: ray_killed" in text
    data = json.loads(json.dumps(as_data(SETTINGS, result)))
    made = data["faults"]["made"]
    assert (data["holds"], data["settings"]["seed"], len(made)) == (False, 1, 2)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "folder: missing"),
        (["folder=/proc/soak"], "folder: /proc/soak: cannot be made"),
        (["folder=x", "faults=-1"], "faults: got '-1'"),
        (["folder=x", "loop=both"], "loop: got 'both'"),
        (["folder=x", "only=actor_kiled"], "nearest: actor_killed"),
        (["folder=x", "game=chess"], "chess"),
        (["folder=x", "fault=1"], "nearest: faults"),
    ],
)
def test_wrong_words_are_one_line_and_make_no_folder(
    words: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert program.main(words) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.count("\n") == 1
    assert named in errors
    assert list(tmp_path.iterdir()) == []


def test_help_names_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(kind.text in text for kind in KINDS)
