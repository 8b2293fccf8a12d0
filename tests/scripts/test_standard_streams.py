"""The program with standard streams that are closed, full, unread, or know not every letter."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripts.tiny_run import TINY
from tests.train.tiny import stored_records

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-m", "scripts.main"]
SECONDS = 120.0
LATIN_1 = os.fsdecode("gr\xf6\xdfe".encode("latin-1"))  # a name that is not UTF-8


def run(
    *words: str, streams: str, encoding: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs the program with its streams redirected as in a shell."""
    command = f"exec {shlex.join([*PROGRAM, *words])} {streams}"
    environment = dict(os.environ) | ({"PYTHONIOENCODING": encoding} if encoding else {})
    return subprocess.run(
        ["sh", "-c", os.fsencode(command)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=ROOT,
        env=environment,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize("streams", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_as_if_nobody_wrote_or_read(streams: str) -> None:
    done = run("play", "random", "game=tic_tac_toe", streams=streams)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (b"Goodbye: the input ended." in done.stdout) == (">" not in streams)


@pytest.mark.parametrize("streams", [">&-", ">/dev/full", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_run_needs_nobody_who_reads_of_it(streams: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = run("train", *TINY, f"run_dir={folder}", streams=streams)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert len(stored_records(folder)) >= 8
    lock = (folder / "lock").read_text(encoding="utf-8")
    assert len(lock.split()) == 2, "a file of the run has taken the place of a stream"


def test_runs_go_on_when_the_reader_has_gone(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [*PROGRAM, "train", "--multirun", *TINY, f"run_dir={tmp_path}", "seed=1,2"]
    try:
        done = subprocess.run(
            command, stdout=writer, stderr=subprocess.PIPE, cwd=ROOT, timeout=SECONDS, check=False
        )
    finally:
        os.close(writer)
    assert done.returncode == 0, done.stderr
    assert [len(stored_records(tmp_path / number)) >= 8 for number in "01"] == [True, True]


@pytest.mark.parametrize(
    ("name", "encoding"), [(LATIN_1, "utf-8:strict"), ("größe", "ascii:strict")]
)
def test_names_that_the_output_does_not_know_are_escaped(
    name: str, encoding: str, tmp_path: Path
) -> None:
    folder = str(tmp_path / name)
    shown = f"run: {folder}".encode("ascii", "backslashreplace")
    for words in (
        ["train", *TINY, f"run_dir={folder}"],
        ["resume", folder, "games=16"],
        ["check", folder],
        ["play", folder],
    ):
        done = run(*words, streams="", encoding=encoding)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        assert words[0] not in ("train", "resume") or shown in done.stdout.splitlines()
