"""`alphago check`: what it finds in runs that were harmed, and what it sets aside."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import scripts.checks.checkpoints as check_checkpoints_module
from alphago.errors import CheckpointError
from alphago.games import make_game
from scripts.checks.findings import CheckResult, describe
from scripts.checks.run import check_run, repair_run
from scripts.main import main
from selfplay.records import read_records, write_records
from tests.reference.game_records import make_record
from tests.train.tiny import log_lines, stored_records, streams, tiny_config, train
from train.checkpoint import load_checkpoint
from train.run_folder import locked

NEVER = {"gate.threshold_percent": 101}  # promotes


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of three iterations, in a folder with a space and an umlaut."""
    folder = tmp_path_factory.mktemp("größe 1") / "run"
    train(folder, tiny_config(NEVER, games=18))
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, to be harmed."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def check(run: Path) -> CheckResult:
    return check_run(run, show=lambda done, total, remark: None)


def repair(run: Path) -> CheckResult:
    return repair_run(run, show=lambda done, total, remark: None)


def wrong(result: CheckResult) -> list[str]:
    """Returns a line for each fault that is left."""
    return [f"{f.where}: {f.what} -> {f.follows}" for f in result.findings if f.is_wrong]


def notes(result: CheckResult) -> list[str]:
    return [f"{f.where}: {f.what}" for f in result.findings if f.level == "note"]


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def newest(run: Path) -> Path:
    return max(path for path in (run / "checkpoints").iterdir() if path.name.isdecimal())


def games_file(run: Path, place: int = -1) -> Path:
    return sorted((run / "records").glob("*.npz"))[place]


# --- a sound run ---


