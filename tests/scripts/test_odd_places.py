"""Runs on disks that are full or read-only, in odd folders, and copied to other machines."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alphago.errors import AlphagoError
from alphago.protocols.sgf import read_sgf
from scripts.checks.run import check_run
from scripts.main import main
from tests.scripts.tiny_run import TINY
from tests.train.tiny import stored_records, streams, tiny_config, train

ROOT = Path(__file__).resolve().parents[2]
LONG = "größe 1 mit einem langen Namen " * 6  # 186 characters


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A file system of its own, of 16 MB; the function mounts it again with other options."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options: str) -> Path:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            pytest.skip("nothing may be mounted here")
        return folder

    if shutil.which("mount") is None:
        pytest.skip("there is no program that mounts")
    mount("size=16m")
    try:
        yield mount
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def fill(path: Path, *, left: int) -> None:
    """Fills a disk but for some bytes."""
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    with path.open("r+b") as file:
        file.truncate(max(0, path.stat().st_size - left))


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """Returns what was said on standard error, which is one line."""
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("left", [0, 4096, 16384, 65536, 262144])
def test_a_run_on_a_full_disk_ends_with_the_reason_and_goes_on_when_there_is_room(
    left: int, disk: Callable[[str], Path]
) -> None:
    folder = disk("remount,size=16m")
    run = folder / "run"
    train(run, tiny_config(games=12))
    before = streams(stored_records(run))
    fill(folder / "filler", left=left)
    try:
        train(run, tiny_config(games=600), resume=True)
    except AlphagoError as error:
        said = str(error)
    else:
        pytest.fail("600 games found room on a full disk")
    assert "disk full" in said
    assert str(run) in said
    (folder / "filler").unlink()
    result = check_run(run, show=lambda done, total, remark: None)
    assert [finding for finding in result.findings if finding.is_wrong] == []
    kept = streams(stored_records(run))
    assert kept[: len(before)] == before
    assert train(run, tiny_config(games=len(kept) + 6), resume=True).num_games >= len(kept) + 6
    after = streams(stored_records(run))
    assert after[: len(kept)] == kept
    assert len(set(after)) == len(after)


def test_on_a_read_only_disk_runs_are_checked_and_nothing_else(
    disk: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = disk("remount,size=16m")
    run = folder / "run"
    assert main(["train", *TINY, f"run_dir={run}"]) == 0
    disk("remount,ro")
    capsys.readouterr()
    assert main(["check", str(run)]) == 0
    assert capsys.readouterr().out.endswith("\nsound\n")
    for words in (
        ["resume", str(run), "games=16"],
        ["check", str(run), "--repair"],
        ["train", *TINY, f"run_dir={folder / 'new'}"],
        ["report", str(run)],
    ):
        assert main(words) == 2
        assert "Read-only file system" in one_line(capsys)


def test_a_run_in_a_long_folder_with_odd_letters_is_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / LONG / LONG
    assert main(["train", *TINY, f"run_dir={run}"]) == 0
    assert main(["resume", str(run), "games=16"]) == 0
    assert main(["check", str(run)]) == 0
    out = capsys.readouterr().out
    assert out.endswith("\nsound\n")
    assert f"run: {run}\n" in out


def test_actors_play_for_a_run_in_a_long_folder_whatever_tmpdir_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    temporary = tmp_path / ("t" * 100)
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    run = tmp_path / LONG / "run"
    words = ["selfplay=ray", "selfplay.num_actors=1"]
    assert main(["train", *TINY, *words, f"run_dir={run}"]) == 0
    assert len(stored_records(run)) >= 8
    assert main(["check", str(run)]) == 0
    assert capsys.readouterr().out.endswith("\nsound\n")


def test_a_folder_whose_name_is_too_long_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *TINY, f"run_dir={tmp_path / ('ö' * 200)}"]) == 2
    assert "File name too long" in one_line(capsys)
    assert list(tmp_path.iterdir()) == []


def test_a_copied_run_goes_on_where_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    original = tmp_path / "original"
    assert main(["train", *TINY, f"run_dir={original}"]) == 0
    copy = Path(shutil.copytree(original, tmp_path / "elsewhere" / "ein Lauf"))
    before = {path: path.read_bytes() for path in original.rglob("*") if path.is_file()}
    assert main(["resume", str(copy), "games=16"]) == 0
    assert {path: path.read_bytes() for path in original.rglob("*") if path.is_file()} == before
    assert len(stored_records(copy)) >= 16
    assert main(["check", str(copy)]) == 0
    capsys.readouterr()


def test_a_run_of_a_machine_with_a_gpu_goes_on_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("alphago.network.evaluator.cuda_fault", lambda: "no CUDA device")
    run = tmp_path / "run"
    assert main(["train", *TINY, f"run_dir={run}"]) == 0
    config = run / "config.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("device: cpu", "device: cuda"), encoding="utf-8")
    capsys.readouterr()
    assert main(["resume", str(run), "games=16"]) == 2
    assert "evaluator.device: got 'cuda', allowed: auto or cpu" in one_line(capsys)
    assert main(["resume", str(run), "games=16", "evaluator.device=auto"]) == 0


def test_a_match_tells_of_a_player_whose_name_is_no_utf_8(tmp_path: Path) -> None:
    log = os.fsencode(tmp_path) + b"/caf\xe9.log"
    engine = f"gtp:{sys.executable} -m scripts.main gtp random game=go_5x5 log=".encode() + log
    words = [engine, "random", "game=go_5x5", "games=2", f"sgf={tmp_path / 'games'}"]
    done = subprocess.run(
        [sys.executable, "-m", "scripts.main", "match", *words],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict", "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert rb"caf\udce9.log" in done.stdout
    (sgf,) = read_sgf(tmp_path / "games" / "001.sgf")
    assert any(name.endswith(r"caf\udce9.log") for name in (sgf.black_name, sgf.white_name))
