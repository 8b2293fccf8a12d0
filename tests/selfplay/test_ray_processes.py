"""Ray's own processes: looked for before Ray is called, and told in one line once they ended."""

import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from selfplay import ray_processes
from selfplay.ray_processes import RayLostError, RayProcesses


@contextlib.contextmanager
def listening() -> Iterator[tuple[str, int]]:
    """Holds a port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=1) as server:
        yield server.getsockname()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(ray_processes, "_is_client", lambda: False)
    return monkeypatch


def test_process_that_has_ended_is_told_by_name_and_place(here: pytest.MonkeyPatch) -> None:
    with listening() as raylet:
        with listening() as control:
            addresses = {"raylet": raylet, "control service": control}
            here.setattr(ray_processes, "_addresses", lambda: addresses)
            processes = RayProcesses()
            processes.look_now()
        with pytest.raises(RayLostError, match=rf"control service at 127.0.0.1:{control[1]} has"):
            processes.look_now()
    with pytest.raises(RayLostError, match=rf"raylet at 127.0.0.1:{raylet[1]} has ended"):
        processes.look_now()


def test_process_that_is_too_busy_to_accept_is_there(here: pytest.MonkeyPatch) -> None:
    here.setattr(ray_processes, "ANSWER_S", 0.05)
    with listening() as raylet, contextlib.ExitStack() as waiting:
        here.setattr(ray_processes, "_addresses", lambda: {"raylet": raylet})
        for _ in range(8):  # more than the backlog: from then on connections wait
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(raylet)
        RayProcesses().look_now()


def test_looks_at_most_once_a_second(here: pytest.MonkeyPatch) -> None:
    with listening() as raylet:
        here.setattr(ray_processes, "_addresses", lambda: {"raylet": raylet})
        processes = RayProcesses()
    processes.look()
    here.setattr(ray_processes, "LOOK_EVERY_S", 0.0)
    with pytest.raises(RayLostError):
        processes.look()


def test_ray_that_has_ended_is_not_left(here: pytest.MonkeyPatch) -> None:
    here.setattr(ray_processes.ray, "shutdown", lambda: pytest.fail("Ray was called"))
    with listening() as raylet:
        here.setattr(ray_processes, "_addresses", lambda: {"raylet": raylet})
        processes = RayProcesses()
    processes.leave()


@pytest.mark.parametrize(
    ("name", "expected"), [("raylet", "Ray's raylet"), ("gcs_server", "Ray's control service")]
)
def test_run_whose_ray_is_killed_ends_with_the_reason(
    name: str, expected: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "scripts.main", "train", "game=tic_tac_toe", "network=tiny"]
    command += ["selfplay=ray", "selfplay.num_actors=1", "suite.file=null", "minutes=3"]
    command += ["games_per_iteration=20", f"run_dir={tmp_path / 'run'}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        try:
            for line in run.stderr:
                if "inference" in line:  # an actor has taken the first weights
                    break
            children = psutil.Process(run.pid).children()
            victim = next(each for each in children if each.name() == name)
            victim.send_signal(signal.SIGKILL)
            told = run.stderr.read()
            assert run.wait(timeout=60) == 1, told
        finally:
            run.kill()
    last = told.strip().splitlines()[-1]
    assert last.startswith(f"alphago train: error: {expected} at 127.0.0.1:"), told
    assert "Traceback" not in told
    check = [sys.executable, "-m", "scripts.main", "check", str(tmp_path / "run")]
    assert subprocess.run(check, capture_output=True).returncode == 0
