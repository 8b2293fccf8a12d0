import math

import numpy as np
import pytest
import torch

from alphago.network.blocks import (
    GlobalPooling,
    PoolingBlock,
    ResidualBlock,
    mean_factors,
    pool_mean_and_max,
    pool_means,
    width_scale,
)
from tests.network.fake_game import make_hand_block


def test_width_scale_by_hand():
    assert width_scale(9, 9) == pytest.approx(-0.5)
    assert width_scale(19, 19) == pytest.approx(0.5)
    assert width_scale(4, 9) == width_scale(9, 4) == pytest.approx(-0.8)  # like 6x6


def test_pooling_by_hand():
    # Two channels on 2x2: means 3 and -1, maxima 6 and 0; (2 - 14) / 10 = -1.2.
    planes = torch.tensor([[[[1.0, 2.0], [3.0, 6.0]], [[0.0, -4.0], [0.0, 0.0]]]])
    np.testing.assert_allclose(pool_mean_and_max(planes), [[3, -1, -3.6, 1.2, 6, 0]], rtol=1e-6)
    # 1.2 * 1.2 - 0.1 = 1.34
    np.testing.assert_allclose(pool_means(planes), [[3, -1, -3.6, 1.2, 4.02, -1.34]], rtol=1e-6)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (5, 5), (9, 9), (13, 7), (19, 19), (25, 25)])
def test_one_set_of_factors_turns_means_into_sums_on_every_size(height, width):
    # (14 + 10 s) squared is the area.
    one, scale, squared = mean_factors(height, width)
    assert 206 * one + 280 * scale + 100 * squared == pytest.approx(height * width)


@pytest.mark.parametrize("pool", [pool_means, pool_mean_and_max])
def test_pooling_does_not_ask_where_something_is(pool):
    planes = torch.randn(3, 4, 5, 7, generator=torch.Generator().manual_seed(1))
    order = np.random.default_rng(2).permutation(35)
    shuffled = planes.flatten(2)[:, :, order].reshape(planes.shape)
    assert pool(planes).shape == (3, 12)
    np.testing.assert_allclose(pool(planes), pool(shuffled), rtol=0, atol=1e-6)


def test_a_pooling_block_by_hand():
    planes = torch.tensor([[[[1.0, 2.0]], [[1.0, 5.0]]], [[[0.0, 0.0]], [[2.0, 1.0]]]])
    # First row: pooled [2, 4], mean 3, maximum 4, bias 1.5 - 4 = -2.5; [1, 5] becomes
    # relu [-1.5, 2.5], of which the first channel gets once and the second -2 times.
    # Second row: nothing to pool; the bias is 0.
    expected = [[[[1.0, 4.5]], [[1.0, 0.0]]], [[[2.0, 1.0]], [[0.0, 0.0]]]]
    with torch.no_grad():
        np.testing.assert_allclose(make_hand_block()(planes), expected, rtol=1e-5)


def test_the_mean_times_width_counts():
    block = make_hand_block()
    planes = torch.tensor([[[[1.0, 2.0]], [[1.0, 5.0]]]])
    with torch.no_grad():
        block.bias.weight.copy_(torch.tensor([[0.0, 1.0, 0.0]]))
        # Bias 3 * (sqrt(2) - 14) / 10 = -3.7757: only the 5 is left, as 1.2243.
        rest = 5 + 3 * (math.sqrt(2) - 14) / 10
        expected = [[[[1.0, 2.0 + rest]], [[1.0, 5.0 - 2 * rest]]]]
        np.testing.assert_allclose(block(planes), expected, rtol=1e-5)


@pytest.mark.parametrize("pooling_channels", [0, 4])
def test_only_pooling_carries_news_to_the_other_end_of_the_board(pooling_channels):
    # Of weights drawn anew the cell in the other corner could be zeros behind its ReLU either way.
    torch.manual_seed(0)
    pools = pooling_channels > 0
    block = PoolingBlock(8, pooling_channels=pooling_channels) if pools else ResidualBlock(8)
    block.eval()
    planes = torch.rand(1, 8, 1, 25, generator=torch.Generator().manual_seed(3))
    changed = planes.clone()
    changed[:, :, 0, 0] += 5
    with torch.no_grad():
        before, after = block(planes), block(changed)
    assert not torch.equal(before[..., 0], after[..., 0])
    assert torch.equal(before[..., 24], after[..., 24]) != pools


def test_pooling_of_one_cell_and_of_no_rows():
    pooling = GlobalPooling(3, 2, kernel_size=3).eval()
    assert pooling(torch.ones(2, 3, 1, 1)).shape == (2, 6)
    assert pooling(torch.ones(0, 3, 4, 4)).shape == (0, 6)


@pytest.mark.parametrize("pool", [pool_means, pool_mean_and_max])
def test_gradients_of_pooled_planes_lie_in_memory_as_the_planes_do(pool):
    planes = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    middle = planes.requires_grad_() * 2  # a leaf's gradient is laid out as the leaf, come what may
    layouts = []
    middle.register_hook(
        lambda grad: layouts.append(grad.is_contiguous(memory_format=torch.channels_last))
    )
    pool(middle).sum().backward()
    assert layouts == [True]


@pytest.mark.parametrize("block", [ResidualBlock(4), PoolingBlock(4, pooling_channels=2)])
def test_blocks_leave_their_input_as_it_is(block):
    planes = torch.randn(2, 4, 3, 3)
    before = planes.clone()
    block(planes).sum().backward()
    assert torch.equal(planes, before)
