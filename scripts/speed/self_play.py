"""How fast self-play is, beside the bare network and with several actors."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from alphago.games import make_game
from alphago.network.evaluator import NetworkEvaluator
from alphago.types import UInt8Array, Weights
from scripts.speed.gpu_watch import GpuWatch
from scripts.speed.network import SampleNetwork, first_rows
from selfplay.actors import ActorSetup, SelfPlayActor, with_groups
from selfplay.places import OneMachine
from selfplay.ray_pool import RayPool
from selfplay.reports import NewNetwork, PlayReport
from selfplay.resources import groups_per_actor
from train.config import actor_setup

WARM_MOVES = 3  # of every game, before the evaluation cache is measured
TURN_S = 0.5  # of self-play and of the bare network, which take turns
PATIENCE = 2  # times as long as asked for, where no game has made a move yet

# Of `_actor_rate`, but for the actor.
Arguments: TypeAlias = tuple[ActorSetup, Weights, UInt8Array, float]


def measure_self_play(sample: SampleNetwork, *, seconds: float) -> dict[str, object]:
    """Returns what one actor in this process does, beside the same network alone.

    Args:
        sample: game, network and configuration.
        seconds: how long to measure each of the two; up to `PATIENCE` times as long while no game
            has made a move.

    Returns:
        `backend` and `precision` of the network; `network_evaluations_per_s`, those of the network
        alone; `evaluations_per_s`, rows that self-play sent to it, and `ratio_to_network`, the
        second over the first; `simulations_per_s` (of finished searches), `positions_per_s` (moves
        made) and `games_per_s` (finished), each None where there was none in so short a time;
        `network_share`, of the time; `batch_fill`, the share of rows that a simulation asked for;
        and `bytes_per_game`, what its search takes. All that without the evaluation cache, which
        would leave the network fewer rows to compare; `cached`, with it: `positions_per_s`, None
        as above, and `hits`, the share of rows that it answered.
    """
    setup = _without_cache(_spread_games(actor_setup(sample.config)))
    actor = SelfPlayActor(setup, actor=0)
    inference = actor.set_network(NewNetwork(0, sample.weights, sample.positions))
    evaluator = NetworkEvaluator(sample.game, setup.network, setup.evaluator)
    evaluator.load_weights(sample.weights, sample.positions)
    rows = first_rows(sample, setup.selfplay.num_games)
    network_s, num_evaluations = 0.0, 0
    reports: list[PlayReport] = []
    _play_for(actor, seconds=TURN_S)
    while network_s < seconds or (network_s < PATIENCE * seconds and not _num_positions(reports)):
        deadline = time.perf_counter() + TURN_S
        started = time.perf_counter()
        while time.perf_counter() < deadline:
            evaluator.evaluate_observations(rows)
            num_evaluations += len(rows)
        network_s += time.perf_counter() - started
        reports.append(_play_for(actor, seconds=TURN_S))
    rate, network_rate = _evaluations_per_s(reports), num_evaluations / network_s
    bytes_per_game = actor.bytes_per_game
    del actor  # before the next one takes as much memory
    return {
        "backend": inference.backend,
        "precision": inference.precision,
        "network_evaluations_per_s": network_rate,
        "evaluations_per_s": rate,
        "ratio_to_network": rate / network_rate,
        **_rates(reports),
        "bytes_per_game": bytes_per_game,
        "cached": _measure_cached(sample, seconds=seconds),
    }


def _measure_cached(sample: SampleNetwork, *, seconds: float) -> dict[str, float | None]:
    """Returns what the configured evaluation cache makes of self-play.

    What it spares are positions that a search before has seen, hence a few moves are made first.
    """
    setup = _spread_games(actor_setup(sample.config))
    actor = SelfPlayActor(setup, actor=0)
    actor.set_network(NewNetwork(0, sample.weights, sample.positions))
    enough, deadline = WARM_MOVES * setup.selfplay.num_games, time.perf_counter() + seconds
    reports: list[PlayReport] = []
    while _num_positions(reports) < enough and time.perf_counter() < deadline:
        reports.append(_play_for(actor, seconds=TURN_S))
    if _num_positions(reports):
        reports = []  # else the first moves are still to come, and have taken this time as well
    reports.append(_play_for(actor, seconds=seconds))
    stats = [report.stats for report in reports]
    num_cached = sum(each.num_cached for each in stats)
    num_rows = sum(each.num_evaluations for each in stats) + num_cached
    return {
        "positions_per_s": _rates(reports)["positions_per_s"],
        "hits": num_cached / max(1, num_rows),
    }


def measure_actors(
    sample: SampleNetwork, *, num_actors: int, num_gpus: int, seconds: float
) -> dict[str, float | int | None]:
    """Returns what several actors do at once, each in a process of its own. Ray must be running.

    Args:
        sample: game, network and configuration.
        num_actors: how many are compared with one.
        num_gpus: GPUs that they share.
        seconds: how long to measure either.

    Returns:
        `one_evaluations_per_s`, `num_actors`, `evaluations_per_s` of all together, `ratio`,
        `gpu_share`, the part of the time in which the GPUs were busy (None without any), and
        `bytes_per_actor`, the largest resident memory of a process.
    """
    setup = actor_setup(sample.config)
    num_groups = groups_per_actor(setup.selfplay, setup.evaluator)
    setup = with_groups(setup, num_groups)
    places = OneMachine(num_actors=num_actors, num_groups=num_groups, num_gpus=num_gpus)
    pool = RayPool(setup, places, first_actor=0)
    arguments = (
        _without_cache(_spread_games(setup)),
        sample.weights,
        sample.positions,
        seconds,
    )
    try:
        while pool.state().num_starting:  # else one that has started would do their part
            pool.drain(TURN_S)
        _total_rate(pool, (*arguments[:3], 0.0), num_actors=num_actors)  # all are warm now
        one = _total_rate(pool, arguments, num_actors=1)[0]
        with GpuWatch() as watch:
            several, bytes_per_actor = _total_rate(pool, arguments, num_actors=num_actors)
    finally:
        pool.close()
    return {
        "one_evaluations_per_s": one,
        "num_actors": num_actors,
        "evaluations_per_s": several,
        "ratio": several / one,
        "gpu_share": watch.share,
        "bytes_per_actor": bytes_per_actor,
    }


def _total_rate(pool: RayPool, arguments: Arguments, *, num_actors: int) -> tuple[float, int]:
    """Returns the evaluations per second of some actors, all at once, and the largest process."""
    calls = [(*arguments, number) for number in range(num_actors)]
    measured = pool.map(_actor_rate, calls, give_up=lambda: False)
    assert measured is not None, "nobody gives up"
    rates, sizes = zip(*measured, strict=True)
    return sum(rates), max(sizes)


def _actor_rate(
    setup: ActorSetup, weights: Weights, positions: UInt8Array, seconds: float, number: int
) -> tuple[float, int]:
    """Returns the evaluations per second of self-play in this process, and its memory in bytes."""
    num_groups = groups_per_actor(setup.selfplay, setup.evaluator)
    actor = SelfPlayActor(setup, actor=number * num_groups, seat=number)
    actor.set_network(NewNetwork(0, weights, positions))
    _play_for(actor, seconds=TURN_S)
    report = _play_for(actor, seconds=seconds)
    return _evaluations_per_s([report]), report.memory.resident_bytes


def _spread_games(setup: ActorSetup) -> ActorSetup:
    """Returns a setup whose games begin with random moves, up to the middle of the game.

    Else all games would be at the same move, and the measurement of their first few moves alone.
    """
    _, height, width = make_game(setup.game).spec.observation_shape
    return replace(
        setup,
        selfplay=replace(
            setup.selfplay,
            random_opening_probability=1.0,
            random_opening_plies=max(1, height * width // 2),
        ),
    )


def _without_cache(setup: ActorSetup) -> ActorSetup:
    return replace(setup, selfplay=replace(setup.selfplay, cache_size=0))


def _play_for(actor: SelfPlayActor, *, seconds: float) -> PlayReport:
    deadline = time.perf_counter() + seconds
    return actor.play_until(lambda _: time.perf_counter() >= deadline)


def _num_positions(reports: Sequence[PlayReport]) -> int:
    return sum(report.stats.num_positions for report in reports)


def _evaluations_per_s(reports: Sequence[PlayReport]) -> float:
    stats = [report.stats for report in reports]
    return sum(each.num_evaluations for each in stats) / sum(each.seconds for each in stats)


def _rates(reports: Sequence[PlayReport]) -> dict[str, float | None]:
    """Returns what `measure_self_play` tells of these reports alone."""
    stats = [report.stats for report in reports]
    seconds = sum(each.seconds for each in stats)
    counts = {
        "simulations_per_s": sum(each.num_simulations for each in stats),
        "positions_per_s": _num_positions(reports),
        "games_per_s": sum(len(report.records) for report in reports),
    }
    num_evaluations = sum(each.num_evaluations for each in stats)
    return {
        # Nothing counted is nothing measured: moves of many games are made all at once.
        **{name: count / seconds if count else None for name, count in counts.items()},
        "network_share": sum(each.seconds_evaluating for each in stats) / seconds,
        "batch_fill": sum(each.num_leaves for each in stats) / max(1, num_evaluations),
    }
