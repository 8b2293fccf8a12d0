"""mctx and pgx: self-play on 9x9 Go, a move of all games of a batch at a time.

Runs in an environment of its own, see `serve.py`. All of a move, network, search and rules, is one
compiled function. The convolutions are of channels last, which is what XLA's CPU code is fastest
with (as a matrix product over patches they take 1.5 times as long; oneDNN or bf16 change nothing).
The network is as it is after training: batch norm folded.
"""

from collections.abc import Callable
from typing import Any

import jax
import mctx
import numpy as np
import pgx
from jax import numpy as jnp
from pgx.experimental import auto_reset

POLICIES = {"gumbel": mctx.gumbel_muzero_policy, "puct": mctx.muzero_policy}
HEAD_CHANNELS, HIDDEN = 4, 64  # of both heads, and of the hidden layer: those of our network


def prepare(settings: dict[str, Any]) -> tuple[str, Callable[[], float]]:
    """Returns how it computes, and what plays one move in each game and returns the simulations.

    Args:
        settings: `num_blocks`, `num_channels`, `num_games`, `num_simulations`, and `policy`, a key
            of POLICIES.
    """
    env = pgx.make("go_9x9")
    num_games, num_simulations = settings["num_games"], settings["num_simulations"]
    params = _make_params(env, settings["num_blocks"], settings["num_channels"])
    play_move = jax.jit(_make_play_move(env, POLICIES[settings["policy"]], num_simulations))
    key = jax.random.PRNGKey(0)
    states = jax.jit(jax.vmap(env.init))(jax.random.split(key, num_games))

    def play() -> float:
        nonlocal key, states
        key, states = jax.block_until_ready(play_move(params, key, states))
        return float(num_games * num_simulations)

    return f"jax {jax.__version__}, fp32", play


def _make_play_move(env: Any, policy: Any, num_simulations: int) -> Callable[..., Any]:
    """Returns the function that searches and plays one move in each game of a batch."""
    step_or_begin = jax.vmap(auto_reset(env.step, env.init))

    def play_move(params: Any, key: Any, states: Any) -> Any:
        key, search_key, reset_key = jax.random.split(key, 3)
        logits, values = _evaluate(params, states.observation)
        root = mctx.RootFnOutput(prior_logits=logits, value=values, embedding=states)
        output = policy(
            params=params,
            rng_key=search_key,
            root=root,
            recurrent_fn=_make_simulate(env),
            num_simulations=num_simulations,
            invalid_actions=~states.legal_action_mask,
        )
        reset_keys = jax.random.split(reset_key, len(values))
        return key, step_or_begin(states, output.action, reset_keys)

    return play_move


def _make_simulate(env: Any) -> Callable[..., Any]:
    """Returns mctx's `recurrent_fn` for a game for two with known rules."""

    def simulate(params: Any, key: Any, actions: Any, states: Any) -> Any:
        del key
        players = states.current_player
        states = jax.vmap(env.step)(states, actions)
        logits, values = _evaluate(params, states.observation)
        output = mctx.RecurrentFnOutput(
            reward=states.rewards[jnp.arange(len(players)), players],
            discount=jnp.where(states.terminated, 0.0, -1.0),  # the other player moves next
            prior_logits=jnp.where(states.legal_action_mask, logits, jnp.finfo(jnp.float32).min),
            value=jnp.where(states.terminated, 0.0, values),
        )
        return output, states

    return simulate


def _make_params(env: Any, num_blocks: int, num_channels: int) -> dict[str, Any]:
    """Returns the weights and biases of the network, as fresh ones of He et al."""
    rng = np.random.default_rng(0)
    height, width, num_planes = env.observation_shape
    num_features = HEAD_CHANNELS * height * width

    def layer(*shape: int) -> tuple[Any, Any]:
        scale = np.sqrt(2 / np.prod(shape[:-1]))
        weights = rng.normal(scale=scale, size=shape).astype(np.float32)
        return jnp.asarray(weights), jnp.zeros(shape[-1])

    def block() -> tuple[Any, Any]:
        return layer(3, 3, num_channels, num_channels), layer(3, 3, num_channels, num_channels)

    return {
        "stem": layer(3, 3, num_planes, num_channels),
        "blocks": [block() for _ in range(num_blocks)],
        "policy": (layer(1, 1, num_channels, HEAD_CHANNELS), layer(num_features, env.num_actions)),
        "value": (
            layer(1, 1, num_channels, HEAD_CHANNELS),
            layer(num_features, HIDDEN),
            layer(HIDDEN, 1),
        ),
    }


def _evaluate(params: dict[str, Any], observations: Any) -> tuple[Any, Any]:
    """Maps observations [B, H, W, C] to logits [B, A] and values [B]."""
    planes = jax.nn.relu(_convolve(observations.astype(jnp.float32), params["stem"]))
    for first, second in params["blocks"]:
        planes = jax.nn.relu(planes + _convolve(jax.nn.relu(_convolve(planes, first)), second))
    convolution, linear = params["policy"]
    logits = _apply(_features(planes, convolution), linear)
    convolution, hidden, linear = params["value"]
    values = _apply(jax.nn.relu(_apply(_features(planes, convolution), hidden)), linear)
    return logits, jnp.tanh(values[:, 0])


def _convolve(planes: Any, layer: tuple[Any, Any]) -> Any:
    weights, bias = layer
    dimensions = ("NHWC", "HWIO", "NHWC")
    strides = (1, 1)
    return (
        jax.lax.conv_general_dilated(planes, weights, strides, "SAME", None, None, dimensions)
        + bias
    )


def _features(planes: Any, layer: tuple[Any, Any]) -> Any:
    return jax.nn.relu(_convolve(planes, layer)).reshape(len(planes), -1)


def _apply(features: Any, layer: tuple[Any, Any]) -> Any:
    weights, bias = layer
    return features @ weights + bias
