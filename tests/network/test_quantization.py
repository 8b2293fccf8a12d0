"""int8: the ranges it is given, what it does to weights, and that OpenVINO rounds as described."""

import numpy as np
import pytest
import torch

from alphago.network import openvino_backend
from alphago.network.graph import OBSERVATIONS
from alphago.network.openvino_api import Core
from alphago.network.openvino_backend import make_model
from alphago.network.quantization import (
    Range,
    measure_ranges,
    plane_factors,
    quantize_weight,
)
from alphago.types import Evaluation
from tests.network.fake_game import KINDS, SHAPES, make_spec, random_observations
from tests.network.numpy_graph import (
    all_tensors,
    convolve,
    evaluate,
    round_planes,
    round_weight,
)
from tests.network.test_backends import SPEC, make_graph, make_torch
from tests.network.test_freezing import CASES


class FakeBackend:
    """Has made-up planes, one batch after another."""

    def __init__(self, graph, *extremes):
        self.names = {each.input for each in graph.convolutions}
        self.extremes = iter(extremes)
        self.batch_sizes = []

    def tensors(self, observations):
        self.batch_sizes.append(len(observations))
        return dict.fromkeys(self.names, torch.tensor(next(self.extremes)))


# --- ranges ---


@pytest.mark.parametrize("kind", KINDS)
def test_ranges_are_the_extremes_of_all_planes_that_convolutions_read(kind):
    graph = make_graph(kind)
    observations = random_observations(SPEC, 150, seed=3)  # more than one batch
    ranges = measure_ranges(graph, make_torch(graph), observations)
    tensors = all_tensors(graph, observations)
    assert set(ranges) == {each.input for each in graph.convolutions}
    assert ranges.pop(OBSERVATIONS) == (0, 255)  # in whole steps of 1
    for name, range_ in ranges.items():
        assert range_.low == 0
        assert range_.high == pytest.approx(tensors[name].max(), rel=1e-5)
    # Residuals are rounded too, and each is the input of a convolution as well.
    assert {each.residual for each in graph.convolutions} <= {None, *ranges}


def test_ranges_go_below_zero_where_planes_do():
    graph = make_graph("plain")
    backend = FakeBackend(graph, [0.0, 2.0], [-3.0, 1.0], [0.0, 2.5])
    ranges = measure_ranges(graph, backend, random_observations(SPEC, 140, seed=3))
    assert backend.batch_sizes == [64, 64, 12]
    for name in {each.input for each in graph.convolutions} - {OBSERVATIONS}:
        low, high = ranges[name]
        assert high == 3.0  # symmetrical, so that 0 stays 0: -128 to 127 steps
        assert low == pytest.approx(-3.0 * 128 / 127)
        kept = round_planes(np.array([-3.0, -1.0, 0.0, 2.5]), ranges[name])
        np.testing.assert_allclose(kept, [-3, -1, 0, 2.5], rtol=0, atol=3 / 127)
        assert kept[2] == pytest.approx(0, abs=1e-12)


def test_planes_of_zeros_have_a_range():
    graph = make_graph("plain")
    ranges = measure_ranges(graph, FakeBackend(graph, [0.0]), random_observations(SPEC, 1, seed=3))
    assert all(range_.low < range_.high for range_ in ranges.values())


# --- weights ---


def test_weights_are_rounded_to_127ths_of_the_largest_of_their_channel():
    weight = np.array([[[[1.27, -0.5]]], [[[-127.0, 63.4]]], [[[0.0, 0.0]]]], np.float32)
    integers, scale = quantize_weight(weight)
    assert integers.dtype == np.int8
    assert integers.tolist() == [[[[127, -50]]], [[[-127, 63]]], [[[0, 0]]]]
    assert scale.shape == (3, 1, 1, 1)
    np.testing.assert_allclose(scale[:2].ravel(), [0.01, 1.0], rtol=1e-6)


def test_channels_of_subnormal_weights_are_zero():
    """Weight decay leads there; warnings, of a division by zero say, are errors in tests."""
    weight = np.array([[[[1e-42, -1e-44]]], [[[1.0, 1e-42]]], [[[-1e-36, 0.0]]]], np.float32)
    integers, scale = quantize_weight(weight)
    assert integers.tolist() == [[[[0, 0]]], [[[127, 0]]], [[[0, 0]]]]
    np.testing.assert_allclose(integers * scale, weight, rtol=1e-6, atol=2e-36)


def test_rounded_weights_are_those_of_the_oracle():
    rng = np.random.default_rng(1)
    weight = rng.normal(0, 1, (16, 8, 3, 3)).astype(np.float32)
    integers, scale = quantize_weight(weight)
    assert np.abs(integers).max() == 127  # -128 is not used
    np.testing.assert_allclose(integers * scale, round_weight(weight), rtol=0, atol=1e-6)
    assert np.abs(integers * scale - weight).max() <= scale.max() * 0.5001


