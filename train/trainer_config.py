"""How the network learns: the trainer's settings, and the learning rate they make."""

import math
from dataclasses import dataclass

from alphago.errors import LOWEST_NUMBER, check_config, check_count, check_number
from alphago.types import MAX_THREADS
from train.auxiliary import AuxiliaryWeights
from train.optimizers import OPTIMIZERS

PRECISIONS = ("auto", "bf16", "fp32")
SCHEDULES = ("constant", "cosine", "step")
STEP_POINTS = (0.5, 0.75)  # parts of the run after which the schedule `step` lowers the rate


@dataclass(kw_only=True)
class TrainerConfig(AuxiliaryWeights):
    """How the network learns; beside these fields it has the weights of auxiliary heads.

    Attributes:
        batch_size: rows of one optimiser step (AlphaGo Zero: 2048, AlphaZero: 4096).
        optimizer: `sgd` (with momentum, as in the papers) or `adamw`.
        learning_rate: highest learning rate, per step (AlphaGo Zero: 0.01, AlphaZero: 0.2).
        momentum: momentum of SGD, first beta of AdamW (AlphaGo Zero: 0.9).
        weight_decay: L2 on weight matrices and kernels; biases and batch norm have none. Within the
            gradient for SGD, apart from it for AdamW (AlphaGo Zero: 1e-4 on the squared norm, which
            is 2e-4 here).
        warmup_steps: steps over which the learning rate rises from 0; 0 for none.
        schedule: how the rate falls over the run: not at all with `constant`, smoothly with
            `cosine`, by equal factors after a half and three quarters of the run with `step`.
        final_learning_rate_fraction: where `cosine` and `step` end, as a share of the highest rate
            (AlphaGo Zero: 0.01, by steps).
        gradient_clip: largest norm of the gradient, null for no limit.
        ema_decay: decay per step of the running average of the weights, which then plays; null to
            play with the weights themselves.
        precision: `fp32`, `bf16` (autocast) or `auto`: bf16 where the hardware has it.
        num_threads: CPU threads of a step, in each process that learns; null for all usable ones
            (half of them on a CPU beside Ray's actors), which the processes of a machine share.
    """

    batch_size: int
    optimizer: str
    learning_rate: float
    momentum: float
    weight_decay: float
    warmup_steps: int
    schedule: str
    final_learning_rate_fraction: float
    gradient_clip: float | None
    ema_decay: float | None
    precision: str
    num_threads: int | None

    def __post_init__(self) -> None:
        """Checks the values."""
        super().__post_init__()
        for name, choices in (
            ("optimizer", OPTIMIZERS),
            ("schedule", SCHEDULES),
            ("precision", PRECISIONS),
        ):
            value = getattr(self, name)
            check_config(f"train.{name}", value, value in choices, ", ".join(choices))
        # Batch norm cannot learn from one row.
        check_count("train.batch_size", self.batch_size, at_least=2)
        check_count(
            "train.num_threads", self.num_threads, at_least=1, at_most=MAX_THREADS, or_null=True
        )
        check_count("train.warmup_steps", self.warmup_steps, at_least=0)
        rate, clip, average = self.learning_rate, self.gradient_clip, self.ema_decay
        check_number("train.learning_rate", rate, at_least=LOWEST_NUMBER)
        check_config("train.momentum", self.momentum, 0 <= self.momentum < 1, "from 0 to below 1")
        check_number("train.weight_decay", self.weight_decay)
        fraction = self.final_learning_rate_fraction
        check_config(
            "train.final_learning_rate_fraction", fraction, 0 < fraction <= 1, "above 0, at most 1"
        )
        if clip is not None:
            check_number("train.gradient_clip", clip, at_least=LOWEST_NUMBER)
        is_decay = average is None or 0 < average < 1
        check_config("train.ema_decay", average, is_decay, "between 0 and 1, or null")


def learning_rate(config: TrainerConfig, num_steps: int, *, progress: float) -> float:
    """Returns the rate of the next step.

    Args:
        config: highest rate, warm-up and schedule.
        num_steps: steps made before.
        progress: part of the run that is over, 0 to 1.
    """
    last, factor = config.final_learning_rate_fraction, 1.0
    if config.schedule == "cosine":
        factor = last + (1.0 - last) * 0.5 * (1.0 + math.cos(math.pi * progress))
    elif config.schedule == "step":
        num_passed = sum(progress >= point for point in STEP_POINTS)
        factor = last ** (num_passed / len(STEP_POINTS))
    warmup = min(1.0, (num_steps + 1) / max(config.warmup_steps, 1))
    return config.learning_rate * warmup * factor
