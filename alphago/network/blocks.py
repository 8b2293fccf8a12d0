"""The residual blocks of the trunk, plain ones and ones that see the whole board at once.

Global pooling is KataGo's (Wu 2019, "Accelerating Self-Play Learning in Go", section 3.3): numbers
that sum up the whole board are made into a bias of every cell. A 3x3 convolution sees one cell
further per layer; this way a ko fight or the score is known everywhere after one block. Nothing
here has a size that depends on the board.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

NUM_POOLED = 3  # numbers per channel that either way of pooling gives
# KataGo's: a board's width as a number between about -1 and 1.
_MIDDLE_WIDTH = 14.0
_WIDTH_UNIT = 10.0
_MEAN_SQUARED_SCALE = 0.1


def relu_(planes: Tensor) -> Tensor:
    """Applies a ReLU in place: what batch norm made is read by nothing else, not even backwards.

    Memory that is still in the cache makes a step of training 1.05 times as fast.
    """
    return functional.relu(planes, inplace=True)


def width_scale(height: int, width: int) -> float:
    """Returns KataGo's measure of the board's size, -0.5 on 9x9 and 0.5 on 19x19."""
    return (math.sqrt(height * width) - _MIDDLE_WIDTH) / _WIDTH_UNIT


def mean_factors(height: int, width: int) -> tuple[float, float, float]:
    """Returns what a mean is multiplied by in `pool_means`.

    Together they let a linear layer reach mean times area, which a score is, on every size.
    """
    scale = width_scale(height, width)
    return 1.0, scale, scale * scale - _MEAN_SQUARED_SCALE


def pool_means(planes: Tensor) -> Tensor:
    """Maps [B, channels, H, W] to [B, 3 * channels]: the mean, times each of `mean_factors`."""
    mean = _mean(planes)
    return torch.cat([mean * factor for factor in mean_factors(*planes.shape[2:])], dim=1)


def pool_mean_and_max(planes: Tensor) -> Tensor:
    """Maps [B, channels, H, W] to [B, 3 * channels]: mean, mean times width, maximum."""
    mean = _mean(planes)
    scaled = mean * width_scale(*planes.shape[2:])
    # Its gradient takes half the time of that of `amax`. Of equal maxima the first cell has all of
    # it, where `amax` shares it out: behind a ReLU they are all but always zeros, which have none.
    maximum = functional.max_pool2d(planes, planes.shape[2:]).flatten(1)
    return torch.cat([mean, scaled, maximum], dim=1)


def _mean(planes: Tensor) -> Tensor:
    """Maps [B, channels, H, W] to the mean over the board [B, channels]."""
    # As [B, H * W, channels], in which order channels-last planes lie in memory, and so do then
    # their gradients: those of `mean(dim=(2, 3))` would be laid out anew by every layer before it.
    mean: Tensor = planes.permute(0, 2, 3, 1).flatten(1, 2).mean(dim=1)
    return mean


class GlobalPooling(nn.Module):
    """Some channels of a convolution's own, each summed up over the board by three numbers."""

    def __init__(self, num_inputs: int, num_channels: int, *, kernel_size: int) -> None:
        """Creates the layers with fresh weights."""
        super().__init__()
        self.conv = nn.Conv2d(
            num_inputs, num_channels, kernel_size, padding=kernel_size // 2, bias=False
        )
        self.norm = nn.BatchNorm2d(num_channels)

    def forward(self, planes: Tensor) -> Tensor:
        """Maps [B, inputs, H, W] to [B, 3 * channels], see `pool_mean_and_max`."""
        return pool_mean_and_max(relu_(self.norm(self.conv(planes))))


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with batch norm around which the input is added again."""

    def __init__(self, num_channels: int) -> None:
        """Creates the layers with fresh weights."""
        super().__init__()
        self.conv1 = nn.Conv2d(num_channels, num_channels, kernel_size=3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(num_channels)
        self.conv2 = nn.Conv2d(num_channels, num_channels, kernel_size=3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(num_channels)

    def forward(self, planes: Tensor) -> Tensor:
        """Maps [B, channels, H, W] to the same shape."""
        hidden = relu_(self.norm1(self.conv1(planes)))
        return relu_(self.norm2(self.conv2(hidden)).add_(planes))


class PoolingBlock(nn.Module):
    """A residual block in which some channels are pooled into a bias of the others.

    The pooled channels end there: the second convolution reads the others alone.
    """

    def __init__(self, num_channels: int, *, pooling_channels: int) -> None:
        """Creates the layers with fresh weights."""
        super().__init__()
        num_others = num_channels - pooling_channels
        self.pooling = GlobalPooling(num_channels, pooling_channels, kernel_size=3)
        self.bias = nn.Linear(NUM_POOLED * pooling_channels, num_others, bias=False)
        self.conv1 = nn.Conv2d(num_channels, num_others, kernel_size=3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(num_others)
        self.conv2 = nn.Conv2d(num_others, num_channels, kernel_size=3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(num_channels)

    def forward(self, planes: Tensor) -> Tensor:
        """Maps [B, channels, H, W] to the same shape."""
        bias = self.bias(self.pooling(planes))[:, :, None, None]
        # Batch norm after the sum takes the part of the bias away that is the same on every board.
        hidden = relu_(self.norm1(self.conv1(planes).add_(bias)))
        return relu_(self.norm2(self.conv2(hidden)).add_(planes))
