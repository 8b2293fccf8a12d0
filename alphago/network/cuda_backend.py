"""Runs a `Graph` on a GPU: batches are padded to a few sizes, each of which is a CUDA graph.

A small network is dozens of kernels of a few microseconds each, and launching one from Python takes
as long as running it. A CUDA graph launches all of them in one call, but is recorded for one size
of batch and fixed places in memory. So there is one for each power of two that was needed.
"""

import functools
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from alphago.errors import MemoryFullError
from alphago.network.graph import Graph
from alphago.network.torch_backend import Target, TorchNetwork, exact_convolutions
from alphago.types import Evaluation, FloatArray, UInt8Array

LARGEST_SIZE = (
    1024  # rows of one graph, a power of two; bounds what graphs take of the GPU's memory
)
_NUM_WARM_UPS = 3  # calls before a recording: cuDNN and cuBLAS allocate what they will need

# Records all graphs of the process: two recordings at a time disturb each other. One thread, since
# cuBLAS keeps up to 32 MiB for each pair of thread and stream that has ever used it.
_RECORDER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cuda-graphs")
_FREE_STREAMS: list[torch.cuda.Stream] = []  # used again, for the same reason


class Program(Protocol):
    """A network for batches of one size, between two places in the host's memory.

    Attributes:
        observations: uint8 [size, C, H, W], what `run` reads.
        answers: float32 [size, A + 1], what `run` writes: logits, then the value.
    """

    observations: UInt8Array
    answers: FloatArray

    def run(self) -> None:
        """Evaluates all rows."""
        ...


class PaddedBackend:
    """Evaluates batches of any size by programs of a few sizes, one batch at a time."""

    def __init__(self, make_program: Callable[[int], Program]) -> None:
        """Makes no program yet.

        Args:
            make_program: makes one for a number of rows, a power of two.
        """
        self._make_program = make_program
        self._programs: dict[int, Program] = {}  # by size

    def evaluate(self, observations: UInt8Array) -> Evaluation:
        """See `Backend.evaluate`.

        Raises:
            MemoryFullError: if the memory is too small for a batch of this size.
        """
        starts = range(0, len(observations), LARGEST_SIZE)
        parts = [self._evaluate(observations[start : start + LARGEST_SIZE]) for start in starts]
        if len(parts) == 1:
            return parts[0]
        logits, values = zip(*parts, strict=True)
        return Evaluation(np.concatenate(logits), np.concatenate(values))

    def _evaluate(self, observations: UInt8Array) -> Evaluation:
        num_rows = len(observations)
        program = self._program(1 << (num_rows - 1).bit_length())  # rows: the next power of two
        program.observations[:num_rows] = observations  # the others keep an earlier batch
        program.run()
        answers = program.answers[:num_rows]  # the next call writes over it
        return Evaluation(answers[:, :-1].copy(), answers[:, -1].copy())

    def _program(self, size: int) -> Program:
        """Returns the program for so many rows, which is made when it is first needed."""
        if size not in self._programs:
            try:
                self._programs[size] = self._make_program(size)
            except torch.OutOfMemoryError as error:
                raise MemoryFullError(
                    f"the GPU's memory has no room for a batch of {size} positions; allowed:"
                    " smaller ones (selfplay.num_games), fewer actors or groups, a smaller network"
                ) from error
        return self._programs[size]


def make_cuda_backend(graph: Graph, target: Target) -> PaddedBackend:
    """Returns the backend of a graph on a GPU, with a stream of its own.

    So the batches of several threads are on their way at the same time.
    """
    with torch.inference_mode():
        network = TorchNetwork(graph, target)
    stream = _FREE_STREAMS.pop() if _FREE_STREAMS else _new_stream()
    record = functools.partial(
        torch.cuda.graph,
        pool=torch.cuda.graph_pool_handle(),  # one for all sizes, which never run at the same time
        stream=stream,
        capture_error_mode="thread_local",  # meanwhile other threads may allocate memory
    )

    def make_program(size: int) -> CudaProgram:
        shape = (size, *graph.observation_shape)
        return _RECORDER.submit(CudaProgram, network, shape, stream=stream, record=record).result()

    backend = PaddedBackend(make_program)
    weakref.finalize(backend, _FREE_STREAMS.append, stream).atexit = False
    return backend


def _new_stream() -> torch.cuda.Stream:
    return torch.cuda.Stream()  # type: ignore[no-untyped-call]


def _new_event() -> torch.cuda.Event:
    """Returns an event for which threads wait asleep; by default they spin, and take a core."""
    return torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]


class CudaProgram:
    """A network as a CUDA graph, with pinned buffers on the host's side."""

    observations: UInt8Array
    answers: FloatArray

    def __init__(
        self,
        network: TorchNetwork,
        shape: tuple[int, ...],
        *,
        stream: torch.cuda.Stream,
        record: Callable[[torch.cuda.CUDAGraph], AbstractContextManager[None]],
    ) -> None:
        """Records the graph, on the thread of `_RECORDER`.

        Args:
            network: what is recorded; it stays alive with the graph.
            shape: of the observations, (size, C, H, W).
            stream: where the graph is recorded and run.
            record: makes the context whose work becomes part of a graph.
        """
        device = network.target.device
        self._network = network
        self._stream = stream
        self._done = _new_event()
        self._graph = torch.cuda.CUDAGraph()
        # float32 means float32 here: which kernels run is decided while the graph is recorded.
        with torch.inference_mode(), exact_convolutions(device):
            self._device_observations = torch.zeros(shape, dtype=torch.uint8, device=device)
            stream.wait_stream(torch.cuda.current_stream(device))  # which still copies weights
            with torch.cuda.stream(stream):
                for _ in range(_NUM_WARM_UPS):
                    self._compute()
            with record(self._graph):
                self._device_answers = self._compute()
            self._pinned = [
                torch.zeros(each.shape, dtype=each.dtype, pin_memory=True)
                for each in (self._device_observations, self._device_answers)
            ]
        self.observations, self.answers = (each.numpy() for each in self._pinned)

    def run(self) -> None:
        """Evaluates all rows."""
        observations, answers = self._pinned
        with torch.inference_mode(), torch.cuda.stream(self._stream):
            self._device_observations.copy_(observations, non_blocking=True)
            self._graph.replay()
            answers.copy_(self._device_answers, non_blocking=True)
            self._done.record(self._stream)
        self._done.synchronize()

    def _compute(self) -> Tensor:
        """Returns the answers [size, A + 1]."""
        logits, value = self._network(self._device_observations)
        return torch.cat([logits, value[:, None]], dim=1)
