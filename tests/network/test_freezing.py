"""From modules to graphs, which a plain numpy oracle evaluates."""

import numpy as np
import pytest
import torch

from alphago.network.blocks import pool_mean_and_max, pool_means
from alphago.network.freezing import fold, freeze, merge_means, merge_pooled
from alphago.network.graph import LOGITS, OBSERVATIONS, VALUE, Convolution, Linear, inputs_of
from alphago.network.torch_backend import mean_and_max
from tests.network.fake_game import (
    CELL_SHAPES,
    KINDS,
    SHAPES,
    make_config,
    make_hand_block,
    make_plain_norms,
    make_spec,
    make_trained,
    random_observations,
)
from tests.network.numpy_graph import all_tensors, evaluate

# Every kind of network on every shape that it can play.
CASES = [(shape, "plain") for shape in SHAPES] + [
    (shape, kind) for shape in CELL_SHAPES for kind in KINDS if kind != "plain"
]


def test_fold_by_hand():
    conv = torch.nn.Conv2d(1, 1, kernel_size=1, bias=False)
    norm = torch.nn.BatchNorm2d(1, eps=0.0)
    with torch.no_grad():
        conv.weight.fill_(3.0)
        norm.weight.fill_(4.0)
        norm.bias.fill_(5.0)
        norm.running_mean.fill_(1.0)
        norm.running_var.fill_(4.0)
    # (3x - 1) / 2 * 4 + 5 = 6x + 3
    weight, bias = fold(conv, norm)
    assert weight.tolist() == [[[[6.0]]]]
    assert bias.tolist() == [3.0]
    assert weight.dtype == bias.dtype == np.float32


@pytest.mark.parametrize(("shape", "kind"), CASES)
def test_a_graph_says_what_the_module_says(shape, kind):
    spec = make_spec(*shape)
    network = make_trained(spec, make_config(policy_channels=3, value_channels=2, **KINDS[kind]))
    observations = random_observations(spec, 20, seed=2)
    answer = evaluate(freeze(network, spec), observations)
    with torch.no_grad():
        logits, values = network(torch.from_numpy(observations).float())
    scale = max(1.0, logits.abs().max().item())
    np.testing.assert_allclose(answer.prior_logits, logits, rtol=0, atol=1e-5 * scale)
    np.testing.assert_allclose(answer.value, values, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("shape", "kind"), CASES)
def test_operations_read_only_what_is_there_and_name_things_once(shape, kind):
    spec = make_spec(*shape)
    graph = freeze(make_trained(spec, make_config(**KINDS[kind])), spec)
    assert graph.observation_shape == spec.observation_shape
    assert graph.num_actions == spec.num_actions
    made = [OBSERVATIONS]
    for operation in graph.operations:
        assert set(inputs_of(operation)) <= set(made)
        assert operation.output not in made
        made.append(operation.output)
    assert {LOGITS, VALUE} < set(made)
    assert graph.convolutions == [each for each in graph.operations if type(each) is Convolution]
    for operation in graph.operations:
        if isinstance(operation, Convolution | Linear):
            assert operation.weight.dtype == operation.bias.dtype == np.float32


def test_the_second_convolution_of_a_block_sees_the_first_ones_result():
    # One channel, 1x1 board: each 3x3 convolution is a multiplication by its centre.
    spec = make_spec(1, 1, 1, 2)
    config = make_config(num_blocks=1, num_channels=1, policy_channels=1, value_hidden=1)
    network = make_trained(spec, config, seed=0)
    with torch.no_grad():
        make_plain_norms(network)
        network.stem.weight.fill_(2.0)
        network.blocks[0].conv1.weight.fill_(3.0)
        network.blocks[0].conv2.weight.fill_(-0.25)
        network.policy_head.conv.weight.fill_(1.0)
        network.policy_head.logits.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        network.policy_head.logits.bias.fill_(10.0)
        network.value_head.conv.weight.fill_(-1.0)
        network.value_head.value.bias.fill_(0.5)
        network.value_head.hidden.bias.fill_(0.0)
    # Stem 2; block relu(2 - 0.25 * 3 * 2) = 0.5; logits 10 +- 0.5; value plane relu(-0.5) = 0.
    logits, values = evaluate(freeze(network, spec), np.ones((1, 1, 1, 1), np.uint8))
    np.testing.assert_allclose(logits, [[10.5, 9.5]], rtol=1e-6)
    np.testing.assert_allclose(values, [np.tanh(0.5)], rtol=1e-6)


def test_a_cell_below_zero_after_the_bias_of_pooling_adds_nothing():
    # The block of test_blocks.py, whose bias is -2.5: relu [-1.5, 2.5], read as is by `conv2`.
    spec = make_spec(2, 1, 2, 2)
    config = make_config(num_blocks=1, num_channels=2, pooling_channels=1)
    network = make_trained(spec, config, seed=0)
    network.blocks[0] = make_hand_block()
    with torch.no_grad():
        make_plain_norms(network)
        network.stem.weight.zero_()
        network.stem.weight[:, :, 1, 1] = torch.eye(2)
    planes = np.array([[[[1, 2]], [[1, 5]]]], np.uint8)
    tensors = all_tensors(freeze(network, spec), planes)
    np.testing.assert_allclose(tensors["block0"], [[[[1.0, 4.5]], [[1.0, 0.0]]]], rtol=1e-5)


@pytest.mark.parametrize("height_width", [(1, 1), (9, 9), (5, 13)])
def test_merged_weights_answer_like_those_of_all_three_numbers(height_width):
    generator = torch.Generator().manual_seed(1)
    planes = torch.randn(4, 5, *height_width, generator=generator)
    weight = torch.randn(7, 15, generator=generator)
    expected, got = (
        pool_mean_and_max(planes) @ weight.T,
        mean_and_max(planes).double() @ merge_pooled(weight, height_width).T,
    )
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)
    expected, got = (
        pool_means(planes) @ weight.T,
        planes.mean(dim=(2, 3)).double() @ merge_means(weight, height_width).T,
    )
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("part", ["blocks", "policy_head", "value_head"])
def test_modules_without_a_frozen_form_are_named(part):
    spec = make_spec()
    network = make_trained(spec, make_config())
    odd = torch.nn.Identity()
    setattr(network, part, torch.nn.ModuleList([odd]) if part == "blocks" else odd)
    with pytest.raises(AssertionError, match="no frozen form of Identity"):
        freeze(network, spec)


@pytest.mark.parametrize("kind", KINDS)
def test_the_copy_stays_as_it_was_when_the_module_learns_on(kind):
    spec = make_spec(17, 5, 4, 21)
    network = make_trained(spec, make_config(**KINDS[kind]))
    graph = freeze(network, spec)
    observations = random_observations(spec, 4, seed=2)
    before = evaluate(graph, observations)
    with torch.no_grad():
        for tensor in network.state_dict().values():
            tensor.zero_()
    after = evaluate(graph, observations)
    np.testing.assert_array_equal(before.prior_logits, after.prior_logits)
    np.testing.assert_array_equal(before.value, after.value)


def test_freezing_leaves_a_network_in_training_as_it_was():
    spec = make_spec()
    network = make_trained(spec, make_config()).train()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    freeze(network, spec)
    assert network.training
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name]), name
