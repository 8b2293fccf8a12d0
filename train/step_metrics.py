"""What the trainer tells of an optimiser step and of a validation."""

from typing import NamedTuple

from alphago.types import FloatArray


class StepMetrics(NamedTuple):
    """What one step saw, before its update."""

    loss: float  # policy_loss + value_loss + auxiliary losses times their weights
    policy_loss: float  # cross-entropy, nats
    value_loss: float  # mean squared error
    entropy: float  # of the network's policy, nats
    kl: float  # KL(target || network's policy), nats
    grad_norm: float  # before clipping
    learning_rate: float
    l2: float  # the L2 term that the weight decay stands for
    auxiliary: dict[str, float]  # loss of each auxiliary head


class ValidationMetrics(NamedTuple):
    """How the weights that play do on rows they never learnt from."""

    policy_loss: float
    value_loss: float
    kl: float
    values: FloatArray  # [R], the network's values
    auxiliary: dict[str, float]  # loss of each auxiliary head
