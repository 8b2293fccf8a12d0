"""The backend of GPUs: what needs no GPU is tested with programs that run on the CPU."""

import gc

import numpy as np
import pytest
import torch

from alphago.errors import MemoryFullError
from alphago.network import cuda_backend, inference
from alphago.network.cuda_backend import PaddedBackend, make_cuda_backend
from alphago.network.freezing import freeze
from alphago.network.inference import InferencePlan, build_backend
from alphago.network.precision import PrecisionError
from alphago.network.torch_backend import Target, TorchBackend, exact_convolutions
from tests.network.fake_game import make_config, make_spec, make_trained, random_observations

SPEC = make_spec()
GRAPH = freeze(make_trained(SPEC, make_config()), SPEC)
CPU = Target(torch.device("cpu"), torch.float32)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


class HostProgram:
    """A program of the CPU. It fails where it is asked for other sizes than powers of two."""

    def __init__(self, size):
        assert size.bit_count() == 1
        self.observations = np.full((size, *SPEC.observation_shape), 255, np.uint8)
        self.answers = np.full((size, SPEC.num_actions + 1), np.nan, np.float32)
        self.num_runs = 0
        self._backend = TorchBackend(GRAPH, CPU)

    def run(self):
        self.num_runs += 1
        logits, value = self._backend.evaluate(self.observations)
        self.answers[:, :-1], self.answers[:, -1] = logits, value


@pytest.fixture
def programs():
    """The programs that were made, by size."""
    return {}


@pytest.fixture
def backend(programs):
    def make_program(size):
        assert size not in programs
        programs[size] = HostProgram(size)
        return programs[size]

    return PaddedBackend(make_program)


@pytest.mark.parametrize(
    ("num_rows", "size"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (33, 64), (64, 64)]
)
def test_a_batch_is_padded_to_a_power_of_two(num_rows, size, backend, programs):
    observations = random_observations(SPEC, num_rows, seed=num_rows)
    answer = backend.evaluate(observations)
    assert list(programs) == [size]
    assert_close(answer, TorchBackend(GRAPH, CPU).evaluate(observations))


def test_a_program_is_made_once_and_used_for_all_batches_of_its_size(backend, programs):
    reference = TorchBackend(GRAPH, CPU)
    for num_rows in (8, 5, 3, 6, 8, 4):
        observations = random_observations(SPEC, num_rows, seed=num_rows)
        assert_close(backend.evaluate(observations), reference.evaluate(observations))
    assert {size: program.num_runs for size, program in programs.items()} == {8: 4, 4: 2}


def test_answers_stay_as_they_are_when_the_next_batch_comes(backend):
    first = backend.evaluate(random_observations(SPEC, 4, seed=1))
    kept = [array.copy() for array in first]
    backend.evaluate(random_observations(SPEC, 4, seed=2))
    for array, copy in zip(first, kept, strict=True):
        np.testing.assert_array_equal(array, copy)
        assert array.flags.c_contiguous
        assert array.dtype == np.float32


def test_a_large_batch_is_cut_up(monkeypatch, backend, programs):
    monkeypatch.setattr(cuda_backend, "LARGEST_SIZE", 8)
    observations = random_observations(SPEC, 21, seed=1)
    answer = backend.evaluate(observations)
    assert {size: program.num_runs for size, program in programs.items()} == {8: 3}
    assert_close(answer, TorchBackend(GRAPH, CPU).evaluate(observations))


def test_memory_that_is_full_is_told_with_the_size():
    def make_program(size):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")

    with pytest.raises(MemoryFullError, match=r"a batch of 64 positions; .*selfplay\.num_games"):
        PaddedBackend(make_program).evaluate(random_observations(SPEC, 60, seed=1))


def test_convolutions_in_float32_do_without_tf32_on_a_gpu():
    before = torch.backends.cudnn.allow_tf32
    with exact_convolutions(torch.device("cuda")):
        assert not torch.backends.cudnn.allow_tf32
        assert torch.backends.cudnn.enabled
    assert torch.backends.cudnn.allow_tf32 == before


def test_torch_on_a_gpu_is_this_backend(monkeypatch):
    targets = []
    monkeypatch.setattr(
        inference, "make_cuda_backend", lambda graph, target: targets.append(target)
    )
    # The reference, which is on the GPU as well.
    monkeypatch.setattr(inference, "TorchBackend", lambda graph, target: TorchBackend(graph, CPU))
    monkeypatch.setattr(inference, "native_precision", lambda device: "bf16")
    device = torch.device("cuda")
    for precision in ("bf16", "fp32"):
        plan = InferencePlan(device, "torch", precision, PrecisionError(1.0, 1.0), num_threads=1)
        found = build_backend(GRAPH, plan, None)[1]
        assert (found.backend, found.precision) == ("torch", precision)
    assert targets == [Target(device, torch.bfloat16), Target(device, torch.float32)]


@needs_gpu
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.bfloat16, 0.2)])
@pytest.mark.parametrize("num_rows", [1, 5, 64])
def test_graphs_answer_like_torch_on_the_cpu(num_rows, dtype, tolerance):
    backend = make_cuda_backend(GRAPH, Target(torch.device("cuda"), dtype))
    reference = TorchBackend(GRAPH, CPU)
    for seed in range(3):
        observations = random_observations(SPEC, num_rows, seed=seed)
        assert_close(
            backend.evaluate(observations), reference.evaluate(observations), atol=tolerance
        )


@needs_gpu
def test_streams_of_dropped_backends_are_used_again():
    observations = random_observations(SPEC, 4, seed=1)
    for _ in range(5):
        make_cuda_backend(GRAPH, Target(torch.device("cuda"), torch.float32)).evaluate(observations)
        gc.collect()
    assert len(cuda_backend._FREE_STREAMS) <= 2


def assert_close(answer, expected, *, atol=1e-5):
    for ours, theirs in zip(answer, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol)
