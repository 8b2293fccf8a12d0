"""`alphago rate`: the ladder of a run's checkpoints against players that do not change."""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from alphago.errors import AlphagoError, CheckpointError
from scripts.arguments import CommandLineError, Parser, parse_words, read_number
from scripts.ratings.report import (
    describe_anchors,
    describe_forfeits,
    describe_ladder,
    describe_newest,
)
from scripts.ratings.setup import (
    NUM_GAMES,
    begin,
    choose_ladder,
    choose_settings,
    ladder_rounds,
    open_store,
)

if TYPE_CHECKING:
    from scripts.ratings.checkpoints import HeldCheckpoints
    from scripts.ratings.rounds import LadderRounds

NUM_CHECKPOINTS = 12
RATINGS_FOLDER = "ratings"  # in the folder of a run
SIMULATIONS = 100  # of a checkpoint, per move: equal for all runs, so that ratings can be compared
KEYS = ("games", "simulations", "ladder", "every", "checkpoints", "workers", "seed", "game")

_ANCHOR_REACH = 2  # an anchor that is measured plays so many of those before it
_POLL_S = 10.0  # between two looks at a run that is watched
_NICENESS = 10  # of a rating beside a run that trains: it takes what the run leaves of the CPUs


class Choice(NamedTuple):
    """Which checkpoints are rated: about so many, or those so many steps apart."""

    num: int
    every: int | None


def main(argv: Sequence[str]) -> None:
    """Rates a run, or measures the anchors of a game."""
    # Before NumPy is imported: threads that share the small matrices of ratings wait for each other
    # beside a run that trains, a hundred times as long as they work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    arguments = _make_parser().parse(argv)
    run, words = _split_words(arguments.words)
    values = parse_words(words, allowed=KEYS)
    choice = _read_choice(values)
    num_workers = _read_workers(values)
    if run is None:
        refused = [key for key in ("simulations", "every", "checkpoints") if key in values]
        if "game" not in values or refused or arguments.watch:
            what = "its anchors; these take games, ladder, workers and seed"
            raise CommandLineError(f"name a run to rate, or game=GAME to measure {what}")
        measure_anchors(values, num_workers=num_workers, as_json=arguments.json)
        return
    if "game" in values:
        raise CommandLineError("game: a run has its own; without a run it measures anchors")
    rate_run(
        run,
        values,
        choice,
        num_workers=num_workers,
        watch=arguments.watch,
        as_json=arguments.json,
    )


def rate_run(
    run: Path,
    values: Mapping[str, str],
    choice: Choice,
    *,
    num_workers: int,
    watch: bool,
    as_json: bool,
) -> None:
    """Rates the checkpoints of a run and prints the ladder, also when it is interrupted."""
    from scripts.ratings.checkpoints import game_of_run, held_checkpoints
    from scripts.run_folder import check_is_run
    from train.run_folder import is_in_use

    check_is_run(run)
    _wait_for_a_checkpoint(run, watch=watch)
    if is_in_use(run):
        os.nice(_NICENESS)
    elif watch:
        print(f"alphago rate: nobody trains {run}: rates what is there, and ends", file=sys.stderr)
    with open_store(run / RATINGS_FOLDER) as store:
        ladder = choose_ladder(values, store, game_of_run(run))
        settings = choose_settings(
            values, store, ladder, game=game_of_run(run), simulations=SIMULATIONS
        )
        anchors, left_out = begin(store, settings, ladder)
        with (
            ladder_rounds(store, settings, anchors, num_workers=num_workers) as rounds,
            held_checkpoints(run, store.folder) as held,
        ):

            def report() -> None:
                if store.parts:
                    rounds.write_ratings()
                    _write_curves(run, rounds)
                    _print_ladder(rounds, left_out=left_out, as_json=as_json)

            with _reported(report, as_json=as_json):
                _climb(run, rounds, held, choice=choice, watch=watch, as_json=as_json)


@contextlib.contextmanager
def _reported(report: Callable[[], None], *, as_json: bool) -> Iterator[None]:
    """Reports when the block ends, also by Ctrl-C.

    After an error it is the error that counts: no JSON passes for a whole ladder, and the report
    has no error of its own, of the same full disk.
    """
    try:
        yield
    except AlphagoError:
        if not as_json:
            with contextlib.suppress(AlphagoError):
                report()
        raise
    except KeyboardInterrupt:
        report()
        raise
    report()


