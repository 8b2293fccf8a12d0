"""A running average of the weights, which plays better than the weights of any one step."""

import torch
from torch import nn


class WeightAverage:
    """Exponential moving average of a network's parameters and buffers.

    Batch norm's running statistics belong to the weights they were measured with, so they are
    averaged too; counters are copied.

    Attributes:
        tensors: the averaged parameters and buffers by name.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        """Starts at the network's present weights."""
        self._decay = decay
        self.tensors = {name: tensor.clone() for name, tensor in network.state_dict().items()}

    @torch.no_grad()
    def update(self, network: nn.Module, *, num_steps: int) -> None:
        """Moves the average towards the network's present weights.

        Args:
            network: the network that was just updated.
            num_steps: updates so far, this one included. A young average forgets faster, so that
                the random weights of the start are gone after a few dozen steps.
        """
        decay = min(self._decay, (1 + num_steps) / (10 + num_steps))
        for name, tensor in network.state_dict().items():
            if tensor.is_floating_point():
                self.tensors[name].lerp_(tensor, 1.0 - decay)
            else:
                self.tensors[name].copy_(tensor)
