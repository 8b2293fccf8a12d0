"""`alphago bench`: the speed of rules, network, search and self-play on this machine."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scripts.arguments import (
    CommandLineError,
    Parser,
    nearest,
    parse_words,
    read_number,
    refuse_pairs,
)
from scripts.tables import format_table
from scripts.train import hydra_parser

if TYPE_CHECKING:
    from train.config import RunConfig

OWN_KEYS = ("seconds", "actors")  # everything else is an option of `alphago train`
SECONDS = 3.0  # per measurement
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
    results = measure(config, num_actors=num_actors, seconds=seconds)
    print(json.dumps(results) if arguments.json else describe(results))


def measure(config: "RunConfig", *, num_actors: int, seconds: float) -> dict[str, object]:
    """Measures everything, one after the other.

    Args:
        config: game, network, search and self-play.
        num_actors: actors to compare with one; 1 for no comparison.
        seconds: time of each measurement.

    Returns:
        Numbers by name, ready for JSON; rates are per second.
    """
    from alphago.games import make_game
    from scripts import measurements, openspiel

    game = make_game(config.game.text)
    rules = measurements.measure_rules(game, seconds=seconds)
    uct = measurements.measure_uct(game, seconds=seconds)
    weights = measurements.fresh_weights(config)
    network = measurements.measure_network(config, weights=weights, seconds=seconds)
    selfplay = measurements.measure_self_play(config, weights=weights, seconds=seconds)
    results: dict[str, object] = {
        "game": config.game.text,
        "batch": config.selfplay.num_games,
        "rules": rules,
        "openspiel": openspiel.remark(game) if openspiel.is_installed() else "not installed",
        "uct_playouts": uct,
        "network_evaluations": network,
        "selfplay_evaluations": selfplay.evaluations,
        "selfplay_evaluations_ratio": selfplay.evaluations / network,
        "selfplay_simulations": selfplay.simulations,
        "selfplay_simulations_ratio": selfplay.simulations / network,
    }
    for budget in measurements.SEARCH_SIMULATIONS:
        results[f"search_simulations_{budget}"] = measurements.measure_search(
            game, config.search, budget=budget, seconds=seconds
        )
    if num_actors > 1:
        results |= _compare_actors(config, num_actors=num_actors, seconds=seconds)
    return results


def describe(results: dict[str, object]) -> str:
    """Returns the results as a table."""
    rows = [("measured", "per second", "share of the bare network"), *_rules_rows(results)]
    for name, label in (
        ("uct_playouts", "UCT, playouts, one position at a time"),
        ("network_evaluations", f"bare network, evaluations in batches of {results['batch']}"),
        ("selfplay_evaluations", "self-play, evaluations"),
        ("selfplay_simulations", "self-play, simulations"),
        ("search_simulations_32", "search alone, simulations, 32 a move"),
        ("search_simulations_200", "search alone, simulations, 200 a move"),
        ("one_actor_simulations", "one actor, simulations"),
        ("actors_simulations", f"{results.get('num_actors')} actors, simulations"),
    ):
        if name in results:
            ratio = results.get(f"{name}_ratio")
            share = f"{ratio:.2f}" if isinstance(ratio, float) else ""
            rows.append((label, f"{results[name]:,.0f}", share))
    text = f"{results['game']}\n{format_table(rows)}"
    if "actors_ratio" in results:
        ratio = f"{results['actors_ratio']:.2f}"
        text += f"\n{results['num_actors']} actors do {ratio} times the work of one"
    return text


def _rules_rows(results: dict[str, object]) -> list[tuple[str, str, str]]:
    """Returns the table's rows about the rules."""
    rules, remark = results["rules"], results["openspiel"]
    assert isinstance(rules, dict)
    rows = [
        ("random playouts as UCT plays them", f"{rules['playouts_per_s']:,.0f}", ""),
        ("random playouts, actions equally likely", f"{rules['uniform_playouts_per_s']:,.0f}", ""),
    ]
    theirs = rules.get("openspiel_playouts_per_s")
    label = "  the same, OpenSpiel (C++)" + f": {remark}" * bool(remark)
    rows.append((label, "-" if theirs is None else f"{theirs:,.0f}", ""))
    for name, label in (("legal_actions_us", "legal actions"), ("step_us", "steps")):
        microseconds = rules[name]
        rows.append((f"{label}, {microseconds:.2f} µs each", f"{1e6 / microseconds:,.0f}", ""))
    return rows


def _make_parser() -> Parser:
    from scripts.overrides import GROUPS

    parser = hydra_parser(
        "bench",
        description=(
            "Measure speed: the rules, the bare network, self-play with it, the search with a\n"
            "network that costs nothing, and several actors against one. Random playouts are also\n"
            "OpenSpiel's where it is installed (the extra `bench`). seconds=N is the time of each\n"
            f"measurement (default {SECONDS:g}), actors=N the number of actors compared with one\n"
            f"(default {NUM_ACTORS}; 1 leaves the comparison out). All other options are those of\n"
            "`alphago train`."
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


def _compare_actors(config: "RunConfig", *, num_actors: int, seconds: float) -> dict[str, object]:
    """Measures one actor and several, each in a process of its own."""
    from scripts import measurements
    from scripts.ray_session import ray_session

    weights = measurements.fresh_weights(config)
    with ray_session(num_actors=num_actors):
        one, several = (
            measurements.measure_actors(config, num_actors=number, weights=weights, seconds=seconds)
            for number in (1, num_actors)
        )
    return {
        "num_actors": num_actors,
        "one_actor_simulations": one.simulations,
        "actors_simulations": several.simulations,
        "actors_ratio": several.simulations / one.simulations,
    }
