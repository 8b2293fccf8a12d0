"""A Ray cluster that is running already: found, checked and joined for the time of a run."""

import contextlib
import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from scripts.arguments import CommandLineError, one_line
from scripts.ray_session import RECONNECT
from selfplay.cluster import CLIENT, living_nodes
from selfplay.places import Node, plan_places
from train.config import RunConfig

ANSWER_S = 5.0  # longest time for a machine to answer
# What runs in an actor; the packages travel as one folder, in which the actors work.
SHIPPED = ("alphago", "configs", "eval", "selfplay", "train")
_HTTP2_HEADER = 9  # bytes: length (3), kind, flags, stream (4)
_HTTP2_SETTINGS = 4  # kind of what either side sends first
_HTTP2_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(
    [0, 0, 0, _HTTP2_SETTINGS, 0, 0, 0, 0, 0]
)
ACTORS_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive"}  # as in `main`


@contextlib.contextmanager
def cluster_of(config: RunConfig) -> Iterator[None]:
    """Is a part of the cluster that a run names for the time of the block, if it names one.

    Its actors end with the block, unless the cluster has ended before.

    Raises:
        CommandLineError: if there is no cluster, it cannot be joined, or has no room for an actor.
    """
    if config.ray.address is None:
        yield
        return
    place = find_cluster(config.ray.address)
    check_answers(place)
    for name, value in RECONNECT.items():
        os.environ.setdefault(name, value)
    import ray

    from selfplay.ray_processes import RayProcesses

    with tempfile.TemporaryDirectory(prefix="alphago-") as folder:
        copy_packages(Path(folder))
        processes: RayProcesses | None = None
        try:
            _join(config.ray.address, Path(folder), place=place)
            processes = RayProcesses()
            check_room(living_nodes(), config)
            yield
        finally:
            if processes is None:
                ray.shutdown()
            else:
                processes.leave()


def find_cluster(address: str) -> str:
    """Returns where a cluster is, as `HOST:PORT` or `ray://HOST:PORT`.

    Raises:
        CommandLineError: if `auto` finds none.
    """
    if address != "auto":
        return address
    from ray._private.utils import read_ray_address

    # Without the last of Ray's own ways, a look at all processes: it finds other runs' own Ray.
    found = os.environ.get("RAY_ADDRESS") or read_ray_address()
    if not found or found == "auto":
        raise CommandLineError(
            "ray.address=auto: no cluster found; `ray start` has to make this machine a part of"
            " one, or RAY_ADDRESS to name one"
        )
    return str(found)


def check_answers(place: str) -> None:
    """Checks that a server of gRPC listens there: Ray itself would try for many minutes.

    Raises:
        CommandLineError: if none does.
    """
    host, _, port = place.removeprefix(CLIENT).rpartition(":")
    try:
        with socket.create_connection(
            (host.strip("[]"), int(port)), timeout=ANSWER_S
        ) as connection:
            speaks = os.environ.get("RAY_USE_TLS", "0") != "0" or _speaks_http2(connection)
    except OSError as error:
        raise CommandLineError(f"ray.address={place}: nobody answers there ({error})") from error
    if not speaks:
        raise CommandLineError(f"ray.address={place}: what answers there is no Ray cluster")


def _speaks_http2(connection: socket.socket) -> bool:
    """Tells whether a server answers as one of HTTP/2 does, on which gRPC is built (RFC 9113)."""
    connection.sendall(_HTTP2_HELLO)
    answer = b""
    while len(answer) < _HTTP2_HEADER:
        received = connection.recv(_HTTP2_HEADER - len(answer))
        if not received:
            return False
        answer += received
    return answer[3] == _HTTP2_SETTINGS


def copy_packages(folder: Path) -> None:
    """Copies our packages from wherever they are installed, without what was compiled."""
    for name in SHIPPED:
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None, f"{name} is one of our packages"
        source, ignored = Path(spec.origin).parent, shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / name, ignore=ignored)


def check_room(nodes: Sequence[Node], config: RunConfig) -> None:
    """Checks that an actor could run somewhere.

    Raises:
        CommandLineError: if not, with what there is.
    """
    places = plan_places(nodes, config.selfplay, config.evaluator, spared={})
    if any(place.num_actors for place in places.values()):
        return
    num_cpus, num_gpus = sum(node.num_cpus for node in nodes), sum(node.num_gpus for node in nodes)
    needs = "a CPU" if config.evaluator.device != "cuda" else "a CPU and a GPU"
    raise CommandLineError(
        f"ray.address={config.ray.address}: no room for an actor, which needs {needs} of one"
        f" machine: {len(nodes)} machines with {num_cpus} CPUs and {num_gpus} GPUs"
    )


def _join(address: str, folder: Path, *, place: str) -> None:
    """Joins, and has Ray carry the folder to every machine on which an actor starts.

    Args:
        address: as Ray takes it; with `auto` it also looks for a token.
        folder: our packages.
        place: where that is, for messages.

    Raises:
        CommandLineError: if that fails, above all with another version of Ray or Python.
    """
    import ray
    from ray._private import worker

    worker._worker_logs_enabled = False  # as in `ray_session`
    try:
        ray.init(
            address=address,
            logging_level=logging.WARNING,
            log_to_driver=False,
            # Not `py_modules`: without a folder to work in, Ray would have actors look for our
            # packages in this process's current folder first, where another version may lie.
            runtime_env={"working_dir": str(folder), "env_vars": ACTORS_ENVIRONMENT},
        )
    # Other versions are told by a RuntimeError, a wrong token or port by many others.
    except Exception as error:
        raise CommandLineError(f"ray.address={place}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """Returns what went wrong in one line; Ray's own error often hides it behind another one."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = str(error).strip() or type(error).__name__
    # A server for clients sends the traceback of its error, which ends with what went wrong.
    return one_line(text.splitlines()[-1] if "Traceback (most recent" in text else text)
