"""Runs on a Ray cluster of several nodes, which come and go, all on this machine."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from ray._private.authentication.authentication_token_setup import enable_token_auth_by_default
from ray.cluster_utils import Cluster
from ray.experimental import get_object_locations

import alphago
from alphago.games import make_game
from alphago.network.network import make_network, weights_of
from scripts.ray_cluster import cluster_of
from selfplay.cluster import ClusterPlaces, living_nodes, own_node
from selfplay.ray_pool import RayPool
from selfplay.reports import NewNetwork
from tests.train.tiny import EVALUATOR, NETWORK, actor_setup, streams, tiny_config
from tests.train.tiny import stored_records as records_of
from train.config import RayConfig

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
START_S = 300.0  # longest time for something to start, on a busy machine
JOIN_S = 60.0  # longest time for a new node to be used
ENVIRONMENT = {
    # All nodes on 127.0.0.1.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
OPTIONS = (
    "game=tic_tac_toe",
    "suite.file=null",
    "yardstick.player=null",
    "network=tiny",
    "loop=asynchronous",
    "selfplay.num_games=4",
    "selfplay.num_simulations=8",
    "selfplay.fast_num_simulations=4",
    "selfplay.games_per_call=4",
    "train.num_threads=1",
    "train.batch_size=32",
    "gate.mode=off",
    "games_per_iteration=200",
    "minutes=60",
)


class Nodes:
    """A cluster, started for a test, whose processes can be killed like those of a machine."""

    def __init__(self, folder: Path, *, num_cpus: int) -> None:
        self._folder = folder
        self.cluster = Cluster(
            initialize_head=True,
            shutdown_at_exit=True,
            head_node_args={
                "num_cpus": num_cpus,
                "temp_dir": str(folder),
                "include_dashboard": False,
                "include_log_monitor": False,
            },
        )

    def add(self, *, num_cpus: int) -> Any:
        return self.cluster.add_node(
            num_cpus=num_cpus, temp_dir=str(self._folder), include_log_monitor=False
        )

    def kill(self, node: Any) -> None:
        """Ends all processes of a node at once, its actors too."""
        for started in [each for group in node.all_processes.values() for each in group]:
            with contextlib.suppress(psutil.Error):
                for child in psutil.Process(started.process.pid).children(recursive=True):
                    child.kill()
            started.process.kill()
            started.process.wait()
        self.cluster.worker_nodes.discard(node)


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    """A cluster of a head with two CPUs and two nodes with one."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    # One for the whole process, which reads it once; see `scripts/ray_session.py`.
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    enable_token_auth_by_default()
    monkeypatch.setattr("ray._private.ray_constants.ENABLE_RAY_CLUSTER", False)
    folder = Path(tempfile.mkdtemp(prefix="alphago-", dir="/tmp"))  # short, for Ray's sockets
    running = Nodes(folder, num_cpus=2)
    try:
        running.add(num_cpus=1)
        running.add(num_cpus=1)
        yield running
    finally:
        running.cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def actor_processes(nodes: Nodes) -> list[psutil.Process]:
    """Returns the actors on all nodes."""
    found = []
    for node in [nodes.cluster.head_node, *nodes.cluster.worker_nodes]:
        (raylet,) = node.all_processes["raylet"]
        for child in psutil.Process(raylet.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if "SelfPlayActor" in " ".join(child.cmdline()):
                    found.append(child)
    return found


def wait_until(
    is_so: Callable[[], bool], *, seconds: float, what: str, process: Any = None
) -> float:
    """Waits until something is so and returns how long that took."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds, f"{what}: not within {seconds:g} s"
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.2)
                raise AssertionError(process.communicate())
        else:
            time.sleep(0.2)
    return time.monotonic() - began


# ----- the pool


def where() -> tuple[str, str]:
    """Returns the node of this actor and the place of our code there."""
    return ray.get_runtime_context().get_node_id(), str(alphago.__file__)


def test_actors_on_all_nodes_have_our_code_and_weights_once_per_node(nodes: Nodes) -> None:
    config = tiny_config(
        {"selfplay.mode": "ray", "selfplay.num_actors": None},
        ray=RayConfig(address=nodes.cluster.address),
    )
    with cluster_of(config):
        setup = actor_setup(mode="ray", num_actors=None)
        places = ClusterPlaces(setup.selfplay, EVALUATOR, spared={own_node(): 1})
        pool = RayPool(setup, places, first_actor=0)
        weights = weights_of(make_network(make_game("tic_tac_toe").spec, NETWORK, seed=0))
        pool.publish(NewNetwork(0, weights))
        wait_until(
            lambda: bool(pool.collect(1.0)) and pool.state().num_actors == 3,
            seconds=START_S,
            what="three actors play",
        )
        assert pool.state().num_machines == 3
        found = [ray.get(slot.actor.call.remote(where)) for slot in pool._slots]
        assert {node for node, _ in found} == {node.node_id for node in living_nodes()}
        for _, file in found:
            assert "working_dir_files" in file, "the code that was shipped, not what is installed"
        assert pool._newest is not None
        reference = pool._newest.network
        locations = get_object_locations([reference])[reference]
        assert set(locations["node_ids"]) == {node for node, _ in found}
        pool.close()


# ----- a run


def events(run: Path, kind: str) -> list[dict[str, Any]]:
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
        lines = (run / "log.jsonl").read_text(encoding="utf-8").splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]
    return []


def newest_counts(run: Path) -> tuple[int, int]:
    """Returns how many actors play on how many machines, as the run says."""
    found = events(run, "actors")
    return (found[-1]["actors"], found[-1]["machines"]) if found else (0, 0)


def num_games(run: Path) -> int:
    """Returns the games on the disk."""
    return sum(int(path.stem.split("-")[1]) for path in (run / "records").glob("*.npz"))


def actors_of(run: Path) -> set[int]:
    """Returns the numbers of all actors whose games are on the disk."""
    return {actor for _, actor, _ in streams(records_of(run))}


def test_a_run_goes_on_while_a_node_is_killed_and_another_is_added(
    nodes: Nodes, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "-m", "scripts.main", "train", *OPTIONS]
    command += [f"ray.address={nodes.cluster.address}", f"run_dir={run}"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            _check_run(nodes, run, process)
        finally:
            if process.poll() is None:
                process.kill()
        assert process.returncode == 0
    names = streams(records_of(run))
    assert len(names) == len(set(names)) == num_games(run)


def _check_run(nodes: Nodes, run: Path, process: subprocess.Popen[str]) -> None:
    def wait_for(what: str, is_so: Callable[[], bool], *, seconds: float = START_S) -> float:
        return wait_until(is_so, seconds=seconds, what=what, process=process)

    wait_for("three actors", lambda: newest_counts(run) == (3, 3))
    wait_for("games of all of them", lambda: len(actors_of(run)) == 3)
    nodes.kill(next(iter(nodes.cluster.worker_nodes)))
    wait_for("two actors", lambda: newest_counts(run) == (2, 2))
    games = num_games(run)
    wait_for("games after the death", lambda: num_games(run) > games + 20)
    seen = actors_of(run)
    nodes.add(num_cpus=1)
    took = wait_for("games of a new actor", lambda: bool(actors_of(run) - seen), seconds=JOIN_S)
    print(f"the new node's first games were on the disk after {took:.1f} s")
    wait_for("three actors again", lambda: newest_counts(run) == (3, 3))
    assert len(events(run, "sitting")) == 1, "the run was not restarted"
    actors = actor_processes(nodes)
    assert len(actors) == 3
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=START_S)
    assert "Traceback" not in errors
    assert "is gone, and 1 self-play actors with it; 2 are left" in errors
    assert psutil.wait_procs(actors, timeout=20)[1] == []
