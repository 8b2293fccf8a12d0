"""A network as training asks it: for everything it says, auxiliary heads included."""

from collections.abc import Sequence

import torch
from torch import nn

from alphago.network.network import NetworkOutputs, PolicyValueNet


class AllOutputs(nn.Module):
    """A network whose `forward` says all: data parallel wrappers know no other method."""

    def __init__(self, network: PolicyValueNet) -> None:
        """Shares the network's parameters; their names get the prefix `network.`."""
        super().__init__()
        self.network = network

    def forward(self, planes: torch.Tensor) -> NetworkOutputs:
        """Maps floating point [M, C, H, W] to all outputs."""
        return self.network.all_outputs(planes)


def join_outputs(answers: Sequence[NetworkOutputs]) -> NetworkOutputs:
    """Returns what a network said of several batches, one behind the other."""
    return NetworkOutputs(
        logits=torch.cat([each.logits for each in answers]),
        values=torch.cat([each.values for each in answers]),
        auxiliary={
            name: torch.cat([each.auxiliary[name] for each in answers])
            for name in answers[0].auxiliary
        },
    )
