"""Our self-play, as one actor plays it: many games in lockstep.

Runs in our own environment, see `serve.py`.
"""

from collections.abc import Callable
from typing import Any

from scripts.composition import compose_config, to_run_config
from scripts.overrides import expand
from scripts.speed.network import make_sample
from selfplay.actors import SelfPlayActor
from selfplay.reports import NewNetwork
from train.config import actor_setup


def prepare(settings: dict[str, Any]) -> tuple[str, Callable[[], float]]:
    """Returns how it computes, and what plays until a game ends and returns what was done.

    Args:
        settings: `overrides` of the configuration, and the `unit` of the task.
    """
    unit = settings["unit"]
    (overrides,) = expand(settings["overrides"], multirun=False)
    config = to_run_config(compose_config(overrides))
    actor = SelfPlayActor(actor_setup(config), actor=0)
    sample = make_sample(config)
    inference = actor.set_network(NewNetwork(0, sample.weights, sample.positions))

    def play() -> float:
        stats = actor.play(1).stats
        return {"positions": stats.num_positions, "simulations": stats.num_simulations}[unit]

    return str(inference), play
