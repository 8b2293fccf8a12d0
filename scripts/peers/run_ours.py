"""Our self-play, as one actor plays it: many games in lockstep.

Runs in our own environment, see `serve.py`.
"""

from collections.abc import Callable
from typing import Any

from alphago.games import make_game
from alphago.types import UInt8Array
from scripts.composition import compose_config, to_run_config
from scripts.measurements import fresh_weights, random_states
from scripts.overrides import expand
from selfplay.actors import SelfPlayActor
from train.config import RunConfig, actor_setup


def prepare(settings: dict[str, Any]) -> tuple[str, Callable[[], float]]:
    """Returns how it computes, and what plays until a game ends and returns what was done.

    Args:
        settings: `overrides` of the configuration, and `per_item`, the simulations that count as
            one: 1 for simulations; those of a search for positions, each of which costs one search.
    """
    (overrides,) = expand(settings["overrides"], multirun=False)
    config = to_run_config(compose_config(overrides))
    actor = SelfPlayActor(actor_setup(config), actor=0)
    inference = actor.set_weights(0, fresh_weights(config), _positions(config))

    def play() -> float:
        return actor.play(1).stats.num_simulations / float(settings["per_item"])

    return str(inference), play


def _positions(config: RunConfig) -> UInt8Array:
    """Returns observations [M, C, H, W] in the place of a run's recent ones.

    Without any, the fastest precision would be left out, since it is chosen by its errors on them.
    """
    game = make_game(config.game.text)
    _, height, width = game.spec.observation_shape
    num_rows, most_moves = config.evaluator.num_positions, height * width // 2
    return game.observe(random_states(game, num_rows=num_rows, seed=0, most_moves=most_moves))