def _climb(
    run: Path,
    rounds: "LadderRounds",
    held: "HeldCheckpoints",
    *,
    choice: Choice,
    watch: bool,
    as_json: bool,
) -> None:
    """Rates the checkpoints there are; when watching, until the run has ended."""
    from scripts.ratings.checkpoints import steps_of_run
    from train.run_folder import is_in_use

    while True:
        goes_on = watch and is_in_use(run)
        before = rounds.summary()
        steps, best = steps_of_run(run)
        chosen = chosen_steps(steps, best, choice, rated=_rated_steps(rounds), goes_on=goes_on)
        gone = _hold(held, chosen)
        if not held.facts and not gone and not goes_on:
            raise CheckpointError(f"{run}: all {len(steps)} checkpoints are broken")
        if held.facts:
            simulations = rounds.settings.simulations or 0
            texts = {player: held.text(player, simulations=simulations) for player in held.facts}
            rounds.climb(texts, held.facts)
        if not goes_on:
            return
        if rounds.summary() is not before:
            _write_curves(run, rounds)
            if not as_json:
                print(describe_newest(rounds.summary()), flush=True)
        while not gone and is_in_use(run) and steps_of_run(run)[0] == steps:
            time.sleep(_POLL_S)


def _hold(held: "HeldCheckpoints", steps: Sequence[int]) -> bool:
    """Holds checkpoints; tells whether one was removed before it could be held."""
    known = {facts.step for facts in held.facts.values()} | held.broken
    return not all([held.hold(step) for step in steps if step not in known])


def _rated_steps(rounds: "LadderRounds") -> set[int]:
    return {facts.step for facts in rounds.summary().facts.values()}


def chosen_steps(
    steps: Sequence[int], best: int | None, choice: Choice, *, rated: set[int], goes_on: bool
) -> list[int]:
    """Returns the steps of the checkpoints to rate: those that were, and new ones.

    Of a run that goes on the newest is left for later until it is far enough from the last one
    rated: else every checkpoint would be rated, each being the newest at some time.
    """
    from eval.ladder import spread_steps, steps_every

    if goes_on and rated and steps:
        first, newest = min(steps[0], *rated), steps[-1]
        interval = (newest - first) / choice.num if choice.every is None else choice.every
        if newest < max(rated) + interval:
            return sorted(rated & set(steps))
    chosen = rated if best is None or goes_on else rated | {best}
    if choice.every is not None:
        return steps_every(steps, interval=choice.every, chosen=chosen)
    return spread_steps(steps, num=choice.num, chosen=chosen)


def measure_anchors(values: Mapping[str, str], *, num_workers: int, as_json: bool) -> None:
    """Lets the anchors of a game play each other, and prints them as a ladder's file has them."""
    from alphago.games import game_text, make_game
    from eval.ladder_files import without_ratings
    from scripts.run_folder import RUNS

    game = make_game(values["game"])
    folder = RUNS / f"ladder-{game.spec.name}"
    with open_store(folder) as store:
        text = game_text(game.spec)
        ladder = without_ratings(choose_ladder(values, store, text))
        settings = choose_settings(values, store, ladder, game=text, simulations=None)
        anchors, left_out = begin(store, settings, ladder)
        with ladder_rounds(store, settings, anchors, num_workers=num_workers) as rounds:

            def report() -> None:
                print(f"results: {folder}", file=sys.stderr)
                for anchor in left_out:
                    print(f"left out, not installed: {anchor}", file=sys.stderr)
                if store.parts:
                    rounds.write_ratings()
                    _print_anchors(rounds, as_json=as_json)

            with _reported(report, as_json=as_json):
                rounds.play_anchors(reach=_ANCHOR_REACH)


def _wait_for_a_checkpoint(run: Path, *, watch: bool) -> None:
    """Waits, when watching, for the first checkpoint of a run that has just begun."""
    from scripts.ratings.checkpoints import steps_of_run
    from train.run_folder import is_in_use

    while watch and is_in_use(run) and not steps_of_run(run)[0]:
        time.sleep(_POLL_S)


