"""Where actors run: how many on which machine, and what each of them gets there."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from alphago.network.evaluator import EvaluatorConfig
from selfplay.config import SelfPlayConfig
from selfplay.resources import gpu_share, groups_on, suitable_actors


class Place(NamedTuple):
    """What the actors of one machine get.

    Attributes:
        name: of the machine, for people.
        num_actors: actors on it.
        num_groups: groups of games of each.
        gpu_share: share of a GPU of each; 0 where it evaluates on the CPU.
    """

    name: str
    num_actors: int
    num_groups: int
    gpu_share: float


class Places(Protocol):
    """The machines that actors may run on."""

    def look(self, excluded: Collection[str] = ()) -> Mapping[str, Place]:
        """Returns what each machine is to hold, by its node in Ray.

        May answer what it found a few seconds ago.

        Args:
            excluded: nodes that are out of the question.

        Returns:
            All other machines that are there, also those that are to hold no actor.
        """
        ...

    def look_again(self, excluded: Collection[str] = ()) -> Mapping[str, Place]:
        """The same as things are now: an actor has died, maybe with its machine."""
        ...


class OneMachine:
    """A Ray of our own, in which there is room for exactly these actors."""

    def __init__(self, *, num_actors: int, num_groups: int = 1, num_gpus: int = 0) -> None:
        """Keeps what was decided, see `share_out`.

        Args:
            num_actors: how many.
            num_groups: groups of games of each.
            num_gpus: GPUs that they share.
        """
        share = gpu_share(num_actors=num_actors, num_gpus=num_gpus)
        # Ray finds its only machine by itself, which needs no name then.
        self._places = {"": Place("this machine", num_actors, num_groups, share)}

    def look(self, excluded: Collection[str] = ()) -> Mapping[str, Place]:
        """Returns this machine, unless it is excluded."""
        return {} if excluded else self._places

    def look_again(self, excluded: Collection[str] = ()) -> Mapping[str, Place]:
        """Returns the same: this machine cannot be gone."""
        return self.look(excluded)


class Node(NamedTuple):
    """A machine of a cluster, as Ray knows it.

    Attributes:
        node_id: its name in Ray.
        address: of the machine.
        num_cpus: CPUs that it offers.
        num_gpus: GPUs that it offers.
    """

    node_id: str
    address: str
    num_cpus: int
    num_gpus: int


def plan_places(
    nodes: Sequence[Node],
    selfplay: SelfPlayConfig,
    evaluator: EvaluatorConfig,
    *,
    spared: Mapping[str, int],
) -> dict[str, Place]:
    """Decides how many actors each machine of a cluster holds.

    As many as suit it, or as `selfplay.num_actors` says, on machines with GPUs first and otherwise
    in equal shares. There are never more than there is room for.

    Args:
        nodes: the machines that are alive.
        selfplay: how games are played.
        evaluator: where networks are evaluated.
        spared: CPUs that the actors leave to the trainer, by node. Where nobody could play
            then, they share them with it.

    Returns:
        What each machine is to hold, by node; 0 actors where there is no room.
    """
    places = _places(nodes, selfplay, evaluator, spared=spared)
    if any(place.num_actors for place in places.values()):
        return places
    return _places(nodes, selfplay, evaluator, spared={})


def _places(
    nodes: Sequence[Node],
    selfplay: SelfPlayConfig,
    evaluator: EvaluatorConfig,
    *,
    spared: Mapping[str, int],
) -> dict[str, Place]:
    """Plans as `plan_places` does, with exactly these CPUs spared."""
    rooms = {
        node.node_id: _room(node, selfplay, evaluator, spared=spared.get(node.node_id, 0))
        for node in nodes
    }
    return rooms if selfplay.num_actors is None else _deal(rooms, selfplay.num_actors)


def _room(
    node: Node, selfplay: SelfPlayConfig, evaluator: EvaluatorConfig, *, spared: int
) -> Place:
    """Returns the actors that suit a machine, never more than it has CPUs to give.

    Ray would have an actor too many wait for ever.
    """
    num_gpus = 0 if evaluator.device == "cpu" else node.num_gpus
    num_cpus = 0 if evaluator.device == "cuda" and not num_gpus else node.num_cpus - spared
    num_groups = groups_on(selfplay, num_gpus=num_gpus)
    num_threads = num_groups * (evaluator.num_threads or 1)
    suitable = suitable_actors(num_cpus=num_cpus, num_gpus=num_gpus, num_threads=num_threads)
    number = max(0, min(num_cpus, suitable))
    share = gpu_share(num_actors=number, num_gpus=num_gpus) if number else 0.0
    return Place(node.address, number, num_groups, share)


def _deal(rooms: Mapping[str, Place], num_actors: int) -> dict[str, Place]:
    """Deals actors out, one by one to the emptiest machine, those with GPUs first."""
    numbers = dict.fromkeys(rooms, 0)

    def fullness(node: str) -> tuple[bool, float, int]:
        room = rooms[node]
        return room.gpu_share == 0, numbers[node] / room.num_actors, -room.num_actors

    for _ in range(min(num_actors, sum(room.num_actors for room in rooms.values()))):
        free = [node for node, room in rooms.items() if numbers[node] < room.num_actors]
        numbers[min(free, key=fullness)] += 1
    return {node: room._replace(num_actors=numbers[node]) for node, room in rooms.items()}
