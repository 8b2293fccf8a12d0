"""The actors of a run: in this process, in others of this machine, or on a cluster's machines."""

import logging

from selfplay.actors import ActorSetup
from selfplay.cluster import CLIENT, ClusterPlaces, own_node
from selfplay.cpus import usable_cpus
from selfplay.places import OneMachine
from selfplay.pool import InlinePool, SelfPlayPool
from selfplay.ray_pool import RayPool
from selfplay.resources import groups_per_actor, share_out
from train.run_folder import ACTORS_PER_SITTING

logger = logging.getLogger(__name__)


def make_pool(
    setup: ActorSetup, *, cluster: str | None, num_spared: int, sitting: int
) -> SelfPlayPool:
    """Starts the actors that the configuration asks for.

    Args:
        setup: what all actors share.
        cluster: `ray.address`, of the cluster that was joined; None for a Ray of our own.
        num_spared: CPUs of this machine that actors of a cluster leave to the trainer.
        sitting: number of this process among those that have worked on the run.
    """
    first_actor = sitting * ACTORS_PER_SITTING
    if setup.selfplay.mode == "inline":
        return InlinePool(setup, actor=first_actor)
    if cluster is None:
        return RayPool(setup, _places_here(setup), first_actor=first_actor)
    # A client may be on a machine that is no part of the cluster.
    spared = {} if cluster.startswith(CLIENT) else {own_node(): num_spared}
    places = ClusterPlaces(setup.selfplay, setup.evaluator, spared=spared)
    room = sum(place.num_actors for place in places.look().values())
    if (setup.selfplay.num_actors or 0) > room:
        logger.warning(
            "selfplay.num_actors=%d: the cluster has room for %d now, the others start when"
            " machines join",
            setup.selfplay.num_actors,
            room,
        )
    return RayPool(setup, places, first_actor=first_actor)


def warn_of_shared_cpus(num_actors: int) -> None:
    """Says that actors on this machine are more than its CPUs; before Ray starts a process each."""
    available = usable_cpus()
    if num_actors > available:
        logger.warning(
            "selfplay.num_actors=%d on %d usable CPUs: the actors share them", num_actors, available
        )


def _places_here(setup: ActorSetup) -> OneMachine:
    """Returns this machine, with the actors that suit it or are asked for."""
    num_actors, num_gpus = share_out(setup.selfplay, setup.evaluator)
    num_groups = groups_per_actor(setup.selfplay, setup.evaluator)
    return OneMachine(num_actors=num_actors, num_groups=num_groups, num_gpus=num_gpus)
