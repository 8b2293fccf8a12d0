"""`python -m scripts.scale`: how many games a second one run takes in, and how many GPUs that is.

Games are ready-made. What is measured is all that the process at the centre of a run does with
them: fetch, store, replay into the window, show. First alone, as fast as it can; then with actors
that sleep in place of search and network, below that rate and beyond it, where they have to wait.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from alphago.errors import AlphagoError
from scripts.arguments import Parser, one_line, parse_words, read_number
from scripts.main import EXIT_INTERRUPTED, EXIT_OK, EXIT_WRONG_INPUT
from scripts.overrides import expand, known_keys
from scripts.tables import format_table

if TYPE_CHECKING:
    from scripts.speed.take_in import Offered, RunAtRest
    from selfplay.records import GameRecord
    from train.config import RunConfig

PROGRAM = "python -m scripts.scale"
OWN_KEYS = ("seconds", "actors", "gpu")
SECONDS = 10.0  # per measurement
NUM_ACTORS = 64
GPU = 40_000.0  # evaluations per second; measure yours with `alphago bench`
REPORTS = (1, 8, 64)  # that have arrived when the run looks
OFFERED = (0.5, 1.0, 2.0)  # what actors offer, as a share of what can be taken in


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program.

    Args:
        argv: the words of the command line; those of the process if None.

    Returns:
        The exit code: 0, 2 for wrong input, 130 after Ctrl-C.
    """
    try:
        arguments = _make_parser().parse(sys.argv[1:] if argv is None else argv)
        own = [word for word in arguments.words if word.partition("=")[0] in OWN_KEYS]
        values = parse_words(own, allowed=OWN_KEYS)
        config = _compose([word for word in arguments.words if word not in own])
        results = measure(
            config,
            num_actors=int(_read(values, "actors", default=NUM_ACTORS)),
            seconds=_read(values, "seconds", default=SECONDS),
            gpu=_read(values, "gpu", default=GPU),
        )
    except AlphagoError as error:
        print(f"{PROGRAM}: error: {one_line(error)}", file=sys.stderr)
        return EXIT_WRONG_INPUT
    except SystemExit:  # of --help
        return EXIT_OK
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return EXIT_INTERRUPTED
    print(json.dumps(results) if arguments.json else describe(results))
    return EXIT_OK


def measure(config: "RunConfig", *, num_actors: int, seconds: float, gpu: float) -> dict[str, Any]:
    """Measures both, one after the other.

    Args:
        config: of the run; its game, replay window and `selfplay.games_per_call` matter.
        num_actors: actors that sleep.
        seconds: time of each measurement.
        gpu: evaluations per second of one GPU, to tell how many GPUs can be taken in.

    Returns:
        Numbers by name, ready for JSON.
    """
    from scripts.machine import describe_machine
    from scripts.speed import take_in

    with take_in.run_at_rest(config) as run:
        records = take_in.sample_records(run.session.game, config)
        alone = [
            take_in.measure_take_in(run, records, num_reports=number, seconds=seconds)
            for number in REPORTS
        ]
        most = max(each.games_per_s for each in alone)
        offers = [share * most for share in OFFERED]
        beside = _measure_offers(run, records, offers, num_actors=num_actors, seconds=seconds)
    num_moves = sum(len(record.actions) for record in records) / len(records)
    num_evaluations = num_moves * take_in.simulations_per_move(config)
    return {
        "machine": describe_machine(),
        "game": config.game.text,
        "actors": num_actors,
        "moves_per_game": num_moves,
        "evaluations_per_game": num_evaluations,
        "alone": [asdict(each) for each in alone],
        "with_actors": [asdict(each) for each in beside],
        "games_per_s": most,
        "evaluations_per_s": most * num_evaluations,
        "gpu_evaluations_per_s": gpu,
        "gpus": most * num_evaluations / gpu,
    }


def _measure_offers(
    run: "RunAtRest",
    records: "Sequence[GameRecord]",
    offers: Sequence[float],
    *,
    num_actors: int,
    seconds: float,
) -> "list[Offered]":
    """Lets actors offer ever more games a second."""
    from scripts.ray_session import ray_session
    from scripts.speed import take_in

    with ray_session(num_actors=num_actors):
        return [
            take_in.measure_offered(
                run,
                take_in.sleeping_setup(
                    run.session.setup, records, games_per_s=games_per_s / num_actors
                ),
                num_actors=num_actors,
                seconds=seconds,
            )
            for games_per_s in offers
        ]


def describe(results: dict[str, Any]) -> str:
    """Returns the results for people."""
    alone = [("reports at a look", "games/s", "share of storing", "bytes per game")]
    alone += [
        (
            str(each["num_reports"]),
            f"{each['games_per_s']:,.0f}",
            f"{each['store_share']:.0%}",
            f"{each['bytes_per_game']:,.0f}",
        )
        for each in results["alone"]
    ]
    beside = [("offered games/s", "taken in", "busy", "reports waiting", "at most", "growth")]
    beside += [
        (
            f"{each['offered_per_s']:,.0f}",
            f"{each['games_per_s']:,.0f}",
            f"{each['busy_share']:.0%}",
            str(each["most_waiting"]),
            str(each["bound"]),
            f"{each['growth_mb']:.1f} MB",
        )
        for each in results["with_actors"]
    ]
    return "\n".join(
        [
            f"{results['game']}, {results['moves_per_game']:.0f} moves and"
            f" {results['evaluations_per_game']:,.0f} evaluations a game",
            "",
            format_table(alone),
            "",
            f"with {results['actors']} actors:",
            format_table(beside),
            "",
            f"saturated at {results['games_per_s']:,.0f} games/s, which is"
            f" {results['evaluations_per_s']:,.0f} evaluations/s:"
            f" {results['gpus']:,.1f} GPUs of {results['gpu_evaluations_per_s']:,.0f}",
        ]
    )


def _compose(overrides: Sequence[str]) -> "RunConfig":
    """Returns the run that overrides describe."""
    from scripts.composition import compose_config, to_run_config

    (job,) = expand(list(overrides), multirun=False)
    return to_run_config(compose_config(job))


def _read(values: Mapping[str, str], key: str, *, default: float) -> float:
    """Reads a number above 0."""
    return read_number(
        values,
        key,
        kind=float,
        default=float(default),
        allowed="a number of at least 1, at most 1e9",
        check=lambda number: 1 <= number <= 1e9,
    )


def _make_parser() -> Parser:
    parser = Parser(
        "scale",
        description=(
            "Measure how many games a second one run can take in: store, replay and show. First\n"
            "alone, then from actors that sleep in place of search and network, about 150 MB of\n"
            "memory each.\n\n"
            f"  seconds=N  of each measurement (default {SECONDS:g})\n"
            f"  actors=N   that sleep (default {NUM_ACTORS})\n"
            f"  gpu=N      evaluations per second of one GPU (default {GPU:,.0f})\n"
            "  key=value  an option of `alphago train`"
        ),
        examples=(PROGRAM, f"{PROGRAM} game=tic_tac_toe actors=8 --json"),
        usage="",
        keys=lambda: [*OWN_KEYS, *known_keys()],
    )
    parser.prog = PROGRAM
    parser.usage = f"{PROGRAM} [--json] [key=value ...]"
    parser.add_argument("words", nargs="*", metavar="key=value", help="see above")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