def test_factors_of_planes_follow_their_largest_weights_and_keep_ones_exact():
    weight = np.zeros((2, 4, 1, 1), np.float32)
    weight[:, :, 0, 0] = [[2.0, -0.5, 0.001, 0.0], [-1.0, 0.25, 0.0, 0.0]]
    factors = plane_factors(weight)
    assert factors.dtype == np.float32
    assert factors.tolist() == [255, 64, 1, 1]
    assert plane_factors(np.zeros((2, 3, 1, 1), np.float32)).tolist() == [1, 1, 1]


# --- the model ---


def run_model(graph, observations, ranges):
    """Evaluates the model as it is described: all that is not int8 is in float32."""
    hint = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    request = Core().compile_model(make_model(graph, ranges), "CPU", hint).create_infer_request()
    answer = request.infer({0: observations})
    return Evaluation(answer[0].copy(), answer[1][:, 0].copy())


def mean_difference(one, other):
    return np.abs(one.prior_logits - other.prior_logits).mean()


@pytest.mark.parametrize(("shape", "kind"), CASES)
def test_the_model_rounds_as_the_oracle_does(shape, kind):
    spec = make_spec(*shape)
    graph = make_graph(kind, spec)
    observations = random_observations(spec, 64, seed=2)
    ranges = measure_ranges(graph, make_torch(graph), random_observations(spec, 100, seed=7))
    rounded = evaluate(graph, observations, ranges=ranges)
    answer = run_model(graph, observations, ranges)
    # All but a few rows, in which a number in the middle between two steps went the other way.
    scale = max(1.0, rounded.prior_logits.std())
    assert np.median(np.abs(answer.prior_logits - rounded.prior_logits)) < 1e-6 * scale
    assert np.median(np.abs(answer.value - rounded.value)) < 1e-6
    from_exact = mean_difference(evaluate(graph, observations), rounded)
    assert from_exact > 1e-4  # rounding is no small thing
    assert mean_difference(answer, rounded) < 0.1 * from_exact


def test_planes_with_small_weights_are_not_lost_beside_one_with_large_ones():
    graph = make_graph("plain")
    stem = graph.convolutions[0]
    weight = stem.weight.copy()
    weight[:, 1:] *= 0.02
    stem_of_unlike_planes = stem._replace(weight=weight)
    operations = [stem_of_unlike_planes if each is stem else each for each in graph.operations]
    graph = graph._replace(operations=operations)
    observations = random_observations(SPEC, 64, seed=2)
    ranges = measure_ranges(graph, make_torch(graph), observations)
    planes = round_planes(observations.astype(np.float64), ranges[OBSERVATIONS])
    exact = convolve(planes, weight)
    together = np.abs(convolve(planes, round_weight(weight)) - exact).mean()
    factors = plane_factors(weight)[:, None, None]
    apart = np.abs(convolve(planes, round_weight(weight / factors) * factors) - exact).mean()
    assert apart < 0.5 * together
    answer, rounded = run_model(graph, observations, ranges), evaluate(graph, observations)
    assert mean_difference(answer, rounded) < 0.05 * rounded.prior_logits.std()


@pytest.mark.parametrize("shape", SHAPES)
def test_planes_below_zero_survive(monkeypatch, shape):
    """Our graphs have none, since a ReLU follows every convolution; here it is taken away."""
    monkeypatch.setattr(openvino_backend.opset13, "relu", lambda node: node)
    spec = make_spec(*shape)
    graph = make_graph("plain", spec)
    observations = random_observations(spec, 64, seed=2)
    exact = without_relu(graph, observations)
    planes = all_tensors(graph, observations, relu=False)
    signed = {}
    for convolution in graph.convolutions:
        largest = np.abs(planes[convolution.input]).max()
        signed[convolution.input] = Range(-largest * 128 / 127, largest)
    signed[OBSERVATIONS] = Range(0.0, 255.0)
    clamped = {name: Range(0.0, range_.high) for name, range_ in signed.items()}
    assert min(each.min() for each in planes.values()) < -0.5
    spread = exact.prior_logits.std()
    assert mean_difference(run_model(graph, observations, signed), exact) < 0.05 * spread
    assert mean_difference(run_model(graph, observations, clamped), exact) > 0.3 * spread


def without_relu(graph, observations):
    tensors = all_tensors(graph, observations, relu=False)
    return Evaluation(tensors["prior_logits"], tensors["value"][:, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_signed_range_serves_planes_above_zero_too(kind):
    graph = make_graph(kind)
    observations = random_observations(SPEC, 64, seed=2)
    ranges = measure_ranges(graph, make_torch(graph), observations)
    signed = {
        name: Range(-range_.high * 128 / 127, range_.high)
        for name, range_ in ranges.items()
        if name != OBSERVATIONS
    } | {OBSERVATIONS: ranges[OBSERVATIONS]}
    rounded = evaluate(graph, observations, ranges=signed)
    assert mean_difference(run_model(graph, observations, signed), rounded) < 0.1 * (
        mean_difference(rounded, evaluate(graph, observations))
    )
