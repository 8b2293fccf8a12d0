"""Ray: short folders, localhost only, nothing left behind."""

import fcntl
import os
from pathlib import Path

import psutil
import pytest
import ray
from ray._private import worker

from alphago.errors import TrainingError
from scripts import ray_session as module
from scripts.arguments import CommandLineError
from scripts.ray_session import LOCK_FILE, ray_session, remove_leftovers


def test_session_is_silent_listens_on_this_machine_only_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    monkeypatch.setenv("HOME", str(tmp_path))
    with ray_session(num_actors=1):
        told = {"lines": ["A worker died"], "pid": "raylet", "is_err": False}
        worker.print_to_stdstream(told, ignore_prefix=False)  # what Ray does when an actor dies
        assert ray.cluster_resources()["CPU"] == 1
        children = psutil.Process().children(recursive=True)
        addresses = {
            connection.laddr.ip
            for process in [psutil.Process(), *children]
            if process.is_running()
            for connection in process.net_connections(kind="tcp")
            if connection.status == psutil.CONN_LISTEN
        }
    assert addresses <= {"127.0.0.1", "::ffff:127.0.0.1"}
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    assert capfd.readouterr() == ("", "")
    assert not (tmp_path / ".ray").exists()  # no token in the home folder


def test_an_actor_that_stands_still_is_not_left_behind() -> None:
    with ray_session(num_actors=1):
        actor = ray.remote(ProcessId).remote()
        process = psutil.Process(ray.get(actor.get.remote()))
        process.suspend()
    _, alive = psutil.wait_procs([process], timeout=10)
    assert alive == []


class ProcessId:
    """An actor that tells its process."""

    def get(self) -> int:
        return os.getpid()


def test_folder_that_is_too_long_for_sockets_is_refused_before_ray_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_FOLDER_BYTES", 5)
    with pytest.raises(CommandLineError, match="sockets"), ray_session(num_actors=1):
        pass
    assert not ray.is_initialized()


def test_ray_that_does_not_start_is_an_error_of_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def time_out(**settings: object) -> None:
        raise Exception("The current node timed out during startup.")

    folder = tmp_path / "ray"
    folder.mkdir()
    monkeypatch.setattr(module, "short_folder", lambda: folder)
    monkeypatch.setattr(ray, "init", time_out)
    expected = "Ray does not start: The current node timed out during startup."
    with pytest.raises(TrainingError, match=expected), ray_session(num_actors=1):
        pytest.fail("nothing runs without Ray")
    assert not folder.exists()


def test_a_folder_that_daemons_still_write_to_is_left_to_the_next_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "alphago-ended"
    folder.mkdir()
    (folder / LOCK_FILE).touch()
    with monkeypatch.context() as patch:
        patch.setattr(module.shutil, "rmtree", lambda path, **how: (path / LOCK_FILE).unlink())
        remove_leftovers(tmp_path)
    assert [path.name for path in folder.iterdir()] == [LOCK_FILE]
    remove_leftovers(tmp_path)
    assert not folder.exists()


def test_only_folders_of_killed_sessions_are_removed(tmp_path: Path) -> None:
    for name in ("alphago-killed", "alphago-running", "alphago-new", "other-killed"):
        (tmp_path / name).mkdir()
    for name in ("alphago-killed", "alphago-running", "other-killed"):
        (tmp_path / name / LOCK_FILE).touch()
    with (tmp_path / "alphago-running" / LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove_leftovers(tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["alphago-new", "alphago-running", "other-killed"]
