"""A game of any shape that only describes and shows itself, and networks as if trained."""

import numpy as np
import torch
from torch import nn

from alphago.games.game import GameSpec
from alphago.network import EvaluatorConfig, NetworkConfig, PolicyValueNet, make_network
from alphago.network.blocks import PoolingBlock

STATE = np.dtype([("seed", np.int64)])
SHAPES = [(3, 6, 7, 7), (17, 5, 4, 21)]  # C, H, W, A
# Of games that pooled heads can play, with and without a pass.
CELL_SHAPES = [(17, 5, 4, 21), (3, 3, 3, 9), (2, 1, 1, 2), (17, 9, 9, 82)]
# What may differ between networks of one size.
KINDS = {
    "plain": {"pooling_channels": 0, "heads": "fixed"},
    "pooling blocks": {"pooling_channels": 4, "heads": "fixed"},
    "pooled heads": {"pooling_channels": 0, "heads": "pooled"},
    "both": {"pooling_channels": 4, "heads": "pooled"},
}


def make_spec(num_planes=3, height=6, width=7, num_actions=7):
    return GameSpec(
        name="fake",
        family="fake",
        rules="",
        num_actions=num_actions,
        observation_shape=(num_planes, height, width),
        max_moves=height * width,
        state_dtype=STATE,
        pass_action=height * width if num_actions == height * width + 1 else None,
        symmetries=(),
    )


class FakeGame:
    """A state is a seed, its observation random stones drawn from it."""

    def __init__(self, *shape):
        self.spec = make_spec(*shape)

    def observe(self, states):
        return np.concatenate(
            [random_observations(self.spec, 1, seed=int(seed)) for seed in states["seed"]]
        )


def make_states(*seeds):
    return np.array([(seed,) for seed in seeds], dtype=STATE)


def random_observations(spec, num_rows, *, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (num_rows, *spec.observation_shape)).astype(np.uint8)


def make_config(**changes):
    sizes = {
        "num_blocks": 2,
        "num_channels": 16,
        "pooling_channels": 0,
        "heads": "fixed",
        "policy_channels": 2,
        "value_channels": 1,
        "value_hidden": 8,
        "auxiliary": [],
    }
    return NetworkConfig(**(sizes | changes))


def make_evaluator_config(**changes):
    settings = {
        "device": "cpu",
        "backend": "auto",
        "precision": "fp32",
        "policy_kl_limit": 0.005,
        "value_error_limit": 0.03,
        "num_positions": 256,
        "num_threads": None,
    }
    return EvaluatorConfig(**(settings | changes))


def make_trained(spec, config, *, seed=1) -> PolicyValueNet:
    """A network in evaluation mode whose batch norms do something and whose answers are spread.

    In a fresh one the last batch norm of a block scales by 0, which would hide half of the layers.
    """
    network = make_network(spec, config, seed=seed).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_(0.0, 0.3, generator=generator)
                module.running_var.uniform_(0.5, 2.0, generator=generator)
                module.weight.uniform_(0.5, 1.5, generator=generator)
                module.bias.normal_(0.0, 0.3, generator=generator)
        for final in (*network.policy_head.final_layers(), network.value_head.value):
            final.weight.mul_(20)
    return network


def make_plain_norms(module):
    """Makes the batch norms of a module pass on what they get."""
    for norm in (part for part in module.modules() if isinstance(part, nn.BatchNorm2d)):
        norm.weight.fill_(1.0)
        norm.bias.fill_(0.0)
        norm.running_mean.fill_(0.0)
        norm.running_var.fill_(1.0 - norm.eps)


def set_kernels(conv, factors):
    """Makes a 3x3 convolution of channels alone: factors [out][in] of the cell itself."""
    conv.weight.zero_()
    conv.weight[:, :, 1, 1] = torch.tensor(factors)


def make_hand_block():
    """A block of two channels, the pooled one read from the first, the other from the second."""
    block = PoolingBlock(2, pooling_channels=1).eval()
    with torch.no_grad():
        make_plain_norms(block)
        set_kernels(block.pooling.conv, [[2.0, 0.0]])
        block.bias.weight.copy_(torch.tensor([[0.5, 0.0, -1.0]]))
        set_kernels(block.conv1, [[0.0, 1.0]])
        set_kernels(block.conv2, [[1.0], [-2.0]])
    return block
