"""`alphago bench`: the speed of rules, search, network, self-play and trainer on this machine."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scripts.arguments import (
    CommandLineError,
    Parser,
    nearest,
    parse_words,
    read_number,
    refuse_pairs,
)
from scripts.progress_bar import progress_bar
from scripts.tables import format_table
from scripts.train import hydra_parser

if TYPE_CHECKING:
    from scripts.speed.network import SampleNetwork
    from train.config import RunConfig

OWN_KEYS = ("seconds", "actors")  # everything else is an option of `alphago train`
SECONDS = 2.0  # per measurement
SELF_PLAY_TIMES = 3  # as long: games of equal budgets make their moves all at once, now and then
NUM_ACTORS = 2  # compared with one


def main(argv: Sequence[str]) -> None:
    """Measures and prints a table."""
    arguments = _make_parser().parse(argv)
    refuse_pairs(arguments.overrides, keys=OWN_KEYS)
    own = [word for word in arguments.overrides if word.partition("=")[0] in OWN_KEYS]
    values = parse_words(own, allowed=OWN_KEYS)
    seconds = read_number(
        values,
        "seconds",
        kind=float,
        default=SECONDS,
        allowed="a number above 0, at most 600",
        check=lambda number: 0 < number <= 600,
    )
    num_actors = read_number(
        values,
        "actors",
        kind=int,
        default=NUM_ACTORS,
        allowed="an integer of at least 1",
        check=lambda number: number >= 1,
    )
    others = [word for word in arguments.overrides if word not in own]
    _check_keys(others)
    config = _compose(others)
    from alphago.network.evaluator import choose_plan

    choose_plan(config.evaluator)  # refuses what does not go together before anything is measured
    results = measure(config, num_actors=num_actors, seconds=seconds)
    print(json.dumps(results) if arguments.json else describe(results))


def measure(config: "RunConfig", *, num_actors: int, seconds: float) -> dict[str, Any]:
    """Measures everything, one after the other.

    Args:
        config: game, network, search, self-play and training.
        num_actors: actors to compare with one; 1 for no comparison.
        seconds: time of each measurement.

    Returns:
        Numbers by name, ready for JSON; README lists them.
    """
    from alphago.games import make_game
    from scripts.machine import describe_machine
    from scripts.speed import network, openspiel, rules, self_play, trainer

    game = make_game(config.game.text)
    sample = network.make_sample(config)
    num_simulations = config.selfplay.num_simulations
    stages: dict[str, Callable[[], object]] = {
        "rules": lambda: rules.measure_rules(game, seconds=seconds),
        "search": lambda: rules.measure_search(
            game, config.search, num_simulations=num_simulations, seconds=seconds
        ),
        "network": lambda: network.measure_networks(sample, seconds=seconds),
        "weight_update": lambda: network.measure_weight_update(sample),
        "self_play": lambda: self_play.measure_self_play(sample, seconds=SELF_PLAY_TIMES * seconds),
        "trainer": lambda: trainer.measure_trainer(config, seconds=seconds),
    }
    if num_actors > 1:
        stages["actors"] = lambda: _compare_actors(sample, num_actors=num_actors, seconds=seconds)
    results: dict[str, Any] = {
        "machine": describe_machine(),
        "game": config.game.text,
        "openspiel": openspiel.remark(game) if openspiel.is_installed() else "not installed",
    }
    with progress_bar("measured") as show:
        for number, (name, stage) in enumerate(stages.items()):
            show(number, len(stages), name)
            results[name] = stage()
    return results


def describe(results: Mapping[str, Any]) -> str:
    """Returns the results as tables."""
    machine = results["machine"]
    device = machine["gpu"] or f"{machine['processor']}, {machine['usable_cpus']} usable CPUs"
    versions = ", ".join(
        f"{name} {machine[name]}" for name in ("python", "torch", "openvino", "numba", "ray")
    )
    tables = (
        [("rules and search, one core", "per second"), *_rules_rows(results)],
        _network_rows(results["network"]),
        [("self-play and learning", "per second", "ratio"), *_loop_rows(results)],
    )
    lines = [f"{results['game']} on {device}", versions]
    return "\n\n".join(["\n".join(lines), *map(format_table, tables), _remarks(results)])


def _rules_rows(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Returns the table's rows about the rules."""
    rules, search, remark = results["rules"], results["search"], results["openspiel"]
    theirs = rules.get("openspiel_playouts_per_s")
    label = "  the same, OpenSpiel (C++)" + f": {remark}" * bool(remark)
    return [
        ("random playouts as UCT plays them", f"{rules['playouts_per_s']:,.0f}"),
        ("random playouts, actions equally likely", f"{rules['uniform_playouts_per_s']:,.0f}"),
        (label, "-" if theirs is None else f"{theirs:,.0f}"),
        *(
            (f"{what}, {rules[name]:.2f} µs each", f"{1e6 / rules[name]:,.0f}")
            for name, what in (("legal_actions_us", "legal actions"), ("step_us", "steps"))
        ),
        ("UCT, playouts, one position at a time", f"{rules['uct_playouts_per_s']:,.0f}"),
        (
            f"PUCT with a free network, simulations, {search['num_simulations']} a move",
            f"{search['simulations_per_s']:,.0f}",
        ),
    ]


