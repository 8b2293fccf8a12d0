import numpy as np
import pytest
import torch

from alphago.network.blocks import pool_mean_and_max, pool_means
from alphago.network.convolution import OneDnnConvolution, PlainConvolution, best_convolution
from alphago.network.inference import (
    FoldedNetwork,
    Target,
    fold,
    fold_block,
    fold_head,
    mean_and_max,
    merge_means,
    merge_pooled,
)
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

CPU = torch.device("cpu")
CONVOLUTIONS = [PlainConvolution] + [OneDnnConvolution] * (
    best_convolution(CPU) is OneDnnConvolution
)


def make_target(board_shape, *, dtype, convolution):
    return Target(board_shape=board_shape, device=CPU, dtype=dtype, convolution=convolution)


def make_folded(network, spec, *, dtype, convolution):
    board_shape = spec.observation_shape[1:]
    return FoldedNetwork(network, make_target(board_shape, dtype=dtype, convolution=convolution))


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
    assert weight.item() == 6.0
    assert bias.item() == 3.0
    assert not weight.requires_grad


@pytest.mark.parametrize("convolution", CONVOLUTIONS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("num_rows", [1, 3, 64, 65])
@pytest.mark.parametrize(
    ("dtype", "bound"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05)], ids=["fp32", "bf16"]
)
def test_folded_equals_the_module(convolution, shape, num_rows, dtype, bound):
    config = make_config(policy_channels=3, value_channels=2)
    check_folded(shape, config, num_rows, dtype=dtype, convolution=convolution, bound=bound)


@pytest.mark.parametrize("convolution", CONVOLUTIONS)
@pytest.mark.parametrize("shape", CELL_SHAPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dtype", "bound"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05)], ids=["fp32", "bf16"]
)
def test_folded_pooling_equals_the_module(convolution, shape, kind, dtype, bound):
    config = make_config(policy_channels=3, value_channels=2, **KINDS[kind])
    for num_rows in (1, 65):
        check_folded(shape, config, num_rows, dtype=dtype, convolution=convolution, bound=bound)


def check_folded(shape, config, num_rows, *, dtype, convolution, bound):
    spec = make_spec(*shape)
    network = make_trained(spec, config, seed=1)
    batch = torch.from_numpy(random_observations(spec, num_rows, seed=2))
    with torch.inference_mode():
        folded = make_folded(network, spec, dtype=dtype, convolution=convolution)
        logits, values = folded(batch)
        expected_logits, expected_values = network(batch.float())
    assert logits.dtype == values.dtype == torch.float32
    scale = max(1.0, expected_logits.abs().max().item())
    assert (logits - expected_logits).abs().max() / scale < bound
    assert (values - expected_values).abs().max() < bound
    if dtype == torch.bfloat16:
        assert not torch.equal(logits, expected_logits)  # it really computes in bf16


@pytest.mark.parametrize("convolution", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_cell_below_zero_after_the_bias_of_pooling_adds_nothing(convolution, dtype):
    # The block of test_blocks.py, whose bias is -2.5: relu [-1.5, 2.5], read as is by `conv2`.
    block = make_hand_block()
    planes = torch.tensor([[[[1.0, 2.0]], [[1.0, 5.0]]]], dtype=dtype)
    with torch.inference_mode():
        folded = fold_block(block, make_target((1, 2), dtype=dtype, convolution=convolution))
        result = folded(planes.contiguous(memory_format=torch.channels_last)).float()
    np.testing.assert_allclose(result, [[[[1.0, 4.5]], [[1.0, 0.0]]]], rtol=1e-2)


@pytest.mark.parametrize("height_width", [(1, 1), (9, 9), (5, 13)])
def test_merged_weights_answer_like_those_of_all_three_numbers(height_width):
    generator = torch.Generator().manual_seed(1)
    planes = torch.randn(4, 5, *height_width, generator=generator)
    weight = torch.randn(7, 15, generator=generator)
    expected, got = (
        pool_mean_and_max(planes) @ weight.T,
        mean_and_max(planes) @ merge_pooled(weight, height_width).T,
    )
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)
    expected, got = (
        pool_means(planes) @ weight.T,
        planes.mean(dim=(2, 3)) @ merge_means(weight, height_width).T,
    )
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)


def test_modules_without_a_folded_form_are_named():
    target = make_target((1, 2), dtype=torch.float32, convolution=PlainConvolution)
    for fold_part in (fold_block, fold_head):
        with pytest.raises(AssertionError, match="no folded form of Identity"):
            fold_part(torch.nn.Identity(), target)


@pytest.mark.parametrize("kind", KINDS)
def test_the_copy_stays_as_it_was_when_the_module_learns_on(kind):
    spec = make_spec(17, 5, 4, 21)
    network = make_trained(spec, make_config(**KINDS[kind]), seed=1)
    batch = torch.from_numpy(random_observations(spec, 4, seed=2))
    with torch.inference_mode():
        folded = make_folded(network, spec, dtype=torch.float32, convolution=best_convolution(CPU))
        before = folded(batch)
    with torch.no_grad():
        for tensor in network.state_dict().values():
            tensor.zero_()
    with torch.inference_mode():
        after = folded(batch)
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))


def test_all_device_and_processor_combinations_have_a_convolution(monkeypatch):
    assert best_convolution(torch.device("cuda")) is PlainConvolution
    monkeypatch.setattr(torch.cpu, "_is_avx2_supported", lambda: False)
    assert best_convolution(CPU) is PlainConvolution
    monkeypatch.setattr(torch.cpu, "_is_avx2_supported", lambda: True)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert best_convolution(CPU) is PlainConvolution


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
        for convolution in CONVOLUTIONS:
            folded = make_folded(network, spec, dtype=torch.float32, convolution=convolution)
            with torch.inference_mode():
                logits, values = folded(torch.ones(1, 1, 1, 1, dtype=torch.uint8))
            np.testing.assert_allclose(logits, [[10.5, 9.5]], rtol=1e-6)
            np.testing.assert_allclose(values, [np.tanh(0.5)], rtol=1e-6)
