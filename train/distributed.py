"""Several processes that learn together, started by `torchrun`.

The first process, the leader, is the run as it always is: actors, window, gate and files. The
others, its followers, help with the minibatches alone (`train.followers`). They wait for messages
of the leader, and touch neither the disk nor Ray nor TensorBoard.

Messages and rows travel between the CPUs by gloo, gradients likewise, or by NCCL between GPUs.
"""

import gc
import importlib
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import distributed

from alphago.errors import TrainingError, check_config
from alphago.network.evaluator import cuda_fault
from train.targets import TrainingRows

# Followers wait while the leader plays, gates and measures. Nothing is noticed later for this: a
# leader that dies closes its connections, which ends the wait at once.
LONGEST_WAIT = timedelta(days=30)


class Kind(IntEnum):
    """What the leader tells its followers; behind it, the number that a message carries."""

    BEGIN = 1  # make a trainer: bytes of the text that follows
    TAKE_OVER = 2  # weights and optimiser's memory follow: optimiser steps made
    STEP = 3  # rows follow: progress of the run
    LEAVE = 4  # end


class Message(NamedTuple):
    """One message."""

    kind: Kind
    number: float


class Team:
    """The processes that learn together, as one of them sees them.

    Attributes:
        rank: number of this process; the leader is 0.
        size: how many there are, at least 2.
        local_rank: number of this process among those of this machine, and of its GPU.
        local_size: how many of them there are on this machine.
    """

    def __init__(self, *, local_rank: int, local_size: int) -> None:
        """Meets the others; returns when all are there.

        Args:
            local_rank: as `torchrun` says in LOCAL_RANK.
            local_size: as `torchrun` says in LOCAL_WORLD_SIZE.
        """
        self.local_rank = local_rank
        self.local_size = local_size
        if local_rank < torch.cuda.device_count():
            torch.cuda.set_device(local_rank)
        # The gradient of a 1x1 kernel may lie in memory in two ways, which makes no difference.
        warnings.filterwarnings("ignore", message="Grad strides do not match bucket view strides")
        # Optimisers import this module, of which something keeps a group that exists by then: its
        # threads would outlive it, and abort the process now and then when that ends.
        importlib.import_module("torch._dynamo")
        backend = "gloo" if cuda_fault() is not None else "cpu:gloo,cuda:nccl"
        distributed.init_process_group(backend, timeout=LONGEST_WAIT)
        self.rank = distributed.get_rank()
        self.size = distributed.get_world_size()
        self._is_in_order = True  # whether all processes are between two exchanges

    def close(self) -> None:
        """Lets the others go; where an exchange broke off, they end with their connections.

        Raises:
            TrainingError: if another process is gone.
        """
        if not self._is_in_order:
            return
        if self.rank == 0:
            with self.exchange():
                self.send(Kind.LEAVE)
        gc.collect()  # modules of `DistributedDataParallel` hold the group, and each other
        distributed.destroy_process_group()

    def check(self, *, batch_size: int, device: torch.device) -> None:
        """Checks that a run can be shared.

        Raises:
            ConfigError: if the minibatch cannot be dealt out evenly, or a process lacks a GPU.
        """
        # Batch norm cannot learn from one row.
        is_even = batch_size % self.size == 0 and batch_size >= 2 * self.size
        check_config(
            "train.batch_size",
            batch_size,
            is_even,
            f"a multiple of the {self.size} processes, with two rows for each",
        )
        if device.type == "cuda":
            num_gpus = torch.cuda.device_count()
            check_config(
                "evaluator.device",
                device.type,
                self.local_size <= num_gpus,
                f"cpu, or one process per GPU: {self.local_size} processes, {num_gpus} GPUs",
            )

    @contextmanager
    def exchange(self) -> Iterator[None]:
        """Encloses what all processes have to do together.

        Raises:
            TrainingError: if another process is gone.
        """
        self._is_in_order = False
        try:
            yield
        except RuntimeError as error:
            # NCCL's errors have a class of their own, gloo's a text that names its source file.
            if not isinstance(error, distributed.DistError) and "gloo" not in str(error):
                raise
            first_line = str(error).partition("\n")[0]
            raise TrainingError(
                f"process {self.rank} of {self.size} cannot reach the others: {first_line}"
            ) from error
        self._is_in_order = True

    # ----- from the leader to its followers, within `exchange`

    def send(self, kind: Kind, number: float = 0.0) -> None:
        """Tells the followers what comes next."""
        distributed.broadcast(torch.tensor([kind, number], dtype=torch.float64), src=0)

    def receive(self) -> Message:
        """Waits for the next message."""
        numbers = torch.empty(2, dtype=torch.float64)
        distributed.broadcast(numbers, src=0)
        kind, number = numbers.tolist()
        return Message(Kind(int(kind)), number)

    def send_text(self, text: str) -> None:
        """Sends a text, of which a message tells the length in bytes."""
        self.broadcast([torch.tensor(list(text.encode()), dtype=torch.uint8)])

    def receive_text(self, num_bytes: int) -> str:
        """Receives what `send_text` sends."""
        content = torch.empty(num_bytes, dtype=torch.uint8)
        self.broadcast([content])
        return bytes(content.tolist()).decode()

    def broadcast(self, tensors: Iterable[torch.Tensor]) -> None:
        """Fills tensors of all processes, in place, with those of the leader."""
        for tensor in tensors:
            content = tensor.detach().contiguous()  # as NCCL wants it; kernels have channels last
            distributed.broadcast(content, src=0)
            tensor.detach().copy_(content)

    def deal(self, rows: TrainingRows, progress: float) -> TrainingRows:
        """Sends each follower its part of a minibatch, and what it needs for the step.

        Args:
            rows: the minibatch, M a multiple of the number of processes.
            progress: part of the run that is over, 0 to 1.

        Returns:
            The leader's own part, the first.
        """
        self.send(Kind.STEP, progress)
        return rows.with_arrays([self._scatter(array) for array in rows.arrays()])

    def receive_share(self, rows: TrainingRows) -> None:
        """Fills rows, in place, with this follower's part of a minibatch."""
        for array in rows.arrays():
            distributed.scatter(torch.from_numpy(array), src=0)

    # ----- between all processes, within `exchange`

    def mean(self, numbers: torch.Tensor) -> torch.Tensor:
        """Returns the mean of the numbers over all processes, equal in all of them."""
        distributed.all_reduce(numbers)
        return numbers / self.size

    def _scatter(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sends each follower its part of an array, and returns the leader's own."""
        parts = list(torch.from_numpy(np.require(array, requirements=["C", "W"])).chunk(self.size))
        own = torch.empty_like(parts[0])
        distributed.scatter(own, parts, src=0)
        return own.numpy()