def _network_rows(networks: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("bare network", "precision", "batch", "evaluations per second", "times eager")
    ]
    for each in networks:
        rate, ratio = f"{each['evaluations_per_s']:,.0f}", f"{each['ratio_to_eager']:.2f}"
        rows.append((each["backend"], each["precision"], str(each["batch"]), rate, ratio))
    return rows


def _loop_rows(results: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Returns the table's rows about self-play, actors and trainer."""
    play, trainer, actors = (results.get(name) for name in ("self_play", "trainer", "actors"))
    assert play is not None and trainer is not None, "always measured"
    network = f"{play['backend']} {play['precision']}"
    rows: list[tuple[str, ...]] = [
        (
            f"self-play with {network}, evaluations, ratio to the network alone",
            f"{play['evaluations_per_s']:,.0f}",
            f"{play['ratio_to_network']:.2f}",
        ),
        ("  simulations", _text(play["simulations_per_s"], ",.0f"), ""),
        ("  positions (moves made)", _text(play["positions_per_s"], ",.1f"), ""),
        _cached_row(play["positions_per_s"], **play["cached"]),
        ("  games finished", _text(play["games_per_s"], ",.2f"), ""),
        (
            "trainer, samples, ratio to a bare loop",
            f"{trainer['samples_per_s']:,.0f}",
            f"{trainer['ratio']:.2f}",
        ),
    ]
    if actors is not None:
        label = f"{actors['num_actors']} actors, evaluations, ratio to one"
        rows.append((label, f"{actors['evaluations_per_s']:,.0f}", f"{actors['ratio']:.2f}"))
    return rows


def _cached_row(
    without: float | None, *, positions_per_s: float | None, hits: float
) -> tuple[str, str, str]:
    """Returns the row of self-play with the evaluation cache, beside its moves without it."""
    ratio = None if without is None or positions_per_s is None else positions_per_s / without
    label = f"  with the evaluation cache, which answers {hits:.0%} of the rows"
    return label, _text(positions_per_s, ",.1f"), _text(ratio, ".2f")


def _text(rate: float | None, form: str) -> str:
    """Returns a number as text, a dash where there was nothing to count."""
    return "-" if rate is None else format(rate, form)


def _remarks(results: Mapping[str, Any]) -> str:
    """Returns what is no rate: shares of time, memory, and the time of a weight update."""
    play, megabyte = results["self_play"], 2**20
    parts = [
        f"of self-play's time {play['network_share']:.0%} is the network's",
        f"{play['batch_fill']:.0%} of the rows sent to it were asked for",
        f"a weight update takes {results['weight_update']['seconds']:.2f} s",
        f"a game in self-play takes {play['bytes_per_game'] / megabyte:.2f} MB",
    ]
    if "actors" in results:
        actors = results["actors"]
        parts.append(f"an actor takes {actors['bytes_per_actor'] / megabyte:,.0f} MB")
        if actors["gpu_share"] is not None:
            parts.append(f"all actors together keep the GPUs busy {actors['gpu_share']:.0%}")
    return "; ".join(parts)


def _make_parser() -> Parser:
    from scripts.overrides import GROUPS

    parser = hydra_parser(
        "bench",
        description=(
            "Measure speed: the rules, the search with a network that costs nothing, the bare\n"
            "network in every backend and precision, self-play, the trainer, and several actors\n"
            "against one. Random playouts are also OpenSpiel's where it is installed (the extra\n"
            f"`bench`). seconds=N is the time of each measurement (default {SECONDS:g}),\n"
            f"actors=N the number of actors compared with one (default {NUM_ACTORS}; 1 leaves\n"
            "the comparison out). All other options are those of `alphago train`."
        ),
        examples=(
            "alphago bench game=connect_four network=small",
            "alphago bench game=go_9x9 actors=1",
            "alphago bench network=medium evaluator.precision=fp32 seconds=1 actors=1 --json",
        ),
        usage="[seconds=N] [actors=N] [--json] [key=value ...]",
        groups=GROUPS,
        positional={},
        own_keys=OWN_KEYS,
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _check_keys(words: Sequence[str]) -> None:
    """Checks that no word is one of the bench's own keys, misspelt: composing knows only others.

    Raises:
        CommandLineError: if one is.
    """
    from scripts.overrides import is_key, known_keys

    for word in words:
        key = word.partition("=")[0]
        near = nearest(key, [*OWN_KEYS, *known_keys()])
        if not is_key(key) and near and near[0] in OWN_KEYS:
            raise CommandLineError(f"{key}: unknown key; nearest: {near[0]}")


def _compose(overrides: Sequence[str]) -> "RunConfig":
    from scripts.overrides import expand

    (job,) = expand(overrides, multirun=False)
    from scripts.composition import compose_config, to_run_config

    return to_run_config(compose_config(job))


def _compare_actors(
    sample: "SampleNetwork", *, num_actors: int, seconds: float
) -> dict[str, float | int | None]:
    """Measures one actor and several, each in a process of its own."""
    from scripts.ray_session import ray_session
    from scripts.speed.self_play import measure_actors
    from selfplay.resources import share_out

    config = sample.config
    num_gpus = share_out(config.selfplay, config.evaluator).num_gpus
    with ray_session(num_actors=num_actors, num_gpus=num_gpus):
        return measure_actors(sample, num_actors=num_actors, num_gpus=num_gpus, seconds=seconds)