def test_a_sound_run_is_sound_and_stays_as_it_is(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(run)
    assert main(["check", str(run)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[0] == f"run: {run}"
    assert out.splitlines()[-1] == "sound"
    assert main(["check", str(run), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sound"]
    assert not told["in_use"]
    assert told["findings"] == []
    assert told["checked"] == {
        "checkpoints": 4,
        "files of games": len(list((run / "records").iterdir())),
        "games": len(stored_records(run)),
        "iterations of the log": 3,
    }
    assert contents(run) == before


def test_a_run_that_has_not_begun_is_sound(run: Path) -> None:
    for path in run.iterdir():
        if path.name != "config.yaml":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    result = check(run)
    assert wrong(result) == []
    assert notes(result) == ["checkpoints: there is none yet"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("nowhere", "no such folder"), ("records", "is not a run"), ("checkpoints/0", "its run")],
)
def test_what_is_no_run_is_refused(
    name: str, message: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = newest(run) if name == "checkpoints/0" else run / name
    assert main(["check", str(folder)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


# --- what was harmed ---


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_bits(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    for at in range(middle, middle + 40):  # more than what a header has of dates
        content[at] ^= 4
    path.write_bytes(content)


def replace_in(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def spoil_a_game(run: Path) -> None:
    records = read_records(games_file(run))
    records[1].actions[1] = records[1].actions[0]  # the cell is taken
    write_records(games_file(run), records)


def turn_a_result(run: Path) -> None:
    for path in sorted((run / "records").glob("*.npz")):
        records = read_records(path)
        for record in records:
            if record.returns.any():  # it is no draw
                record.returns[:] = -record.returns
                write_records(path, records)
                return


def set_column(path: Path, name: str, value: object) -> None:
    with np.load(path) as archive:
        columns = dict(archive)
    columns[name] = np.array(value)
    with path.open("wb") as file:
        np.savez_compressed(file, **columns)


def put_a_foreign_game(run: Path) -> None:
    record = make_record(make_game("connect_four"), [3])
    write_records(run / "records" / f"{len(stored_records(run)):09d}-1.npz", [record])


def copy_games(run: Path) -> None:
    path, end = games_file(run, 0), len(stored_records(run))
    count = path.stem.partition("-")[2]
    shutil.copy(path, path.with_name(f"{end:09d}-{count}.npz"))


def rename_with_count(run: Path) -> None:
    path = games_file(run)
    first, _, count = path.stem.partition("-")
    path.rename(path.with_name(f"{first}-{int(count) + 1}.npz"))


def remove_config(run: Path) -> None:
    (run / "config.yaml").unlink()


def edit_state(run: Path) -> None:
    replace_in(run / "state.json", '"best_step": 0', '"best_step": 5555')


# By name: what is done to the run, where it is found, what is said, and what follows.
HARMS: dict[str, tuple[Callable[[Path], object], str, str, str]] = {
    "newest checkpoint": (
        lambda run: truncate(newest(run) / "trainer.safetensors"),
        "checkpoints/",
        "trainer.safetensors: has ",
        "the run goes on from 0",
    ),
    "older checkpoint": (
        lambda run: flip_bits(sorted((run / "checkpoints").iterdir())[1] / "best.safetensors"),
        "checkpoints/",
        "best.safetensors: broken, its checksum",
        "its network is lost",
    ),
    "manifest": (
        lambda run: (newest(run) / "manifest.json").unlink(),
        "checkpoints/",
        "manifest.json: cannot be read (No such file",
        "the run goes on from 0",
    ),
    "truncated games": (
        lambda run: truncate(games_file(run)),
        "records/",
        "broken: ",
        "games are lost; a run that goes on sets it aside",
    ),
    "empty games": (
        lambda run: games_file(run).write_bytes(b""),
        "records/",
        "broken: ",
        "games are lost",
    ),
    "flipped games": (
        lambda run: flip_bits(games_file(run, 0)),
        "records/000000000-",
        "broken: ",
        "games are lost",
    ),
    "illegal move": (
        spoil_a_game,
        "records/",
        "games unsound, first tic_tac_toe game",
        "these are not learnt from",
    ),
    "result": (
        turn_a_result,
        "records/",
        "replays to the result",
        "these are not learnt from",
    ),
    "games twice": (
        copy_games,
        "records/",
        "games are in another file too, first tic_tac_toe game",
        "these are learnt from twice",
    ),
    "schema": (
        lambda run: set_column(games_file(run), "schema_version", 2),
        "records/",
        "schema version 2, this program reads 1",
        "a run that goes on stops",
    ),
    "foreign game": (
        put_a_foreign_game,
        "records/",
        "is of connect_four, not of tic_tac_toe",
        "a run that goes on stops",
    ),
    "count": (rename_with_count, "records/", "its name says", "games are counted wrongly"),
    "state": (
        lambda run: (run / "state.json").write_text("{", encoding="utf-8"),
        "state.json",
        "no JSON",
        "tools are misled",
    ),
    "counters": (edit_state, "state.json", "best_step: got 5555, checkpoint 0", "tools are"),
    "best": (
        lambda run: (run / "best").write_text("00000777\n", encoding="utf-8"),
        "best",
        "names the checkpoint '00000777', which is not there",
        "`alphago play` finds no network",
    ),
    "best upwards": (
        lambda run: (run / "best").write_text("..\n", encoding="utf-8"),
        "best",
        "names the checkpoint '..', which is not there",
        "`alphago play` finds no network",
    ),
    "best of bytes": (
        lambda run: (run / "best").write_bytes(b"\xff\xfe"),
        "best",
        "no text",
        "`alphago play` finds no network",
    ),
    "sittings": (
        lambda run: (run / "sittings").write_text("many", encoding="utf-8"),
        "sittings",
        "got 'many'",
        "`alphago resume` is refused",
    ),
    "lost sittings": (
        lambda run: (run / "sittings").unlink(),
        "sittings",
        "says that 0 processes have worked on the run; it must be 1",
        "plays games twice",
    ),
    "config": (
        lambda run: replace_in(run / "config.yaml", "seed: 1\n", "seed: one\n"),
        "config.yaml",
        "seed: ",
        "`alphago resume` is refused; checkpoint 0",
    ),
    "lost config": (remove_config, "config.yaml", "No such file", "`alphago resume` is refused"),
}


@pytest.mark.parametrize("name", HARMS)
def test_harm_is_found_and_repaired_without_a_loss(name: str, run: Path) -> None:
    harm, where, what, follows = HARMS[name]
    harm(run)
    before = contents(run)
    (fault,) = wrong(check(run))
    assert fault.startswith(where)
    assert what in fault.partition(": ")[2]
    assert follows in fault.partition(" -> ")[2]
    assert contents(run) == before
    repaired = repair(run)
    assert wrong(repaired) == []
    assert sum(finding.repaired is not None for finding in repaired.findings) == 1
    after = set(contents(run).values())
    lost = {path for path, content in before.items() if content not in after}
    assert lost <= {"best", "lock"}  # pointers of a line; all else is still there somewhere
    assert wrong(check(run)) == []


def test_a_run_that_is_harmed_everywhere_goes_on_after_its_repair(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    num_games = len(stored_records(run))
    names = ("newest checkpoint", "flipped games", "illegal move", "state", "best", "sittings")
    for name in names:
        HARMS[name][0](run)
    assert main(["check", str(run)]) == 1
    out, err = capsys.readouterr()
    assert f"{len(names)} wrong; --repair sets aside what is broken" in out
    assert err == f"alphago check: error: {run} is not sound\n"
    assert main(["check", str(run), "--repair"]) == 0
    out = capsys.readouterr().out
    assert f"sound, {len(names)} repaired" in out
    assert "set aside as records/broken/000000000-" in out
    before = streams(stored_records(run))
    result = train(run, tiny_config(NEVER, games=num_games + 6), resume=True)
    assert result.num_games >= num_games + 6
    after = streams(stored_records(run))
    assert after[: len(before)] == before
    assert len(set(after)) == len(after)  # no stream was used twice
    assert wrong(check(run)) == []
    assert [line["games"] for line in log_lines(run, "sitting")] == [0, num_games]


def test_games_that_are_gone_are_counted_and_stay_gone(run: Path) -> None:
    num_games = len(stored_records(run))
    lost = [games_file(run, 1), games_file(run)]
    for path in lost:
        path.unlink()
    num_lost = num_games - len(stored_records(run))
    (fault,) = wrong(check(run))
    assert fault.startswith(f"records: {num_lost} games are missing: number ")
    assert fault.endswith("the run goes on without them")
    assert wrong(repair(run)) == [fault]


def test_the_sound_games_of_a_file_stay_in_their_order(run: Path) -> None:
    before = streams(stored_records(run))
    spoil_a_game(run)
    bad = read_records(games_file(run))[1].name
    repair(run)
    assert streams(stored_records(run)) == [each for each in before if each != bad]


def test_without_a_sound_checkpoint_nothing_is_moved(run: Path) -> None:
    for folder in (run / "checkpoints").iterdir():
        (folder / "weights.safetensors").unlink()
    faults = wrong(check(run))
    assert len(faults) == 4
    assert all(fault.endswith("no checkpoint is sound: the run cannot go on") for fault in faults)
    assert wrong(repair(run)) == faults
    shutil.rmtree(run / "checkpoints")
    (fault,) = wrong(check(run))
    assert fault.startswith("checkpoints: there is none, but games were played")


def test_a_checkpoint_of_another_name_is_told(run: Path) -> None:
    newest(run).rename(run / "checkpoints" / "00009999")
    faults = wrong(check(run))
    assert any("is named 00009999, its manifest says step" in fault for fault in faults)
    assert wrong(repair(run)) == []
    assert wrong(check(run)) == []


def test_counters_that_fall_from_one_checkpoint_to_the_next_are_told(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = load_checkpoint

    def load_altered(folder: Path) -> object:
        checkpoint = load(folder)
        if folder.name == "00000000":
            checkpoint.state["num_games"] = 1000
        return checkpoint

    monkeypatch.setattr(check_checkpoints_module, "load_checkpoint", load_altered)
    (fault,) = wrong(check(run))
    assert "games falls from 1,000 to " in fault
    assert "since 00000000" in fault


@pytest.mark.parametrize("best", ["..", "²", "9" * 5000, ""], ids=len)
def test_a_checkpoint_that_names_an_odd_best_one_is_broken(
    best: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = load_checkpoint

    def load_altered(folder: Path) -> object:
        checkpoint = load(folder)
        checkpoint.state["best_checkpoint"] = best
        return checkpoint

    monkeypatch.setattr(check_checkpoints_module, "load_checkpoint", load_altered)
    faults = wrong(check(run))
    assert len(faults) == 4
    assert all("best_checkpoint: got " in fault for fault in faults)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("best_step", 10**6, "best_step: got 1000000, allowed: at most its step"),
        ("version", 99, "version: got 99 promotions in 3 iterations"),
    ],
)
def test_counters_of_a_checkpoint_that_contradict_each_other_are_told(
    key: str, value: int, message: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, name = load_checkpoint, newest(run).name

    def load_altered(folder: Path) -> object:
        checkpoint = load(folder)
        if folder.name == name:
            checkpoint.state["counters"][key] = value
        return checkpoint

    monkeypatch.setattr(check_checkpoints_module, "load_checkpoint", load_altered)
    assert any(message in fault for fault in wrong(check(run)))


# --- small files that are no loss ---


def test_what_a_run_makes_anew_is_a_note(run: Path) -> None:
    (run / "state.json").unlink()
    (run / "best").unlink()
    with (run / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"event": "iter')
    result = check(run)
    assert wrong(result) == []
    assert sorted(notes(result)) == [
        "best: missing",
        "log.jsonl: 1 lines cannot be read",
        "state.json: missing",
    ]


def test_a_summary_from_before_the_newest_checkpoint_is_a_note(run: Path) -> None:
    summary = json.loads((run / "state.json").read_text(encoding="utf-8"))
    summary |= {"step": summary["step"] - 1, "iteration": 2}
    (run / "state.json").write_text(json.dumps(summary), encoding="utf-8")
    assert notes(check(run)) == [f"state.json: older than checkpoint {newest(run).name}"]


def test_a_checkpoint_that_only_the_summary_knows_is_lost(run: Path) -> None:
    gone = newest(run).name
    shutil.rmtree(newest(run))
    faults = wrong(check(run))
    assert any(f"tells of checkpoint {gone}, which is gone" in fault for fault in faults)
    assert wrong(repair(run)) == []


def test_a_log_that_lacks_its_end_or_falls_is_told(run: Path) -> None:
    path = run / "log.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
    (fault,) = wrong(check(run))
    assert fault.startswith("log.jsonl: ends at step")
    last = json.loads(lines[-1])
    fallen = json.dumps(last | {"selfplay/games": 1, "step": last["step"] + 1})
    path.write_text("\n".join([*lines, fallen]) + "\n", encoding="utf-8")
    (fault,) = wrong(check(run))
    assert "games fall 1 times, first from " in fault
    assert fault.partition(" -> ")[0].endswith(" to 1")
    assert wrong(repair(run)) == [fault]


def test_a_suite_that_stayed_on_another_machine_is_a_note(run: Path) -> None:
    replace_in(run / "config.yaml", "file: null", "file: /elsewhere/suite.json")
    result = check(run)
    assert wrong(result) == []
    (note,) = notes(result)
    assert note.startswith("config.yaml: suite.file: ")
    assert "/elsewhere/suite.json" in note


# --- a run in use ---


def test_a_run_in_use_is_read_and_not_repaired(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with locked(run):
        before = contents(run)
        assert main(["check", str(run)]) == 0
        assert "in use by another process" in capsys.readouterr().out
        assert main(["check", str(run), "--repair"]) == 2
        assert "the run is in use by another process (process" in capsys.readouterr().err
        assert contents(run) == before


def test_a_checkpoint_that_the_run_removes_meanwhile_is_no_fault(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = load_checkpoint

    def prune_first(folder: Path) -> object:
        if folder.name == "00000000":
            shutil.rmtree(folder, ignore_errors=True)
        return load(folder)

    monkeypatch.setattr(check_checkpoints_module, "load_checkpoint", prune_first)
    (run / "best").write_text(f"{newest(run).name}\n", encoding="utf-8")
    result = check(run)
    assert result.counts["checkpoints"] == 3
    assert wrong(result) == []


def test_a_checkpoint_that_is_being_replaced_is_read_again(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, tried = load_checkpoint, []

    def fail_once(folder: Path) -> object:
        tried.append(folder.name)
        if tried.count(folder.name) == 1:
            raise CheckpointError(f"{folder}/manifest.json: cannot be read")
        return load(folder)

    monkeypatch.setattr(check_checkpoints_module, "load_checkpoint", fail_once)
    assert wrong(check(run)) == []


# --- how it is told ---


def test_many_findings_are_cut_in_the_table_alone(run: Path) -> None:
    (finding,) = (spoil_a_game(run), check(run).findings)[1]
    many = CheckResult(run, False, {"games": 3}, [finding] * 50)
    lines = describe(many).splitlines()
    assert sum(line.startswith("fault") for line in lines) == 40
    assert "... and 10 more; --json lists all" in lines


def test_a_run_that_was_extended_is_sound(tmp_path: Path) -> None:
    """Its share that is done falls with a higher limit."""
    changes = {"gate.mode": "off", "selfplay.simulations_growth": 2.0}
    train(tmp_path, tiny_config(changes, games=12))
    train(tmp_path, tiny_config(changes, games=36), resume=True)
    assert wrong(check(tmp_path)) == []
    summary = json.loads((tmp_path / "state.json").read_text(encoding="utf-8"))
    del summary["best_progress"], summary["judged_step"]  # as runs saved before them have it
    (tmp_path / "state.json").write_text(json.dumps(summary), encoding="utf-8")
    assert wrong(check(tmp_path)) == []
