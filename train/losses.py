"""What the network is trained to make small (AlphaGo Zero, eq. 1): (z - v)^2 - pi . log p.

The L2 term of the paper is the optimiser's weight decay, see `train.trainer`.
"""

from typing import NamedTuple

import torch


class LossTerms(NamedTuple):
    """Weighted means over a batch, each a float32 tensor []."""

    total: torch.Tensor  # policy + value, what is minimised
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
    weights: torch.Tensor,
    weight_sum: float | None = None,
) -> LossTerms:
    """Compares a network's answers with the targets.

    The policy is a softmax over all actions, not only the legal ones: targets are 0 where an action
    is illegal, so the network learns legality by the way, and search masks it anyway.

    Args:
        logits: [M, A] of any float type; the loss itself is always computed in float32.
        values: [M] in [-1, 1], view of the player to move.
        policy_targets: float32 [M, A], each row sums to 1.
        value_targets: float32 [M] in [-1, 1], view of the player to move.
        weights: float32 [M], at least 0, not all 0.
        weight_sum: what weighted sums are divided by; None for the sum of `weights`.

    Returns:
        The terms; gradients flow through the first three, the last two are only to be watched.
    """
    log_policy = torch.log_softmax(logits.float(), dim=1)
    cross_entropy = -(policy_targets * log_policy).sum(dim=1)
    watched = log_policy.detach()
    entropy = -(watched.exp() * watched).sum(dim=1)
    target_entropy = -torch.special.xlogy(policy_targets, policy_targets).sum(dim=1)
    squared_error = (value_targets - values.float()).square()

    divisor = weights.sum() if weight_sum is None else weight_sum

    def mean(numbers: torch.Tensor) -> torch.Tensor:
        return (weights * numbers).sum() / divisor

    policy, value = mean(cross_entropy), mean(squared_error)
    return LossTerms(
        total=policy + value,
        policy=policy,
        value=value,
        entropy=mean(entropy),
        kl=policy.detach() - mean(target_entropy),
    )
