"""The optimisers, and what they remember as plain arrays for checkpoints."""

import numpy as np
import torch
from torch import nn

from alphago.errors import CheckpointError
from alphago.types import Weights

OPTIMIZERS = ("sgd", "adamw")
ADAM_BETA2 = 0.999  # decay of the squared gradients' average, the value of the Adam paper

# What each optimiser remembers of a parameter, by the names torch gives it.
_MOMENTS = {"sgd": ("momentum_buffer",), "adamw": ("step", "exp_avg", "exp_avg_sq")}


def make_optimizer(
    name: str, parameters: dict[str, nn.Parameter], *, momentum: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Makes an optimiser; its learning rate is set before each step.

    Args:
        name: one of `OPTIMIZERS`.
        parameters: what is trained. Weight decay acts on those with more than one dimension:
            pulling biases and batch norm's scales to 0 would not make the network simpler.
        momentum: of SGD; AdamW's first beta.
        weight_decay: within the gradient for SGD, apart from it for AdamW.
    """
    matrices = [weight for weight in parameters.values() if weight.ndim > 1]
    vectors = [weight for weight in parameters.values() if weight.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    # Fused: one kernel per step in place of several per parameter.
    if name == "sgd":
        return torch.optim.SGD(groups, lr=0.0, momentum=momentum, fused=True)
    return torch.optim.AdamW(groups, lr=0.0, betas=(momentum, ADAM_BETA2), fused=True)


def optimizer_tensors(
    optimizer: torch.optim.Optimizer, parameters: dict[str, nn.Parameter]
) -> dict[str, torch.Tensor]:
    """Returns what an optimiser remembers, as `optimizer.<moment>.<parameter>`."""
    return {
        f"optimizer.{moment}.{name}": tensor
        for name, weight in parameters.items()
        for moment, tensor in optimizer.state[weight].items()
    }


def make_moments(
    name: str, optimizer: torch.optim.Optimizer, parameters: dict[str, nn.Parameter]
) -> None:
    """Makes room for what an optimiser remembers, as its first step does, to be filled in place."""
    if name == "sgd" and optimizer.param_groups[0]["momentum"] == 0.0:
        return
    for weight in parameters.values():
        for moment in _MOMENTS[name]:
            is_count = moment == "step"
            empty = weight.new_zeros(()) if is_count else torch.zeros_like(weight)
            optimizer.state[weight][moment] = empty


def to_arrays(tensors: dict[str, torch.Tensor]) -> Weights:
    """Copies tensors to arrays on the CPU."""
    return {
        name: np.array(tensor.detach().cpu().numpy(), order="C") for name, tensor in tensors.items()
    }


def fill_tensors(tensors: dict[str, torch.Tensor], arrays: Weights) -> None:
    """Copies arrays into the tensors of the same names, in place.

    Raises:
        CheckpointError: if a name is missing or unexpected, or a shape differs; nothing is copied.
    """
    missing, unexpected = sorted(tensors.keys() - arrays), sorted(arrays.keys() - tensors)
    if missing or unexpected:
        raise CheckpointError(f"trainer state: missing {missing}, unexpected {unexpected}")
    for name, tensor in tensors.items():
        if arrays[name].shape != tuple(tensor.shape):
            got, expected = list(arrays[name].shape), list(tensor.shape)
            raise CheckpointError(f"trainer state: {name} is {got}, expected {expected}")
    with torch.no_grad():
        for name, tensor in tensors.items():
            tensor.copy_(torch.tensor(arrays[name]))
