"""The residual policy-value network, and its weights as plain arrays.

A stem and residual blocks keep the shape of the board; two heads turn it into one logit per action
and one value. The board need not be square and the game need not have a pass: all sizes come from
the `GameSpec`. `blocks.py` and `heads.py` hold the parts, `auxiliary_heads.py` those that only
training sees.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from alphago.errors import CheckpointError, check_config, check_count
from alphago.games.game import GameSpec
from alphago.network.auxiliary_heads import AUXILIARY_HEADS, HeadInputs
from alphago.network.blocks import PoolingBlock, ResidualBlock, relu_
from alphago.network.heads import (
    FixedPolicyHead,
    FixedValueHead,
    PooledPolicyHead,
    PooledValueHead,
)
from alphago.types import Weights

HEADS = ("fixed", "pooled")
# Every second block pools, the first never: KataGo's networks of 6 and 10 blocks do much the same.
POOLING_EVERY = 2
# Bounds on what a file may ask for before its weights are looked at. The largest networks of these
# games have some 1e8 weights.
_LARGEST = {
    "num_blocks": 1000,
    "num_channels": 4096,
    "policy_channels": 512,
    "value_channels": 512,
    "value_hidden": 8192,
}
_MOST_WEIGHTS = 1_000_000_000
FINAL_LAYER_STD = 0.01  # first priors are close to uniform and first values close to 0
# Parts of names that torch.compile and data parallel wrappers add: in front, in any order, or
# within where only a part of the network is wrapped. No layer of ours is called so.
WRAPPERS = ("_orig_mod", "module")
_MAX_FAULTS_SHOWN = 4  # in an error message, which shall stay one readable line


@dataclass(kw_only=True)
class NetworkConfig:
    """The sizes of a network.

    Attributes:
        num_blocks: residual blocks of two convolutions (AlphaGo Zero: 19 or 39).
        num_channels: channels of the stem and of every block (AlphaGo Zero: 256).
        pooling_channels: how many of them every second block pools over the whole board into a bias
            of the others (KataGo: a quarter to a third); 0 for none (AlphaGo Zero).
        heads: "fixed", fully connected and of one board size (AlphaGo Zero), or "pooled", with
            global pooling and for every board size (KataGo).
        policy_channels: channels of the policy head's 1x1 convolution (AlphaGo Zero: 2). Pooled
            heads pool as many again (KataGo's network of 6 blocks: 32).
        value_channels: channels of the value head's 1x1 convolution (AlphaGo Zero: 1; KataGo's
            network of 6 blocks: 32).
        value_hidden: units of the value head's hidden layer (AlphaGo Zero: 256).
        auxiliary: heads that only training sees, of `AUXILIARY_HEADS`; [] for none (AlphaGo Zero).
    """

    num_blocks: int
    num_channels: int
    pooling_channels: int
    heads: str
    policy_channels: int
    value_channels: int
    value_hidden: int
    auxiliary: list[str]

    def __post_init__(self) -> None:
        """Checks the sizes."""
        for name, largest in _LARGEST.items():
            check_count(f"network.{name}", getattr(self, name), at_least=1, at_most=largest)
        num_weights = 2 * self.num_blocks * (3 * self.num_channels) ** 2  # of the blocks' kernels
        check_config(
            "network",
            f"{self.num_blocks} blocks of {self.num_channels} channels",
            num_weights <= _MOST_WEIGHTS,
            f"up to {_MOST_WEIGHTS} weights in all kernels of 3x3",
        )
        check_count(
            "network.pooling_channels",
            self.pooling_channels,
            at_least=0,
            at_most=self.num_channels - 1,
        )
        check_config("network.heads", self.heads, self.heads in HEADS, ", ".join(HEADS))
        heads = self.auxiliary
        is_list = isinstance(heads, list)
        is_known = is_list and len(heads) == sum(name in heads for name in AUXILIARY_HEADS)
        allowed = f"a list of {', '.join(AUXILIARY_HEADS)}, each at most once"
        check_config("network.auxiliary", heads, is_known, allowed)

    @property
    def fits_every_size(self) -> bool:
        """Whether the same weights serve every size of the board."""
        return self.heads == "pooled"


class NetworkOutputs(NamedTuple):
    """All that a network in training says of a batch, in the view of the player to move."""

    logits: Tensor  # [B, A]
    values: Tensor  # [B], in [-1, 1]
    auxiliary: dict[str, Tensor]  # by head, see there for the shapes


class PolicyValueNet(nn.Module):
    """Stem, residual blocks and two heads (AlphaGo Zero, Methods, "Neural network").

    Beside them there may be auxiliary heads, which only `all_outputs` asks.
    """

    def __init__(self, spec: GameSpec, config: NetworkConfig) -> None:
        """Draws fresh weights from torch's global generator (`make_network` takes a seed).

        Raises:
            ConfigError: if pooled heads do not suit the game's actions.
        """
        super().__init__()
        num_planes = spec.observation_shape[0]
        self.stem = nn.Conv2d(num_planes, config.num_channels, kernel_size=3, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(config.num_channels)
        self.blocks = nn.ModuleList(_make_block(config, i) for i in range(config.num_blocks))
        self.policy_head = _make_policy_head(spec, config)
        self.value_head = _make_value_head(spec, config)
        heads = {name: AUXILIARY_HEADS[name](spec, config) for name in config.auxiliary}
        self.auxiliary_heads = nn.ModuleDict(heads)
        self._initialise([layer for head in heads.values() for layer in head.final_layers()])

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluates a batch.

        Args:
            observations: floating point [B, C, H, W], the view of the player to move.

        Returns:
            Logits [B, A], and values [B] in [-1, 1] in the same player's view.
        """
        planes = self._trunk(observations)
        return self.policy_head(planes), self.value_head(planes)

    def all_outputs(self, observations: Tensor) -> NetworkOutputs:
        """Evaluates a batch as `forward` does, with the auxiliary heads."""
        planes = self._trunk(observations)
        features = self.value_head.features(planes)
        inputs = HeadInputs(planes, features)
        return NetworkOutputs(
            logits=self.policy_head(planes),
            values=self.value_head.read(features),
            auxiliary={name: head(inputs) for name, head in self.auxiliary_heads.items()},
        )

    def _trunk(self, observations: Tensor) -> Tensor:
        """Maps observations [B, C, H, W] to the planes [B, channels, H, W] that heads read."""
        planes = relu_(self.stem_norm(self.stem(observations)))
        for block in self.blocks:
            planes = block(planes)
        return planes

    def _initialise(self, auxiliary: Sequence[nn.Conv2d | nn.Linear]) -> None:
        """Draws the first weights.

        A block starts as the identity (its last batch norm scales by 0), so that gradients reach
        the stem undamped.

        Args:
            auxiliary: the final layers of the auxiliary heads.
        """
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, ResidualBlock | PoolingBlock):
                nn.init.zeros_(module.norm2.weight)
        nn.init.kaiming_normal_(self.value_head.hidden.weight, nonlinearity="relu")
        nn.init.zeros_(self.value_head.hidden.bias)
        for final in (*self.policy_head.final_layers(), self.value_head.value, *auxiliary):
            nn.init.normal_(final.weight, std=FINAL_LAYER_STD)
            assert final.bias is not None, "a final layer has a bias"
            nn.init.zeros_(final.bias)


