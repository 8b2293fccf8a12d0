"""How many actors each machine of a cluster holds, with made-up machines."""

from dataclasses import replace

import pytest

from selfplay import cluster
from selfplay.cluster import LOOK_EVERY_S, ClusterPlaces
from selfplay.places import Node, OneMachine, Place, plan_places
from tests.train.tiny import EVALUATOR, selfplay_config

HEAD = Node("h", "10.0.0.1", 4, 0)
CPUS = Node("c", "10.0.0.2", 16, 0)
GPUS = Node("g", "10.0.0.3", 16, 1)


def numbers(
    *nodes: Node,
    num_actors: int | None = None,
    device: str = "auto",
    num_threads: int | None = 1,
    spared: dict[str, int] | None = None,
) -> dict[str, int]:
    """Returns how many actors each machine holds, by the name of its node."""
    selfplay = selfplay_config(mode="ray", num_actors=num_actors)
    evaluator = replace(EVALUATOR, device=device, num_threads=num_threads)
    places = plan_places(nodes, selfplay, evaluator, spared=spared or {})
    return {node: place.num_actors for node, place in places.items()}


def test_every_machine_holds_what_suits_it_and_the_trainer_keeps_its_cpus() -> None:
    assert numbers(HEAD, CPUS, GPUS) == {"h": 4, "c": 16, "g": 8}
    assert numbers(HEAD, CPUS, GPUS, spared={"h": 3}) == {"h": 1, "c": 16, "g": 8}
    assert numbers(HEAD, CPUS, spared={"h": 9}) == {"h": 0, "c": 16}
    assert numbers(HEAD, CPUS, num_threads=2) == {"h": 2, "c": 8}
    assert numbers(HEAD, CPUS, num_threads=None) == {"h": 4, "c": 16}


def test_where_nobody_could_play_actors_share_the_trainers_cpus() -> None:
    assert numbers(HEAD, spared={"h": 4}) == {"h": 4}
    assert numbers(HEAD._replace(num_cpus=0), spared={"h": 1}) == {"h": 0}
    assert numbers() == {}


@pytest.mark.parametrize(
    ("device", "expected"),
    [("auto", {"c": 16, "g": 8}), ("cpu", {"c": 16, "g": 16}), ("cuda", {"c": 0, "g": 8})],
)
def test_the_device_decides_which_machines_play(device: str, expected: dict[str, int]) -> None:
    assert numbers(CPUS, GPUS, device=device) == expected


@pytest.mark.parametrize(
    ("num_actors", "expected"),
    [
        (1, {"h": 0, "c": 0, "g": 1}),  # GPUs first
        (8, {"h": 0, "c": 0, "g": 8}),
        (9, {"h": 0, "c": 1, "g": 8}),
        (13, {"h": 1, "c": 4, "g": 8}),  # equally full
        (28, {"h": 4, "c": 16, "g": 8}),
        (99, {"h": 4, "c": 16, "g": 8}),  # no more than there is room for
    ],
)
def test_actors_that_were_asked_for_are_dealt_out(
    num_actors: int, expected: dict[str, int]
) -> None:
    assert numbers(HEAD, CPUS, GPUS, num_actors=num_actors) == expected


def test_actors_get_their_share_of_a_gpu_however_few_there_are() -> None:
    selfplay = selfplay_config(mode="ray", num_actors=3)
    evaluator = replace(EVALUATOR, device="auto")
    many = GPUS._replace(num_gpus=4)
    places = plan_places([CPUS, many], selfplay, evaluator, spared={})
    assert places["g"] == Place("10.0.0.3", 3, num_groups=2, gpu_share=0.25)
    assert places["c"] == Place("10.0.0.2", 0, num_groups=1, gpu_share=0.0)
    # A machine with more GPUs than CPUs leaves some idle: an actor needs a CPU.
    few = GPUS._replace(num_cpus=2, num_gpus=8)
    assert plan_places([few], selfplay, evaluator, spared={})["g"].num_actors == 2


def test_one_machine_holds_exactly_what_was_decided_unless_it_is_given_up() -> None:
    places = OneMachine(num_actors=3, num_groups=2, num_gpus=2)
    (place,) = places.look().values()
    assert (place.num_actors, place.num_groups, place.gpu_share) == (3, 2, 0.5)
    assert places.look_again() == places.look()
    assert places.look_again(places.look().keys()) == {}


def test_machines_are_looked_up_now_and_then_and_when_an_actor_died(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes, looks, now = [HEAD, CPUS], [], [100.0]

    def living_nodes() -> list[Node]:
        looks.append(now[0])
        return list(nodes)

    monkeypatch.setattr(cluster, "living_nodes", living_nodes)
    monkeypatch.setattr("selfplay.cluster.time.monotonic", lambda: now[0])
    places = ClusterPlaces(selfplay_config(mode="ray", num_actors=None), EVALUATOR, spared={"h": 3})
    assert {node: place.num_actors for node, place in places.look().items()} == {"h": 1, "c": 16}
    nodes.append(GPUS)
    now[0] += LOOK_EVERY_S - 1
    assert set(places.look()) == {"h", "c"}
    assert set(places.look({"h"})) == {"c"}
    now[0] += 1
    assert set(places.look()) == {"h", "c", "g"}
    del nodes[0]
    assert set(places.look()) == {"h", "c", "g"}
    assert set(places.look_again()) == {"c", "g"}
    assert set(places.look()) == {"c", "g"}
    assert looks == [100.0, 105.0, 105.0]
