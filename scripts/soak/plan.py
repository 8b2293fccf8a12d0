"""Which faults a soak makes, in which order: decided by the seed alone."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MOST_PAUSE_S = 2.0  # between a run that works and its next fault
SECONDS = (1.0, 6.0)  # shortest and longest time for which something stands still or is full


class Kind(NamedTuple):
    """A kind of fault.

    Attributes:
        name: what it is called in a report.
        text: what happens.
        weight: how often it is drawn, beside the others.
    """

    name: str
    text: str
    weight: int


KINDS = (
    Kind("actor_killed", "kill -9 of an actor, as the kernel does when memory is short", 6),
    Kind("all_actors_killed", "kill -9 of all actors at once", 2),
    Kind("actor_stopped", "an actor stands still for some seconds", 3),
    Kind("actor_hung", "an actor stands still for good", 1),
    Kind("driver_killed", "kill -9 of the process that learns", 3),
    Kind("driver_killed_storing", "the same just after games were stored", 3),
    Kind("driver_killed_saving", "the same while a checkpoint is being written", 3),
    Kind("driver_interrupted", "Ctrl-C", 2),
    Kind("driver_interrupted_hung", "Ctrl-C while an actor stands still", 1),
    Kind("driver_interrupted_twice", "Ctrl-C twice: at once, without saving", 1),
    Kind("driver_terminated", "SIGTERM", 2),
    Kind("driver_stopped", "the process that learns stands still for some seconds", 2),
    Kind("ray_killed", "kill -9 of Ray's own processes, the node of the actors among them", 1),
    Kind("disk_full", "the run's disk is full for some seconds", 2),
    Kind("disk_slow", "the run's disk takes nothing for some seconds", 2),
    Kind("file_limit", "no file may grow beyond some bytes: writes break off in the middle", 2),
)


class Fault(NamedTuple):
    """A fault that is to be made.

    Attributes:
        kind: name of its kind.
        pause_s: how long the run has worked before, in seconds.
        seconds: how long it lasts, where its kind lasts.
        share: from 0 to below 1, chooses among actors and limits.
    """

    kind: str
    pause_s: float
    seconds: float
    share: float


def make_plan(kinds: Sequence[Kind], *, num_faults: int, seed: int) -> list[Fault]:
    """Draws faults: each kind once in the beginning, as far as there are so many, then by weight.

    Args:
        kinds: those that can be made here.
        num_faults: how many.
        seed: decides all of it.
    """
    rng = np.random.default_rng(seed)
    weights = np.array([kind.weight for kind in kinds], np.float64)
    order = rng.permutation(len(kinds)).tolist()
    order += rng.choice(len(kinds), size=num_faults, p=weights / weights.sum()).tolist()
    return [
        Fault(
            kind=kinds[index].name,
            pause_s=float(rng.uniform(0.0, MOST_PAUSE_S)),
            seconds=float(rng.uniform(*SECONDS)),
            share=float(rng.random()),
        )
        for index in order[:num_faults]
    ]
