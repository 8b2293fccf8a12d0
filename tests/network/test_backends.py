"""What every backend and precision must do alike, held against the oracle in plain numpy."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from alphago.network.freezing import freeze
from alphago.network.openvino_backend import OpenVinoBackend, make_model
from alphago.network.quantization import measure_ranges
from alphago.network.torch_backend import Target, TorchBackend
from tests.network.fake_game import (
    KINDS,
    make_config,
    make_spec,
    make_trained,
    random_observations,
)
from tests.network.numpy_graph import evaluate
from tests.network.test_freezing import CASES

CPU = torch.device("cpu")
ROOT = Path(__file__).parents[2]
SPEC = make_spec(17, 5, 4, 21)  # every kind of network plays it

# By backend and precision: how far answers may be from the oracle's, on average, in standard
# deviations of its logits and in numbers of its values. Each is twice of what was seen.
BOUNDS = {
    ("torch", "fp32"): (1e-6, 1e-6),
    ("torch", "bf16"): (0.03, 0.015),
    ("openvino", "fp32"): (1e-6, 1e-6),
    ("openvino", "bf16"): (0.03, 0.03),
    ("openvino", "int8"): (0.06, 0.05),
}


def make_graph(kind="both", spec=SPEC, *, seed=1):
    config = make_config(policy_channels=3, value_channels=2, **KINDS[kind])
    return freeze(make_trained(spec, config, seed=seed), spec)


def make_torch(graph, precision="fp32"):
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
    return TorchBackend(graph, Target(CPU, dtype))


def make_ranges(graph):
    spec = make_spec(*graph.observation_shape, graph.num_actions)
    return measure_ranges(graph, make_torch(graph), random_observations(spec, 100, seed=7))


def make_backend(form, graph):
    backend, precision = form
    if backend == "torch":
        return make_torch(graph, precision)
    ranges = make_ranges(graph) if precision == "int8" else None
    return OpenVinoBackend(graph, precision=precision, ranges=ranges, num_threads=1)


def assert_close(answer, expected, bounds):
    spread = max(0.1, expected.prior_logits.std())
    assert np.abs(answer.prior_logits - expected.prior_logits).mean() < bounds[0] * spread
    assert np.abs(answer.value - expected.value).mean() < bounds[1]


def assert_equal(one, other):
    np.testing.assert_array_equal(one.prior_logits, other.prior_logits)
    np.testing.assert_array_equal(one.value, other.value)


@pytest.fixture(params=BOUNDS, ids=" ".join)
def form(request):
    return request.param


@pytest.mark.parametrize(("shape", "kind"), CASES)
def test_answers_are_those_of_the_oracle(form, shape, kind):
    spec = make_spec(*shape)
    graph = make_graph(kind, spec)
    observations = random_observations(spec, 65, seed=2)
    answer = make_backend(form, graph).evaluate(observations)
    expected = evaluate(graph, observations)
    assert answer.prior_logits.dtype == answer.value.dtype == np.float32
    assert answer.prior_logits.shape == (65, spec.num_actions)
    assert answer.value.shape == (65,)
    assert_close(answer, expected, BOUNDS[form])
    if form[1] != "fp32":  # it really computes in less
        assert np.abs(answer.prior_logits - expected.prior_logits).max() > 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_changing_size_are_answered_like_their_rows(form, kind):
    """OpenVINO once corrupted its memory here, when it had copied one input and shared the next."""
    graph = make_graph(kind)
    backend = make_backend(form, graph)
    observations = random_observations(SPEC, 256, seed=3)
    expected = evaluate(graph, observations)
    for num_rows in (64, 1, 0, 65, 3, 256, 0, 1, 64, 256, 3):
        answer = backend.evaluate(observations[:num_rows])
        assert answer.prior_logits.shape == (num_rows, SPEC.num_actions)
        assert answer.value.shape == (num_rows,)
        if num_rows:
            part = type(expected)(*(each[:num_rows] for each in expected))
            # A mean over one row scatters more than one over many.
            assert_close(answer, part, np.array(BOUNDS[form]) * (3 if num_rows < 64 else 1))


def test_a_later_call_leaves_earlier_answers_and_inputs_as_they_were(form):
    backend = make_backend(form, make_graph())
    first, second = (random_observations(SPEC, 64, seed=seed) for seed in (3, 4))
    given = first.copy()
    answer = backend.evaluate(first)
    kept = type(answer)(*(each.copy() for each in answer))
    assert np.abs(backend.evaluate(second).prior_logits - answer.prior_logits).max() > 0.01
    assert_equal(answer, kept)
    np.testing.assert_array_equal(first, given)
    assert all(each.flags.writeable for each in answer)
    first[...] = 0  # nor does a backend look at it again
    assert_equal(answer, kept)
    assert_equal(backend.evaluate(given), kept)


def test_inputs_of_any_layout_are_taken(form):
    backend = make_backend(form, make_graph())
    observations = random_observations(SPEC, 8, seed=3)
    expected = backend.evaluate(observations)
    fixed = observations.copy()
    fixed.flags.writeable = False
    channels_last = np.ascontiguousarray(observations.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    assert not channels_last.flags.c_contiguous
    for given in (fixed, channels_last, np.repeat(observations, 2, axis=0)[::2], fixed[::-1][::-1]):
        assert_equal(backend.evaluate(given), expected)


def test_equal_graphs_answer_alike(form):
    observations = random_observations(SPEC, 64, seed=3)
    one, other = (make_backend(form, make_graph()).evaluate(observations) for _ in range(2))
    assert_equal(one, other)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_sizes_that_come_often_get_models_of_their_own_with_equal_answers(monkeypatch, precision):
    monkeypatch.setattr("alphago.network.openvino_backend._BATCHES_TO_PAY", 3)
    monkeypatch.setattr("alphago.network.openvino_backend._MOST_SIZES", 2)
    backend = make_backend(("openvino", precision), make_graph())
    observations = random_observations(SPEC, 64, seed=3)
    sizes = (64, 7, 1)
    expected = {size: backend.evaluate(observations[:size]) for size in sizes}
    for _ in range(5):
        for size in sizes:
            assert_equal(backend.evaluate(observations[:size]), expected[size])
    assert set(backend._own) == {64, 7}


def test_two_backends_side_by_side_do_not_mix(form):
    one, other = (make_backend(form, make_graph(seed=seed)) for seed in (1, 2))
    observations = random_observations(SPEC, 64, seed=3)
    first = one.evaluate(observations)
    second = other.evaluate(observations)
    assert np.abs(first.prior_logits - second.prior_logits).max() > 0.01
    assert_equal(one.evaluate(observations), first)


def test_int8_needs_ranges_and_nothing_else_does():
    graph = make_graph()
    for precision, ranges in (("int8", None), ("bf16", make_ranges(graph))):
        with pytest.raises(AssertionError, match="ranges belong to int8"):
            OpenVinoBackend(graph, precision=precision, ranges=ranges, num_threads=1)


def test_a_model_names_its_inputs_and_outputs():
    model = make_model(make_graph(), None)
    assert [each.any_name for each in model.inputs] == ["observations"]
    assert [each.any_name for each in model.outputs] == ["prior_logits", "value"]


def test_openvino_reports_to_nobody():
    """By itself it sends an event on import; nothing that could is loaded where we import it."""
    program = """
import sys
import alphago.network
sender = sys.modules["openvino.tools.ovc.telemetry_utils"].tm
assert sender.__name__ == "openvino.tools.ovc.telemetry_stub", sender
assert "openvino_telemetry" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=ROOT, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_only_one_module_imports_openvino():
    files = [
        path
        for part in ("alphago", "eval", "scripts", "selfplay", "tests", "train")
        for path in (ROOT / part).rglob("*.py")
    ]
    importing = [
        path.name
        for path in files
        if any(
            line.lstrip().startswith(("import openvino", "from openvino"))
            for line in path.read_text(encoding="utf-8").splitlines()
        )
    ]
    assert importing == ["openvino_api.py"]
