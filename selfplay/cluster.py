"""The machines of a running Ray cluster as places for actors."""

import time
from collections.abc import Collection, Mapping

import ray

from alphago.network.evaluator import EvaluatorConfig
from selfplay.config import SelfPlayConfig
from selfplay.places import Node, Place, plan_places

CLIENT = "ray://"  # begins the address of a cluster's server for clients
LOOK_EVERY_S = 5.0  # by so much later actors start on a machine that has joined


class ClusterPlaces:
    """The machines of the cluster that this process has joined."""

    def __init__(
        self, selfplay: SelfPlayConfig, evaluator: EvaluatorConfig, *, spared: Mapping[str, int]
    ) -> None:
        """Prepares to look.

        Args:
            selfplay: how games are played, and by how many actors.
            evaluator: where networks are evaluated.
            spared: CPUs that the actors leave to the trainer, by node.
        """
        self._selfplay = selfplay
        self._evaluator = evaluator
        self._spared = spared
        self._nodes: list[Node] = []
        self._looked = -LOOK_EVERY_S
        # What was planned since then, by what was excluded: the pool asks after every step.
        self._plans: dict[frozenset[str], Mapping[str, Place]] = {}

    def look(self, excluded: Collection[str] = ()) -> Mapping[str, Place]:
        """Returns what each machine is to hold, as things were a few seconds ago."""
        if time.monotonic() - self._looked < LOOK_EVERY_S:
            return self._plan(excluded)
        return self.look_again(excluded)

    def look_again(self, excluded: Collection[str] = ()) -> Mapping[str, Place]:
        """Returns what each machine is to hold, as things are now."""
        self._nodes, self._plans = living_nodes(), {}
        self._looked = time.monotonic()
        return self._plan(excluded)

    def _plan(self, excluded: Collection[str]) -> Mapping[str, Place]:
        key = frozenset(excluded)
        if key not in self._plans:
            nodes = [node for node in self._nodes if node.node_id not in excluded]
            self._plans[key] = plan_places(
                nodes, self._selfplay, self._evaluator, spared=self._spared
            )
        return self._plans[key]


def living_nodes() -> list[Node]:
    """Returns the machines that are alive, with all CPUs and GPUs that they offer."""
    found = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    return [
        Node(
            node_id=node["NodeID"],
            address=node["NodeManagerAddress"],
            num_cpus=int(node["Resources"].get("CPU", 0)),
            num_gpus=int(node["Resources"].get("GPU", 0)),
        )
        for node in found
    ]


def own_node() -> str:
    """Returns the node of the machine that this process runs on."""
    return ray.get_runtime_context().get_node_id()
