"""How self-play is spread over a machine: actors, their groups of games, CPUs and GPUs.

On a CPU an actor is a process with one thread. On a GPU it has two groups of games whose threads
share one CPU: while the GPU works for one of them, the other searches. Threads on CPUs of their own
do worse, since each of the many short kernels of a step hands Python's lock to and fro. Measured on
Go 9x9, 64 games per group and an evaluation of 250 us, simulations per second: one group 119,000,
two on one CPU 222,000, two on two CPUs 157,000, four on two CPUs 198,000. So it is processes that
use many CPUs. As one does the work of 200,000 to 300,000 evaluations a second, a few feed a GPU;
more of them would only take its memory and its turns, and keep more games unfinished.
"""

import math
from typing import NamedTuple

import torch

from alphago.network.evaluator import EvaluatorConfig, cuda_fault
from selfplay.config import SelfPlayConfig
from selfplay.cpus import usable_cpus

_GROUPS_PER_ACTOR = 2  # on a GPU
_MOST_ACTORS_PER_GPU = 8
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
    num_gpus = torch.cuda.device_count() if uses_gpu(evaluator) else 0
    if selfplay.num_actors is not None:
        return Resources(selfplay.num_actors, num_gpus)
    num_threads = groups_per_actor(selfplay, evaluator) * (evaluator.num_threads or 1)
    number = suitable_actors(num_cpus=usable_cpus(), num_gpus=num_gpus, num_threads=num_threads)
    return Resources(number, num_gpus)


def suitable_actors(*, num_cpus: int, num_gpus: int, num_threads: int) -> int:
    """Returns how many actors suit a machine, at least one.

    Args:
        num_cpus: CPUs for them.
        num_gpus: GPUs for them; 0 where they evaluate on the CPU.
        num_threads: threads of an actor that evaluates on the CPU.
    """
    if num_gpus:  # as many on every GPU
        return max(1, min(num_cpus // num_gpus, _MOST_ACTORS_PER_GPU)) * num_gpus
    return max(1, num_cpus // num_threads)


def groups_per_actor(selfplay: SelfPlayConfig, evaluator: EvaluatorConfig) -> int:
    """Returns how many groups of games an actor of this machine plays, see `groups_on`."""
    return groups_on(selfplay, num_gpus=int(uses_gpu(evaluator)))


def groups_on(selfplay: SelfPlayConfig, *, num_gpus: int) -> int:
    """Returns how many groups of games an actor plays, each by a thread of its own.

    In one process (`inline`) a single one: with several, their finished games come in any order.

    Args:
        selfplay: how games are played.
        num_gpus: GPUs of the actor's machine; 0 where it evaluates on the CPU.
    """
    if selfplay.groups_per_actor is not None:
        return selfplay.groups_per_actor
    return _GROUPS_PER_ACTOR if selfplay.mode == "ray" and num_gpus else 1


def gpu_share(*, num_actors: int, num_gpus: int) -> float:
    """Returns the share of a GPU that each actor asks Ray for, so that all of them find room.

    An actor sees one GPU, so it is a share of one and not of all: three actors on two GPUs ask for
    a half each. Rounded down, as Ray would wait for ever for what is a little more than there is.
    """
    if num_gpus == 0:
        return 0.0
    return math.floor(_RAY_DIGITS / math.ceil(num_actors / num_gpus)) / _RAY_DIGITS


def uses_gpu(evaluator: EvaluatorConfig) -> bool:
    """Tells whether networks are evaluated on a GPU."""
    return evaluator.device != "cpu" and cuda_fault() is None
