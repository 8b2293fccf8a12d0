"""OpenSpiel's Python AlphaZero: Connect Four as its actors play it, one game after the other.

Runs in an environment of its own, see `serve.py`.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pyspiel
from flax import nnx
from jax import numpy as jnp
from open_spiel.python.algorithms import mcts
from open_spiel.python.algorithms.alpha_zero import alpha_zero, evaluator, model_nnx

# Those of its example program.
EXPLORATION = 1.41
NOISE = (0.25, 1.0)  # weight, concentration
TEMPERATURE = 1.0
TEMPERATURE_DROP = 2  # moves


class Silence:
    """The logger of an actor that is not read."""

    def print(self, *texts: object) -> None:
        """Drops what is always written."""

    def opt_print(self, *texts: object) -> None:
        """Drops what is written on request."""


def prepare(settings: dict[str, Any]) -> tuple[str, Callable[[], float]]:
    """Returns how it computes, and what plays one game and returns the number of its moves.

    Args:
        settings: `num_blocks`, `num_channels`, `num_simulations`, and whether the network is
            `compiled`. OpenSpiel does not compile it; it is the first thing a user could change.
    """
    game = pyspiel.load_game("connect_four")
    model = _make_model(game, settings)
    if settings["compiled"]:
        model.inference = _compiled_inference(model)
    # As in an actor: one evaluator with its cache of positions, for both sides and all games.
    network = evaluator.AlphaZeroEvaluator(game, model)
    bots = [_make_bot(game, network, settings["num_simulations"]) for _ in range(2)]
    logger = Silence()

    def play_game() -> float:
        trajectory = alpha_zero._play_game(logger, 0, game, bots, TEMPERATURE, TEMPERATURE_DROP)
        return len(trajectory.states)

    return f"jax {jax.__version__}, fp32", play_game


def _make_model(game: Any, settings: dict[str, Any]) -> Any:
    # `nnx`, its default. The other form of its network, `linen`, evaluates at a third of the speed.
    return model_nnx.Model.build_model(
        "resnet",
        tuple(game.observation_tensor_shape()),
        game.num_distinct_actions(),
        settings["num_channels"],
        settings["num_blocks"],
        weight_decay=1e-4,
        learning_rate=1e-3,
        path=None,
    )


def _make_bot(game: Any, network: Any, num_simulations: int) -> Any:
    """Returns a bot with the options that its actors use."""
    return mcts.MCTSBot(
        game,
        EXPLORATION,
        num_simulations,
        network,
        solve=False,
        dirichlet_noise=NOISE,
        child_selection_fn=mcts.SearchNode.puct_value,
        dont_return_chance_node=True,
    )


def _compiled_inference(model: Any) -> Callable[..., Any]:
    """Returns `inference` of the model, compiled once and answering in numpy arrays."""
    state = model._state

    def evaluate(params: Any, batch_stats: Any, observation: Any, legals_mask: Any) -> Any:
        network = nnx.merge(state.graphdef, params, batch_stats)
        network.eval()
        logits, value = network(observation)
        logits = jnp.where(legals_mask, logits, jnp.finfo(jnp.float32).min)
        return value, jax.nn.softmax(logits)

    compiled = jax.jit(evaluate)

    def inference(observation: Any, legals_mask: Any) -> Any:
        value, policy = compiled(
            state.params,
            state.batch_stats,
            np.asarray(observation, np.float32),
            np.asarray(legals_mask, np.bool_),
        )
        return float(value), np.asarray(policy)  # its tree reads single numbers: slow in JAX

    return inference
