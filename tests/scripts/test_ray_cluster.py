"""Joining a cluster: found, checked, and refused in one line before anything is made."""

import contextlib
import dataclasses
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from scripts import ray_cluster
from scripts.arguments import CommandLineError
from scripts.composition import compose_config, to_run_config
from scripts.main import main
from scripts.overrides import expand
from scripts.ray_cluster import SHIPPED, check_answers, check_room, cluster_of, copy_packages
from selfplay.places import Node
from tests.train.tiny import tiny_config
from train.config import RayConfig, RunConfig

ROOT = Path(__file__).resolve().parents[2]


SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # of HTTP/2, as a server of gRPC sends first


@contextlib.contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """Yields the address of a port on which somebody gives this answer, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        if connection.recv(64):  # all that was sent, or it would hang up at once
                            connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture
def listener() -> Iterator[str]:
    """The address of a port on which somebody speaks as Ray does."""
    with answering(SETTINGS) as address:
        yield address


def unused_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def config_of(address: str | None, **changes: object) -> RunConfig:
    config = tiny_config({"selfplay.mode": "ray", **changes})
    return dataclasses.replace(config, ray=RayConfig(address=address))


@pytest.mark.parametrize("address", ["ray://head:10001", "10.0.0.1:6379", "[::1]:6379", "auto"])
def test_addresses_can_be_typed(address: str) -> None:
    (job,) = expand([f"ray.address={address}"], multirun=False)
    assert to_run_config(compose_config(job)).ray.address == address


# ----- which cluster


def test_auto_is_the_cluster_of_ray_start_or_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ray._private.utils.read_ray_address", lambda: "10.0.0.1:6379")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert ray_cluster.find_cluster("auto") == "10.0.0.1:6379"
    monkeypatch.setenv("RAY_ADDRESS", "ray://10.0.0.2:10001")
    assert ray_cluster.find_cluster("auto") == "ray://10.0.0.2:10001"
    assert ray_cluster.find_cluster("10.0.0.3:6379") == "10.0.0.3:6379"


@pytest.mark.parametrize("variable", ["", "auto"])
def test_auto_without_a_cluster_is_told(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray._private.utils.read_ray_address", lambda: None)
    monkeypatch.setenv("RAY_ADDRESS", variable)
    with pytest.raises(
        CommandLineError, match=r"^ray\.address=auto: no cluster found; `ray start`"
    ):
        ray_cluster.find_cluster("auto")


@pytest.mark.parametrize("prefix", ["", "ray://"])
def test_nobody_who_answers_is_told_at_once(prefix: str, listener: str) -> None:
    check_answers(prefix + listener)
    place = prefix + unused_address()
    with pytest.raises(
        CommandLineError, match=rf"^ray\.address={place}: nobody answers there \(.+"
    ):
        check_answers(place)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"abc"])
def test_another_server_is_told_at_once(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(answer) as address:
        with pytest.raises(
            CommandLineError, match=rf"^ray\.address={address}: .* is no Ray cluster$"
        ):
            check_answers(address)
        monkeypatch.setenv("RAY_USE_TLS", "1")  # it would not answer in plain text
        check_answers(address)


def test_a_server_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "ANSWER_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(CommandLineError, match=r"nobody answers there \(timed out\)"):
            check_answers(address)


def test_a_run_without_a_cluster_makes_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    words = ["train", "game=tic_tac_toe", "suite.file=null", f"run_dir={folder}"]
    assert main([*words, f"ray.address={unused_address()}"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "nobody answers there" in output.err
    assert output.err.count("\n") == 1
    assert not folder.exists()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.50.0\n"),
            r"Version mismatch: The cluster was started with: Ray: 2\.50\.0$",
        ),
        (ConnectionError(), "ConnectionError$"),
        (
            ConnectionAbortedError(
                "Initialization failure from server:\nTraceback (most recent call last):\n"
                '  File "proxier.py", line 772, in Datapath\nRuntimeError: No client server.\n'
            ),
            r"RuntimeError: No client server\.$",
        ),
    ],
)
def test_a_cluster_that_cannot_be_joined_is_told_in_one_line(
    error: Exception, told: str, listener: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**settings: object) -> None:
        raise ConnectionError("Failed to connect to Ray cluster") from error

    monkeypatch.setattr(ray, "init", refuse)
    with (
        pytest.raises(CommandLineError, match=f"^ray.address={listener}: {told}"),
        cluster_of(config_of(listener)),
    ):
        pytest.fail("nothing runs without the cluster")


def test_without_an_address_nothing_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "init", lambda **settings: pytest.fail("no cluster was asked for"))
    with cluster_of(config_of(None)):
        assert not ray.is_initialized()


# ----- what it offers and what it gets


def test_a_cluster_without_room_is_told_with_what_there_is() -> None:
    nodes = [Node("a", "10.0.0.1", 0, 0), Node("b", "10.0.0.2", 0, 0)]
    with pytest.raises(
        CommandLineError, match=r"no room .* needs a CPU of one .* 2 machines with 0"
    ):
        check_room(nodes, config_of("auto"))
    nodes[1] = Node("b", "10.0.0.2", 8, 0)
    check_room(nodes, config_of("auto"))
    with pytest.raises(CommandLineError, match=r"needs a CPU and a GPU .* with 8 CPUs and 0 GPUs$"):
        check_room(nodes, config_of("auto", **{"evaluator.device": "cuda"}))


def test_our_packages_travel_whole_and_without_what_was_compiled(tmp_path: Path) -> None:
    copy_packages(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(SHIPPED)
    for name in SHIPPED:
        there = {path.relative_to(tmp_path) for path in (tmp_path / name).rglob("*")}
        here = {path.relative_to(ROOT) for path in (ROOT / name).rglob("*")}
        assert there == {path for path in here if "__pycache__" not in path.parts}
    assert (tmp_path / "selfplay" / "actors.py").is_file()
