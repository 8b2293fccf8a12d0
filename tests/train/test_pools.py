"""Which actors a run gets, with a made-up machine and a made-up cluster."""

import logging
from collections.abc import Mapping

import pytest

from selfplay import resources
from selfplay.places import Node, Place, Places
from selfplay.pool import InlinePool
from tests.train.tiny import actor_setup
from train import pools
from train.pools import make_pool
from train.run_folder import ACTORS_PER_SITTING


class NoActors:
    """Stands in for `RayPool`: remembers what it was asked for."""

    asked: list[tuple[Mapping[str, Place], int]] = []

    def __init__(self, setup: object, places: Places, *, first_actor: int) -> None:
        self.asked.append((places.look(), first_actor))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Mapping[str, Place], int]]:
    monkeypatch.setattr(pools, "RayPool", NoActors)
    monkeypatch.setattr(NoActors, "asked", [])
    for module in (pools, resources):
        monkeypatch.setattr(module, "usable_cpus", lambda: 3)
    return NoActors.asked


def make(cluster: str | None = None, *, sitting: int = 0, **changes: object) -> object:
    setup = actor_setup(**({"mode": "ray", "num_actors": None} | changes))
    return make_pool(setup, cluster=cluster, num_spared=1, sitting=sitting)


def test_the_default_is_an_actor_per_usable_cpu(
    asked: list[tuple[Mapping[str, Place], int]],
) -> None:
    make()
    make(num_actors=2, sitting=1)
    make(num_actors=16, sitting=2)
    assert [(places[""].num_actors, first) for places, first in asked] == [
        (3, 0),
        (2, ACTORS_PER_SITTING),
        (16, 2 * ACTORS_PER_SITTING),
    ]
    assert isinstance(make(mode="inline"), InlinePool)


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [("auto", {"here": 1, "there": 4}), ("ray://head:10001", {"here": 2, "there": 4})],
)
def test_a_cluster_has_actors_on_all_machines_and_spares_the_trainers_cpus_on_its_own(
    cluster: str,
    expected: dict[str, int],
    asked: list[tuple[Mapping[str, Place], int]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    nodes = [Node("here", "10.0.0.1", 2, 0), Node("there", "10.0.0.2", 4, 0)]
    monkeypatch.setattr("selfplay.cluster.living_nodes", lambda: nodes)
    monkeypatch.setattr(pools, "own_node", lambda: "here")
    with caplog.at_level(logging.WARNING):
        make(cluster)
        assert caplog.text == ""
        make(cluster, num_actors=9)
    for places, _ in asked:
        assert {node: place.num_actors for node, place in places.items()} == expected
    room = sum(expected.values())
    assert f"num_actors=9: the cluster has room for {room} now" in caplog.text
