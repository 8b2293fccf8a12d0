"""What the network is trained to make small (AlphaGo Zero, eq. 1): (z - v)^2 - pi . log p.

Auxiliary heads add terms of their own, see `total_loss`. The L2 term of the paper is the weight
decay of the optimiser, see `train.trainer`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch

from train.auxiliary import AUXILIARY_TARGETS


class LossTerms(NamedTuple):
    """Means over a batch, each a float32 tensor []."""

    policy: torch.Tensor  # cross-entropy of the targets and the network's policy, nats
    value: torch.Tensor  # squared error of the value
    entropy: torch.Tensor  # entropy of the network's policy, nats
    kl: torch.Tensor  # KL(target || policy), nats: cross-entropy without what the target itself has


def compute_losses(
    logits: torch.Tensor,
    values: torch.Tensor,
    *,
    policy_targets: torch.Tensor,
    value_targets: torch.Tensor,
) -> LossTerms:
    """Compares what a network says of policy and value with the targets.

    The policy is a softmax over all actions, not only the legal ones: targets are 0 where an action
    is illegal, so the network learns legality by the way, and search masks it anyway.

    Args:
        logits: [M, A] of any float type; the loss itself is always computed in float32.
        values: [M] in [-1, 1], view of the player to move.
        policy_targets: float32 [M, A], each row sums to 1.
        value_targets: float32 [M] in [-1, 1], view of the player to move.

    Returns:
        The terms; gradients flow through the first two, the last two are only to be watched.
    """
    log_policy = torch.log_softmax(logits.float(), dim=1)
    policy = -(policy_targets * log_policy).sum(dim=1).mean()
    watched = log_policy.detach()
    target_entropy = -torch.special.xlogy(policy_targets, policy_targets).sum(dim=1).mean()
    return LossTerms(
        policy=policy,
        value=(value_targets - values.float()).square().mean(),
        entropy=-(watched.exp() * watched).sum(dim=1).mean(),
        kl=policy.detach() - target_entropy,
    )


def auxiliary_losses(
    outputs: Mapping[str, torch.Tensor], targets: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Compares what auxiliary heads say with their targets.

    Args:
        outputs: what each head says of a batch of M rows, of any float type.
        targets: what it should say, see `train.auxiliary`.

    Returns:
        A mean over the batch for each head, a float32 tensor [].
    """
    return {
        name: AUXILIARY_TARGETS[name].loss(said.float(), targets[name]).mean()
        for name, said in outputs.items()
    }


def total_loss(
    terms: LossTerms, auxiliary: Mapping[str, torch.Tensor], loss_weights: Mapping[str, float]
) -> torch.Tensor:
    """Returns what is made small: the losses of policy, value and, weighted, of auxiliary heads."""
    total = terms.policy + terms.value
    for head, loss in auxiliary.items():
        total = total + loss_weights[head] * loss
    return total