def _make_block(config: NetworkConfig, index: int) -> ResidualBlock | PoolingBlock:
    if config.pooling_channels == 0 or (index + 1) % POOLING_EVERY:
        return ResidualBlock(config.num_channels)
    return PoolingBlock(config.num_channels, pooling_channels=config.pooling_channels)


def _make_policy_head(spec: GameSpec, config: NetworkConfig) -> FixedPolicyHead | PooledPolicyHead:
    head = FixedPolicyHead if config.heads == "fixed" else PooledPolicyHead
    return head(spec, num_inputs=config.num_channels, num_channels=config.policy_channels)


def _make_value_head(spec: GameSpec, config: NetworkConfig) -> FixedValueHead | PooledValueHead:
    head = FixedValueHead if config.heads == "fixed" else PooledValueHead
    return head(
        spec,
        num_inputs=config.num_channels,
        num_channels=config.value_channels,
        num_hidden=config.value_hidden,
    )


def make_network(spec: GameSpec, config: NetworkConfig, *, seed: int) -> PolicyValueNet:
    """Creates a network from a seed; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return PolicyValueNet(spec, config)


def weights_of(module: nn.Module) -> Weights:
    """Copies parameters and batch norm statistics out of a module.

    The batch counters of batch norm are left out: with a fixed momentum they have no effect.

    Returns:
        float32 arrays by name, on the CPU, sharing no memory with the module.
    """
    return {
        name: tensor.to(device="cpu", dtype=torch.float32, copy=True).numpy()
        for name, tensor in _named_tensors(module).items()
        if tensor.is_floating_point()
    }


def load_weights(module: nn.Module, weights: Weights) -> None:
    """Copies weights into a module, all of them or (on an error) none.

    Args:
        module: changed in place; keeps its own memory, device and dtype.
        weights: what `weights_of` returned for a module of the same sizes. The batch counters of
            batch norm may be there too; they are not used.

    Raises:
        CheckpointError: if a name is missing or unexpected, or a shape differs.
    """
    tensors = _named_tensors(module)
    targets = {name: tensor for name, tensor in tensors.items() if tensor.is_floating_point()}
    sources = {_plain_name(name): array for name, array in weights.items()}
    faults = [f"{name} is missing" for name in targets if name not in sources]
    faults += [f"{name} is unexpected" for name in sources if name not in tensors]
    faults += [
        f"{name} has shape {sources[name].shape}, allowed: {tuple(tensor.shape)}"
        for name, tensor in targets.items()
        if name in sources and sources[name].shape != tuple(tensor.shape)
    ]
    if faults:
        more = (
            f" and {len(faults) - _MAX_FAULTS_SHOWN} more"
            if len(faults) > _MAX_FAULTS_SHOWN
            else ""
        )
        shown = "; ".join(faults[:_MAX_FAULTS_SHOWN])
        raise CheckpointError(f"the weights do not fit this network: {shown}{more}")
    with torch.no_grad():
        for name, tensor in targets.items():
            # Not `from_numpy`: it warns of read-only arrays, as those from Ray's object store are.
            tensor.copy_(torch.tensor(sources[name]))


def _named_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Returns the module's own parameters and buffers by plain name."""
    return {_plain_name(name): tensor for name, tensor in module.state_dict().items()}


def _plain_name(name: str) -> str:
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)