def _write_curves(run: Path, rounds: "LadderRounds") -> None:
    """Writes the curves of the ratings for TensorBoard."""
    from train.metrics import RatedCheckpoint, write_rating_curves

    summary = rounds.summary()
    fallen = {fall.checkpoint for fall in summary.falls}
    write_rating_curves(
        run,
        [
            RatedCheckpoint(
                **facts._asdict(),
                elo=rating.elo,
                low=rating.low,
                high=rating.high,
                has_fallen=rating.player in fallen,
            )
            for facts, rating in summary.rated
        ],
    )


def _print_ladder(rounds: "LadderRounds", *, left_out: Sequence[str], as_json: bool) -> None:
    from eval.rating_summary import summary_json

    summary = rounds.summary()
    if as_json:
        print(json.dumps(summary_json(summary)))
    else:
        print(describe_ladder(summary, left_out=left_out))


def _print_anchors(rounds: "LadderRounds", *, as_json: bool) -> None:
    from eval.rating_summary import summary_json

    summary = rounds.summary()
    for line in describe_forfeits(summary):
        print(line, file=sys.stderr)
    print(json.dumps(summary_json(summary)) if as_json else describe_anchors(summary))


def _split_words(words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Returns the run, which comes before the options or behind them, and the options."""
    runs = [word for word in words if not _is_option(word)]
    if len(runs) > 1:
        raise CommandLineError(f"{runs[1]}: only one run is rated at a time")
    options = [word for word in words if word not in runs]
    return (Path(runs[0]) if runs else None), options


def _is_option(word: str) -> bool:
    """Tells whether a word is `key=value`, be the key misspelt, and no folder of this name."""
    key, equals, _ = word.partition("=")
    return key in KEYS or (equals == "=" and key.isidentifier() and not os.path.exists(word))


def _read_choice(values: Mapping[str, str]) -> Choice:
    """Reads which checkpoints are to be rated."""
    if {"every", "checkpoints"} <= values.keys():
        raise CommandLineError("every, checkpoints: say one of them")
    return Choice(
        num=_read_count(values, "checkpoints", default=NUM_CHECKPOINTS, at_least=2),
        every=_read_count(values, "every", default=1) if "every" in values else None,
    )


def _read_workers(values: Mapping[str, str]) -> int:
    from selfplay.cpus import usable_cpus

    return _read_count(values, "workers", default=usable_cpus())


def _read_count(values: Mapping[str, str], key: str, *, default: int, at_least: int = 1) -> int:
    """Reads an integer of at least 1 or so."""
    return read_number(
        values,
        key,
        kind=int,
        default=default,
        allowed=f"an integer of at least {at_least}",
        check=lambda number: number >= at_least,
    )


def _make_parser() -> Parser:
    parser = Parser(
        "rate",
        description=(
            "Rate the checkpoints of a run in Elo against anchors: players that do not change,\n"
            "with fixed ratings where the game has a ladder of its own. Every checkpoint plays\n"
            "those that tell most about it. Results are kept in RUN/ratings: whoever stops with\n"
            "Ctrl-C goes on with the same command, and after more training only what is missing\n"
            "is played. Without a run, game=GAME measures the anchors themselves.\n"
            "\n"
            "options:\n"
            f"  games=N          of a match, from N/2 openings ({NUM_GAMES})\n"
            f"  simulations=N    of a checkpoint, per move ({SIMULATIONS})\n"
            "  ladder=FILE      anchors: a YAML file, or the name of one of configs/ladders\n"
            f"  checkpoints=N    rate about so many, spread over the run ({NUM_CHECKPOINTS})\n"
            "  every=N          or those at least N optimiser steps apart\n"
            "  workers=N        matches that are played at a time (all usable CPUs)\n"
            "  seed=N           of openings and of the players' random choices (0)\n"
            "  --watch          wait for new checkpoints until the run ends, and rate one\n"
            "                   that is `every` steps, or 1/N of the run so far, beyond the last"
        ),
        examples=(
            "alphago rate runs/first",
            "alphago rate runs/first simulations=400 games=40 checkpoints=8 --watch",
            "alphago rate game=connect_four games=100",
        ),
        usage="RUN | game=GAME [key=value ...] [--watch] [--json]",
        keys=lambda: KEYS,
    )
    parser.add_argument("words", nargs="*", default=[], metavar="RUN", help="folder of the run")
    parser.add_argument("--watch", action="store_true", help="wait for new checkpoints")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser
