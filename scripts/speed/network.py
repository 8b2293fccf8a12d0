"""How fast networks are evaluated, by backend, precision and batch, and exchanged."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import torch

from alphago.games import Game, make_game
from alphago.games.random_play import random_states
from alphago.network.evaluator import EvaluatorConfig, NetworkEvaluator, choose_device
from alphago.network.hardware import computes_int8, native_precision
from alphago.network.network import load_weights, make_network, weights_of
from alphago.types import UInt8Array, Weights
from train.config import RunConfig

EAGER = "torch eager"  # the network as it is trained, layer by layer
CHECKED_ROWS = 256  # positions that a precision is checked on
SINGLE = 1  # batch of a player that looks at one game
CALLS_PER_TURN = 5
NUM_UPDATES = 3
_NO_LIMIT = 1e9  # every precision is measured, however far off it is on a fresh network

_Name: TypeAlias = tuple[str, str]  # backend, precision


@dataclass(frozen=True, kw_only=True)
class SampleNetwork:
    """What is measured.

    Attributes:
        game: the rules.
        config: of the whole run.
        weights: of the network.
        positions: observations uint8 [M, C, H, W] of random games, to check precision on.
    """

    game: Game
    config: RunConfig
    weights: Weights
    positions: UInt8Array


def make_sample(config: RunConfig) -> SampleNetwork:
    """Returns the network that a run starts with. Its speed is that of any other of its sizes."""
    game = make_game(config.game.text)
    states = random_states(game, np.random.default_rng(config.seed), num_rows=CHECKED_ROWS)
    return SampleNetwork(
        game=game,
        config=config,
        weights=weights_of(make_network(game.spec, config.network, seed=config.seed)),
        positions=game.observe(states),
    )


def measure_networks(sample: SampleNetwork, *, seconds: float) -> list[dict[str, object]]:
    """Returns the speed of every backend and precision that the device has.

    They take turns, so that a machine that is busy for a while slows all of them.

    Args:
        sample: the network.
        seconds: how long to measure each.

    Returns:
        For each `backend`, `precision`, `batch` (rows), `evaluations_per_s` and `ratio_to_eager`.
    """
    evaluate = {(EAGER, "fp32"): _eager_network(sample)}
    for backend, precision in _combinations(sample.config.evaluator):
        evaluator = make_evaluator(sample, backend=backend, precision=precision)
        evaluate[backend, precision] = evaluator.evaluate_observations
    rows: list[dict[str, object]] = []
    for batch in (sample.config.selfplay.num_games, SINGLE):
        rates = _rates_in_turns(evaluate, first_rows(sample, batch), seconds=seconds)
        eager = rates[EAGER, "fp32"]
        for (backend, precision), rate in rates.items():
            facts = {"backend": backend, "precision": precision, "batch": batch}
            rows.append(facts | {"evaluations_per_s": rate, "ratio_to_eager": rate / eager})
    return rows


def measure_weight_update(sample: SampleNetwork) -> dict[str, float]:
    """Returns `seconds`, how long an actor takes to go on with other weights, checks included."""
    evaluator = NetworkEvaluator(sample.game, sample.config.network, sample.config.evaluator)
    times = []
    for _ in range(NUM_UPDATES):
        started = time.perf_counter()
        evaluator.load_weights(sample.weights, sample.positions)
        times.append(time.perf_counter() - started)
    return {"seconds": min(times)}


def make_evaluator(
    sample: SampleNetwork, *, backend: str = "auto", precision: str = "auto"
) -> NetworkEvaluator:
    """Returns an evaluator of the sample that keeps to a precision, however far off it is."""
    config = replace(
        sample.config.evaluator,
        backend=backend,
        precision=precision,
        policy_kl_limit=_NO_LIMIT,
        value_error_limit=_NO_LIMIT,
    )
    evaluator = NetworkEvaluator(sample.game, sample.config.network, config)
    evaluator.load_weights(sample.weights, sample.positions)
    return evaluator


def first_rows(sample: SampleNetwork, num_rows: int) -> UInt8Array:
    """Returns so many of the sample's positions, again from the first after the last."""
    return np.resize(sample.positions, (num_rows, *sample.positions.shape[1:]))


def _combinations(config: EvaluatorConfig) -> Iterator[tuple[str, str]]:
    """Yields the backends and precisions that the hardware computes in."""
    device = choose_device(config.device)
    precisions = dict.fromkeys(["fp32", native_precision(device)])
    yield from (("torch", each) for each in precisions)
    if device.type == "cpu":
        yield from (("openvino", each) for each in precisions)
        if computes_int8():
            yield "openvino", "int8"


def _eager_network(sample: SampleNetwork) -> Callable[[UInt8Array], object]:
    """Returns the network as it is trained, evaluated layer by layer."""
    device = choose_device(sample.config.evaluator.device)
    network = make_network(sample.game.spec, sample.config.network, seed=0).eval()
    load_weights(network, sample.weights)
    network.to(device)

    def evaluate(observations: UInt8Array) -> object:
        with torch.inference_mode():
            answer = network(torch.from_numpy(observations).to(device).float())
            return [each.cpu().numpy() for each in answer]

    return evaluate


def _rates_in_turns(
    evaluate: Mapping[_Name, Callable[[UInt8Array], object]],
    observations: UInt8Array,
    *,
    seconds: float,
) -> dict[_Name, float]:
    """Returns the evaluations per second of each, from its fastest call."""
    fastest = dict.fromkeys(evaluate, math.inf)
    for function in evaluate.values():
        function(observations)
    deadline = time.perf_counter() + seconds * len(evaluate)
    while time.perf_counter() < deadline or math.inf in fastest.values():
        for name, function in evaluate.items():
            function(observations)  # its weights are in the cache again
            started = time.perf_counter()
            for _ in range(CALLS_PER_TURN):
                function(observations)
            elapsed = (time.perf_counter() - started) / CALLS_PER_TURN
            fastest[name] = min(fastest[name], elapsed)
    return {name: len(observations) / elapsed for name, elapsed in fastest.items()}
