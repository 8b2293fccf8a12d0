"""How actors, groups and GPUs are shared out, with made-up CPUs and GPUs."""

from dataclasses import replace

import pytest
import torch

from selfplay import resources
from selfplay.resources import Resources, gpu_share, groups_per_actor, share_out
from tests.train.tiny import EVALUATOR, selfplay_config


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> "Machine":
    return Machine(monkeypatch)


class Machine:
    """Makes the tests believe in another machine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def has(self, *, cpus: int, gpus: int) -> None:
        fault = None if gpus else "no CUDA device"
        self._monkeypatch.setattr(resources, "usable_cpus", lambda: cpus)
        self._monkeypatch.setattr(resources, "cuda_fault", lambda: fault)
        self._monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)


def shared(*, device: str = "auto", num_threads: int | None = 1, **changes: object) -> Resources:
    settings = {"mode": "ray", "num_actors": None} | changes
    evaluator = replace(EVALUATOR, device=device, num_threads=num_threads)
    return share_out(selfplay_config(**settings), evaluator)


@pytest.mark.parametrize("cpus", [1, 2, 16])
def test_without_a_gpu_there_is_an_actor_per_cpu(cpus: int, machine: Machine) -> None:
    machine.has(cpus=cpus, gpus=0)
    assert shared() == Resources(num_actors=cpus, num_gpus=0)
    machine.has(cpus=cpus, gpus=2)
    assert shared(device="cpu") == Resources(num_actors=cpus, num_gpus=0)


@pytest.mark.parametrize(
    ("cpus", "groups", "threads", "actors"),
    [(4, 1, 2, 2), (4, 2, 1, 2), (4, 2, 2, 1), (4, 3, 1, 1), (2, 4, 4, 1), (4, None, None, 4)],
)
def test_on_a_cpu_all_threads_of_all_actors_have_a_cpu(
    cpus: int, groups: int | None, threads: int | None, actors: int, machine: Machine
) -> None:
    machine.has(cpus=cpus, gpus=0)
    assert shared(num_threads=threads, groups_per_actor=groups).num_actors == actors


@pytest.mark.parametrize(
    ("cpus", "gpus", "actors"),
    [
        (16, 1, 8),  # more would only wait for it
        (4, 1, 4),
        (1, 1, 1),
        (16, 2, 16),
        (16, 3, 15),  # five for each GPU
        (4, 8, 8),  # no GPU idle
    ],
)
def test_on_a_gpu_an_actor_has_a_cpu_up_to_what_a_gpu_needs(
    cpus: int, gpus: int, actors: int, machine: Machine
) -> None:
    machine.has(cpus=cpus, gpus=gpus)
    for groups in (None, 1, 2, 4):  # those of an actor share its CPU
        found = shared(device="cuda", groups_per_actor=groups)
        assert found == Resources(num_actors=actors, num_gpus=gpus)
    assert shared(device="auto").num_actors == actors


def test_what_is_asked_for_is_done(machine: Machine) -> None:
    machine.has(cpus=2, gpus=1)
    assert shared(num_actors=5) == Resources(num_actors=5, num_gpus=1)
    config = selfplay_config(mode="ray", groups_per_actor=3)
    assert groups_per_actor(config, EVALUATOR) == 3


def test_two_groups_are_for_actors_on_a_gpu(machine: Machine) -> None:
    evaluator = replace(EVALUATOR, device="auto")
    ray = selfplay_config(mode="ray", groups_per_actor=None)
    machine.has(cpus=2, gpus=1)
    assert groups_per_actor(ray, evaluator) == 2
    assert groups_per_actor(ray, replace(evaluator, device="cpu")) == 1
    inline = selfplay_config(mode="inline", groups_per_actor=None)
    assert groups_per_actor(inline, evaluator) == 1  # equal seeds give equal runs
    machine.has(cpus=2, gpus=0)
    assert groups_per_actor(ray, evaluator) == 1


@pytest.mark.parametrize("num_gpus", range(1, 9))
@pytest.mark.parametrize("num_actors", [*range(1, 20), 64])
def test_every_actor_finds_room_on_a_gpu(num_actors: int, num_gpus: int) -> None:
    share = round(10_000 * gpu_share(num_actors=num_actors, num_gpus=num_gpus))
    assert 0 < share <= 10_000
    places_per_gpu = 10_000 // share
    assert places_per_gpu * num_gpus >= num_actors
    assert gpu_share(num_actors=num_actors, num_gpus=0) == 0.0
