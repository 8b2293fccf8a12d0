"""A run whose folder cannot be written to, or that ended at a bad moment: one clear error each."""

import errno
import json
import os
import resource
from pathlib import Path

import pytest

from alphago.errors import CheckpointError
from tests.train.tiny import log_lines, tiny_config, train
from train import session as session_module
from train.metrics import MetricsWriter
from train.run_folder import locked

FULL = Path("/dev/full")  # every write to it fails as on a full disk


def test_a_lock_that_cannot_be_taken_is_named(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(CheckpointError, match="lock: cannot be written: Is a directory"):
        train(tmp_path, tiny_config(games=6))


def test_errors_of_the_run_itself_are_not_blamed_on_the_lock(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="of the run"), locked(tmp_path):
        raise OSError("of the run")


def test_a_disk_without_room_for_the_lock_is_one_error(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with (
            pytest.raises(CheckpointError, match="lock: cannot be written: File too large"),
            locked(tmp_path),
        ):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_under_the_log_ends_the_run_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "train.metrics.refuse_links",
        lambda path, flags: os.open(FULL if "log.jsonl" in os.fspath(path) else path, flags),
    )
    with pytest.raises(CheckpointError, match=r"log\.jsonl: cannot be written: disk full"):
        train(tmp_path, tiny_config(games=6))


@pytest.mark.parametrize("name", ["config.yaml", "state.json"])
def test_a_small_file_that_cannot_be_written_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = os.fsync

    def fill_up(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}") == str(tmp_path / f"{name}.tmp"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fill_up)
    with pytest.raises(CheckpointError, match=f"{name}: cannot be written: disk full"):
        train(tmp_path, tiny_config(games=6))


def test_a_full_disk_under_tensorboard_is_one_error_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = MetricsWriter(tmp_path, first_step=1)
    monkeypatch.setattr(
        "train.metrics.refuse_links",
        lambda path, flags: os.open(FULL if "tensorboard" in os.fspath(path) else path, flags),
    )
    with pytest.raises(CheckpointError, match="tensorboard/.*: cannot be written: disk full"):
        writer.scalars(3, {"loss/total": 1.0})


def test_a_line_that_was_broken_off_does_not_spoil_the_next(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(b'{"event": "sitting", "st')
    writer = MetricsWriter(tmp_path, first_step=1)
    writer.event("iteration", {"step": 3})
    broken, whole = (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert broken == '{"event": "sitting", "st'
    assert json.loads(whole)["step"] == 3


def test_whole_lines_stay_as_they_are(tmp_path: Path) -> None:
    for step in (1, 2):
        writer = MetricsWriter(tmp_path, first_step=step)
        writer.event("iteration", {"step": step})
    assert [line["step"] for line in log_lines(tmp_path)] == [1, 2]


def test_a_run_stopped_while_its_parts_are_made_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object, **keywords: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(session_module, "make_pool", stop)
        train(tmp_path, tiny_config(games=6))
    assert (tmp_path / "config.yaml").is_file()  # what makes the folder a run
    assert train(tmp_path, tiny_config(games=6), resume=True).num_games >= 6
