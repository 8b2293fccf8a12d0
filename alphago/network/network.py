"""The residual policy-value network of AlphaGo Zero, and its weights as plain arrays.

A stem and residual blocks keep the shape of the board; two heads turn it into one logit per action
and one value. The board need not be square and the game need not have a pass: all sizes come from
the `GameSpec`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from alphago.errors import CheckpointError, check_count
from alphago.games.game import GameSpec
from alphago.types import Weights

FINAL_LAYER_STD = 0.01  # first priors are close to uniform and first values close to 0
# Put before every name by torch.compile and by data parallel wrappers.
WRAPPER_PREFIXES = ("_orig_mod.", "module.")
_MAX_FAULTS_SHOWN = 4  # in an error message, which shall stay one readable line


@dataclass(kw_only=True)
class NetworkConfig:
    """The sizes of a network.

    Attributes:
        num_blocks: residual blocks of two convolutions (paper: 19 or 39).
        num_channels: channels of the stem and of every block (paper: 256).
        policy_channels: channels of the policy head's 1x1 convolution (paper: 2).
        value_channels: channels of the value head's 1x1 convolution (paper: 1).
        value_hidden: units of the value head's hidden layer (paper: 256).
    """

    num_blocks: int
    num_channels: int
    policy_channels: int
    value_channels: int
    value_hidden: int

    def __post_init__(self) -> None:
        """Checks the sizes."""
        for name, size in vars(self).items():
            check_count(f"network.{name}", size, at_least=1)


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
        hidden = functional.relu(self.norm1(self.conv1(planes)))
        return functional.relu(planes + self.norm2(self.conv2(hidden)))


class PolicyHead(nn.Module):
    """A 1x1 convolution with batch norm, then one logit per action."""

    def __init__(self, spec: GameSpec, config: NetworkConfig) -> None:
        """Creates the layers with fresh weights."""
        super().__init__()
        _, height, width = spec.observation_shape
        self.conv = nn.Conv2d(
            config.num_channels, config.policy_channels, kernel_size=1, bias=False
        )
        self.norm = nn.BatchNorm2d(config.policy_channels)
        self.logits = nn.Linear(config.policy_channels * height * width, spec.num_actions)

    def forward(self, planes: Tensor) -> Tensor:
        """Maps [B, channels, H, W] to logits [B, A]."""
        logits: Tensor = self.logits(functional.relu(self.norm(self.conv(planes))).flatten(1))
        return logits


class ValueHead(nn.Module):
    """A 1x1 convolution with batch norm, a hidden layer, then one number in [-1, 1]."""

    def __init__(self, spec: GameSpec, config: NetworkConfig) -> None:
        """Creates the layers with fresh weights."""
        super().__init__()
        _, height, width = spec.observation_shape
        self.conv = nn.Conv2d(config.num_channels, config.value_channels, kernel_size=1, bias=False)
        self.norm = nn.BatchNorm2d(config.value_channels)
        self.hidden = nn.Linear(config.value_channels * height * width, config.value_hidden)
        self.value = nn.Linear(config.value_hidden, 1)

    def forward(self, planes: Tensor) -> Tensor:
        """Maps [B, channels, H, W] to values [B], the view of the player to move."""
        hidden = functional.relu(self.norm(self.conv(planes))).flatten(1)
        return torch.tanh(self.value(functional.relu(self.hidden(hidden)))).squeeze(1)


class PolicyValueNet(nn.Module):
    """Stem, residual blocks and two heads (AlphaGo Zero, Methods, "Neural network")."""

    def __init__(self, spec: GameSpec, config: NetworkConfig) -> None:
        """Draws fresh weights from torch's global generator (`make_network` takes a seed)."""
        super().__init__()
        num_planes = spec.observation_shape[0]
        self.stem = nn.Conv2d(num_planes, config.num_channels, kernel_size=3, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(config.num_channels)
        self.blocks = nn.ModuleList(
            ResidualBlock(config.num_channels) for _ in range(config.num_blocks)
        )
        self.policy_head = PolicyHead(spec, config)
        self.value_head = ValueHead(spec, config)
        self._initialise()

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluates a batch.

        Args:
            observations: floating point [B, C, H, W], the view of the player to move.

        Returns:
            Logits [B, A], and values [B] in [-1, 1] in the same player's view.
        """
        planes = functional.relu(self.stem_norm(self.stem(observations)))
        for block in self.blocks:
            planes = block(planes)
        return self.policy_head(planes), self.value_head(planes)

    def _initialise(self) -> None:
        """Draws the first weights.

        A block starts as the identity (its last batch norm scales by 0), so that gradients reach
        the stem undamped.
        """
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, ResidualBlock):
                nn.init.zeros_(module.norm2.weight)
        nn.init.kaiming_normal_(self.value_head.hidden.weight, nonlinearity="relu")
        nn.init.zeros_(self.value_head.hidden.bias)
        for final in (self.policy_head.logits, self.value_head.value):
            nn.init.normal_(final.weight, std=FINAL_LAYER_STD)
            nn.init.zeros_(final.bias)


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
    for prefix in WRAPPER_PREFIXES:
        name = name.removeprefix(prefix)
    return name
