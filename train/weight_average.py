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
        """Starts at the present weights of the network, whose tensors it goes on looking at."""
        self._decay = decay
        sources = network.state_dict()
        self.tensors = {name: tensor.clone() for name, tensor in sources.items()}
        floats = [name for name, tensor in sources.items() if tensor.is_floating_point()]
        self._averaged = [self.tensors[name] for name in floats]
        self._averaged_sources = [sources[name] for name in floats]
        self._copied = [(self.tensors[name], sources[name]) for name in sources.keys() - floats]

    @torch.no_grad()
    def update(self, *, num_steps: int) -> None:
        """Moves the average towards the network's present weights.

        Args:
            num_steps: updates so far, this one included. A young average forgets faster, so that
                the random weights of the start are gone after a few dozen steps.
        """
        decay = min(self._decay, (1 + num_steps) / (10 + num_steps))
        torch._foreach_lerp_(self._averaged, self._averaged_sources, 1.0 - decay)
        for target, source in self._copied:
            target.copy_(source)
