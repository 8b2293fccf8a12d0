"""How self-play is spread over a machine: actors, their groups of games, CPUs and GPUs.

On a CPU an actor is a process with one thread. On a GPU it has several groups of games, each with a
thread: while the GPU works for some of them, the others search. Two groups for each CPU are enough
for that, the two half-batches of one thread. How many of them share a process is a matter of
weighing: Python's lock, which a group holds for a part of its work, against processes, each of
which takes memory of the GPU and turns with the others there.
"""

import math
from typing import NamedTuple

import torch

from alphago.network.evaluator import EvaluatorConfig, cuda_fault
from selfplay.config import SelfPlayConfig
from selfplay.cpus import usable_cpus

_GROUPS_PER_CPU = 2  # on a GPU
_GROUPS_PER_ACTOR = 4  # on a GPU
_RAY_DIGITS = 10_000  # Ray counts shares of a GPU in ten-thousandths


class Resources(NamedTuple):
    """What the actors of a run get.

    Attributes:
        num_actors: processes.
        num_gpus: GPUs that they share; 0 where they evaluate on the CPU.
    """

    num_actors: int
    num_gpus: int


def share_out(selfplay: SelfPlayConfig, evaluator: EvaluatorConfig) -> Resources:
    """Decides how many actors play, and on how many GPUs."""
    num_gpus = torch.cuda.device_count() if _uses_gpu(evaluator) else 0
    if selfplay.num_actors is not None:
        return Resources(selfplay.num_actors, num_gpus)
    num_groups = groups_per_actor(selfplay, evaluator)
    if num_gpus:
        # As many on every GPU.
        per_gpu = usable_cpus() * _GROUPS_PER_CPU // (num_groups * num_gpus)
        return Resources(max(1, per_gpu) * num_gpus, num_gpus)
    num_threads = num_groups * (evaluator.num_threads or 1)
    return Resources(max(1, usable_cpus() // num_threads), num_gpus)


def groups_per_actor(selfplay: SelfPlayConfig, evaluator: EvaluatorConfig) -> int:
    """Returns how many groups of games an actor plays, each by a thread of its own.

    In one process (`inline`) a single one: with several, their finished games come in any order.
    """
    if selfplay.groups_per_actor is not None:
        return selfplay.groups_per_actor
    return _GROUPS_PER_ACTOR if selfplay.mode == "ray" and _uses_gpu(evaluator) else 1


def gpu_share(*, num_actors: int, num_gpus: int) -> float:
    """Returns the share of a GPU that each actor asks Ray for, so that all of them find room.

    An actor sees one GPU, so it is a share of one and not of all: three actors on two GPUs ask for
    a half each. Rounded down, as Ray would wait for ever for what is a little more than there is.
    """
    if num_gpus == 0:
        return 0.0
    return math.floor(_RAY_DIGITS / math.ceil(num_actors / num_gpus)) / _RAY_DIGITS


def _uses_gpu(evaluator: EvaluatorConfig) -> bool:
    return evaluator.device != "cpu" and cuda_fault() is None
