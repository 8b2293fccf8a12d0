"""Actors with groups, and with GPUs that Ray only believes in."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
import ray
import torch

from alphago.games import make_game
from alphago.network.evaluator import NetworkEvaluator
from alphago.network.network import make_network, weights_of
from scripts.ray_session import ray_session
from selfplay.actors import ActorSetup
from selfplay.places import OneMachine
from selfplay.ray_pool import RayPool
from selfplay.reports import NewNetwork
from tests.train.tiny import NETWORK, actor_setup, streams

NUM_ACTORS = 3
NUM_GPUS = 2
WAIT_S = 10.0
LONGEST_S = 120.0  # until every group has finished a game, on a busy machine
WEIGHTS = weights_of(make_network(make_game("tic_tac_toe").spec, NETWORK, seed=0))


@pytest.fixture(scope="module", autouse=True)
def running_ray() -> Iterator[None]:
    with ray_session(num_actors=NUM_ACTORS, num_gpus=NUM_GPUS):
        yield


@pytest.fixture
def pool() -> Iterator[RayPool]:
    setup = actor_setup(groups_per_actor=2, max_restarts=5)
    places = OneMachine(num_actors=NUM_ACTORS, num_groups=2, num_gpus=NUM_GPUS)
    pool = RayPool(setup, places, first_actor=100)
    pool.publish(NewNetwork(0, WEIGHTS))
    while pool.state().num_starting:
        pool.drain(WAIT_S)
    yield pool
    pool.close()


# Functions for actors to call.


def visible_gpus() -> str | None:
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def threads(setup: ActorSetup) -> tuple[int, str | None, int]:
    """Returns the threads of torch, of OpenMP's libraries and of an evaluator of this process."""
    evaluator = NetworkEvaluator(make_game(setup.game), setup.network, setup.evaluator)
    evaluator.load_weights(WEIGHTS)
    model = evaluator._backend._any_size.get_compiled_model()
    return (
        torch.get_num_threads(),
        os.environ.get("OMP_NUM_THREADS"),
        model.get_property("INFERENCE_NUM_THREADS"),
    )


def never() -> bool:
    return False


def test_each_actor_sees_one_gpu_and_none_is_left_idle(pool: RayPool) -> None:
    assert ray.cluster_resources()["GPU"] == NUM_GPUS
    seen = pool.map(visible_gpus, [()] * NUM_ACTORS, give_up=never)
    assert Counter(seen) == {"0": 2, "1": 1}


def test_groups_of_different_actors_use_different_streams(pool: RayPool) -> None:
    records = []
    actors: set[int] = set()
    deadline = time.monotonic() + LONGEST_S
    while len(actors) < 2 * NUM_ACTORS and time.monotonic() < deadline:
        records += [r for report in pool.collect(WAIT_S) for r in report.records]
        actors = {record.name.actor for record in records}
    names = streams(records)
    assert len(set(names)) == len(names)
    assert actors == set(range(100, 100 + 2 * NUM_ACTORS))


@pytest.mark.parametrize("num_threads", [1, 2])
def test_threads_are_as_configured_in_every_library(num_threads: int, pool: RayPool) -> None:
    setup = actor_setup()
    setup = replace(setup, evaluator=replace(setup.evaluator, num_threads=num_threads))
    found = pool.map(threads, [(setup,)] * NUM_ACTORS, give_up=never)
    assert found == [(num_threads, "1", num_threads)] * NUM_ACTORS
