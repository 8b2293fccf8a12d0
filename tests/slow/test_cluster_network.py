"""A run on machines with addresses of their own: nodes of `ray start` in network namespaces.

Needs root and `ip` (iproute2), else it is skipped. All it makes outside of the namespaces is a
bridge, which is removed at the end.
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.slow.test_cluster import (
    JOIN_S,
    OPTIONS,
    ROOT,
    START_S,
    actors_of,
    newest_counts,
    num_games,
    wait_until,
)
from tests.train.tiny import stored_records, streams

pytestmark = pytest.mark.slow

BRIDGE = "alphagobr"
NETWORK = "10.213.7"  # addresses end with a machine's number
PORT = 6379
GONE_S = 180.0  # until Ray gives up a machine that has fallen silent
RAY = Path(sys.executable).parent / "ray"


def ip(*words: str) -> None:
    """Runs a command of `ip`.

    Raises:
        PermissionError: if it may not.
    """
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise PermissionError("the program `ip` is not installed") from error
    if done.returncode:
        raise PermissionError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Network:
    """Machines on one bridge, each a network namespace with a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = os.environ | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": "",
        }
        self._processes: list[subprocess.Popen[str]] = []
        self._numbers: list[int] = []
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("link", "set", BRIDGE, "up")

    def add_machine(self, number: int) -> None:
        name = f"alphago{number}"
        ip("netns", "add", name)
        self._numbers.append(number)
        ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b")
        ip("link", "set", f"{name}a", "master", BRIDGE, "up")
        ip("link", "set", f"{name}b", "netns", name)
        inside = ("-n", name)
        ip(*inside, "addr", "add", f"{NETWORK}.{number}/24", "dev", f"{name}b")
        ip(*inside, "link", "set", f"{name}b", "up")
        ip(*inside, "link", "set", "lo", "up")

    def start_ray(self, number: int, *words: str) -> None:
        """Starts Ray on a machine; it has neither this folder nor its code in its path."""
        place = self._folder / str(number)
        place.mkdir()
        command = [str(RAY), "start", "--block", f"--node-ip-address={NETWORK}.{number}"]
        command += ["--disable-usage-stats", "--include-log-monitor=false", *words]
        self.start(number, *command, folder=place)

    def start(
        self, number: int, *command: str, folder: Path, path: str = "", **streams: int
    ) -> subprocess.Popen[str]:
        """Starts a program on a machine."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", f"alphago{number}", *command],
            cwd=folder,
            env=self._environment | {"PYTHONPATH": path},
            text=True,
            start_new_session=True,
            **({"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | streams),
        )
        self._processes.append(process)
        return process

    def pull_cable(self, number: int) -> None:
        """Cuts a machine off; its processes live on and reach nobody."""
        ip("link", "set", f"alphago{number}a", "down")

    def close(self) -> None:
        for process in self._processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                for each in psutil.Process(process.pid).children(recursive=True):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        each.kill()
            process.kill()
            process.wait()
        for number in self._numbers:
            ip("netns", "del", f"alphago{number}")
        ip("link", "del", BRIDGE)


@pytest.fixture
def network() -> Iterator[Network]:
    """A head and two more machines on a network of their own."""
    folder = Path(tempfile.mkdtemp(prefix="alphago-", dir="/tmp"))  # short, for Ray's sockets
    try:
        running = Network(folder)
    except PermissionError as error:
        shutil.rmtree(folder)
        pytest.skip(f"no network namespaces here: {error}")
    try:
        for number in (1, 2, 3):
            running.add_machine(number)
        head = f"--temp-dir={folder}/r"
        running.start_ray(1, "--head", f"--port={PORT}", "--num-cpus=2", head)
        time.sleep(5.0)  # a node that comes before the head has its port waits long
        for number in (2, 3):
            running.start_ray(number, f"--address={NETWORK}.1:{PORT}", "--num-cpus=1")
        yield running
    finally:
        running.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_machines_with_addresses_of_their_own_play_fall_silent_and_are_replaced(
    network: Network, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "-m", "scripts.main", "train", *OPTIONS]
    command += [f"ray.address={NETWORK}.1:{PORT}", f"run_dir={run}"]
    process = network.start(1, *command, folder=tmp_path, path=str(ROOT), stderr=subprocess.PIPE)

    def wait_for(what: str, is_so: object, *, seconds: float = START_S) -> float:
        return wait_until(is_so, seconds=seconds, what=what, process=process)  # type: ignore[arg-type]

    wait_for("three machines", lambda: newest_counts(run) == (3, 3))
    wait_for("games of all of them", lambda: len(actors_of(run)) >= 3)
    network.pull_cable(3)
    took = wait_for("two machines", lambda: newest_counts(run) == (2, 2), seconds=GONE_S)
    print(f"a machine that fell silent was given up after {took:.1f} s")
    games, seen = num_games(run), actors_of(run)
    wait_for("games after that", lambda: num_games(run) > games + 20)
    network.add_machine(4)
    network.start_ray(4, f"--address={NETWORK}.1:{PORT}", "--num-cpus=1")
    wait_for("three machines again", lambda: newest_counts(run) == (3, 3), seconds=2 * JOIN_S)
    wait_for("games of the new one", lambda: bool(actors_of(run) - seen), seconds=JOIN_S)
    process.send_signal(signal.SIGINT)  # `ip` has become the run
    _, errors = process.communicate(timeout=START_S)
    assert process.returncode == 0, errors
    assert f"{NETWORK}.3 is gone, and 1 self-play actors with it" in errors
    names = streams(stored_records(run))
    assert len(names) == len(set(names)) == num_games(run)
