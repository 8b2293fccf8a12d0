"""Whole runs with actor processes: both loops, an actor that is killed, Ctrl-C in a terminal."""

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from scripts.ray_session import ray_session
from selfplay.ray_pool import RayPool
from selfplay.reports import NewNetwork
from tests.train.tiny import (
    FakeProgress,
    log_lines,
    stored_records,
    streams,
    tiny_config,
    train,
)
from train.checkpoint import newest_checkpoint
from train.stopping import SAME_REQUEST_S

ROOT = Path(__file__).parents[2]
RAY = {"selfplay.mode": "ray", "selfplay.num_actors": 2}
START_S = 120.0  # longest time for a run to start on a busy machine


@pytest.fixture(scope="module")
def running_ray() -> Iterator[None]:
    """Ray, started once for all tests here."""
    with ray_session(num_actors=2):
        yield


def process_id() -> int:
    return os.getpid()


def kill_an_actor_in(phase: str, monkeypatch: pytest.MonkeyPatch) -> FakeProgress:
    """Returns a progress display that kills the first actor when a phase begins."""
    pools: list[RayPool] = []
    publish = RayPool.publish

    def watch(pool: RayPool, network: NewNetwork) -> None:
        if pool not in pools:
            pools.append(pool)
        publish(pool, network)

    def kill(name: str) -> None:
        if name == phase and pools:
            (pid,) = pools.pop().map(process_id, [()], give_up=lambda: False) or []
            victim = psutil.Process(pid)
            victim.kill()
            psutil.wait_procs([victim], timeout=20)
            monkeypatch.setattr(RayPool, "publish", publish)

    monkeypatch.setattr(RayPool, "publish", watch)
    return FakeProgress(on_phase=kill)


@pytest.mark.parametrize(
    ("loop", "phase", "mode"),
    [("synchronous", "learning", "off"), ("asynchronous", "gate", "gate")],
)
def test_a_run_survives_the_death_of_an_actor_and_is_resumed(
    loop: str,
    phase: str,
    mode: str,
    running_ray: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = tmp_path / "run"
    changes = RAY | {"gate.mode": mode, "gate.threshold_percent": 0}
    progress = kill_an_actor_in(phase, monkeypatch)
    result = train(folder, tiny_config(changes, games=18, loop=loop), progress=progress)
    assert result.num_games >= 18
    assert result.step > 0
    assert re.search(r"self-play actor [01] died \(1 of 2 restarts\)", caplog.text)
    last = log_lines(folder, "iteration")[-1]
    assert last["selfplay/actor_restarts"] == 1
    assert last["memory/largest_actor_mb"] > 10
    names = streams(stored_records(folder))
    assert len(names) == len(set(names)) == result.num_games
    if loop == "asynchronous":
        return
    # The resumed run goes on with actors whose random streams were never used.
    progress = FakeProgress()
    again = train(folder, tiny_config(changes, games=30, loop=loop), resume=True, progress=progress)
    assert "; those that were unfinished are dropped" in progress.messages[0]
    assert again.num_games >= 30
    assert again.step > result.step
    names = streams(stored_records(folder))
    assert len(names) == len(set(names)) == again.num_games
    assert {actor >= 100_000 for _, actor, _ in names} == {False, True}
    versions = {record.network_version for record in stored_records(folder)}
    assert min(versions) == 0
    assert max(versions) > 0


OPTIONS = (
    "game=tic_tac_toe",
    "suite.file=null",
    "network=tiny",
    "selfplay.num_actors=1",
    "selfplay.num_games=4",
    "selfplay.num_simulations=8",
    "selfplay.fast_num_simulations=4",
    "train.num_threads=1",
    "minutes=10",
    "games_per_iteration=1000000",
)


@pytest.mark.parametrize(
    ("signum", "is_impatient"),
    [
        (signal.SIGINT, False),
        (signal.SIGTERM, False),
        pytest.param(signal.SIGHUP, False, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, True, marks=pytest.mark.slow),
    ],
)
def test_a_signal_to_the_whole_group_saves_the_run_and_leaves_no_process(
    signum: int, is_impatient: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with start(folder) as process:
        wait_for_games(folder, process)
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(True)]
        assert any("SelfPlayActor" in name(each) for each in family)
        # As a terminal does to what runs in the foreground, `timeout`, and a shell that ends.
        os.killpg(process.pid, signum)
        errors = ""
        if is_impatient:
            assert process.stderr is not None
            while "stopping and saving" not in errors:
                errors += process.stderr.readline()
            process.send_signal(signal.SIGSTOP)  # or it would have been saved by then
            time.sleep(SAME_REQUEST_S)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGCONT)
        errors += process.communicate(timeout=START_S)[1]
    assert process.returncode == (130 if is_impatient else 0), errors
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(family, timeout=20)
    assert alive == []
    found = newest_checkpoint(folder)
    assert found is not None
    num_games = len(stored_records(folder))
    assert num_games > 0
    if not is_impatient:
        assert f"{signal.Signals(signum).name}: stopping and saving" in errors
        assert found[1].state["num_games"] == num_games


@pytest.mark.parametrize("term", ["xterm", pytest.param("dumb", marks=pytest.mark.slow)])
def test_a_terminal_that_is_closed_saves_the_run(
    term: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    folder = tmp_path / "run"
    window, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scripts.main", "train", *OPTIONS, f"run_dir={folder}"],
        cwd=ROOT,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=own_terminal,
    )
    os.close(terminal)
    with open(window, "rb", buffering=0) as screen:
        deadline = time.monotonic() + START_S
        while not any((folder / "records").glob("*.npz")):
            assert time.monotonic() < deadline, "no game was finished"
            assert screen.read(4096)  # what nobody reads would stop the run
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(True)]
    assert process.wait(timeout=START_S) == 0
    _, alive = psutil.wait_procs(family, timeout=20)
    assert alive == []
    found = newest_checkpoint(folder)
    assert found is not None
    assert found[1].state["num_games"] == len(stored_records(folder)) > 0


def start(folder: Path) -> subprocess.Popen[str]:
    """Starts a run in a group of processes of its own."""
    command = [sys.executable, "-m", "scripts.main", "train", *OPTIONS, f"run_dir={folder}"]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )


def own_terminal() -> None:
    """Makes standard input the terminal that a new session is controlled by."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def wait_for_games(folder: Path, process: subprocess.Popen[str]) -> None:
    """Waits until the first games are on the disk."""
    deadline = time.monotonic() + START_S
    while not any((folder / "records").glob("*.npz")):
        assert time.monotonic() < deadline, "no game was finished"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.1)
            raise AssertionError(process.communicate()[1])


def name(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""
