"""`alphago match`: two players, many games from paired openings."""

import contextlib
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from alphago.errors import AlphagoError
from scripts.arguments import CommandLineError, Parser, parse_words
from scripts.matches.report import describe_match, summarise_verdict
from scripts.matches.settings import (
    ALPHA,
    BETA,
    ELO0,
    ELO1,
    KEYS,
    MOST_GAMES,
    NUM_GAMES,
    OPENING_PLIES,
    TIMEOUT_S,
    MatchSettings,
    read_settings,
)
from scripts.players import PLAYER_HELP, choose_game, is_option, refuse_people
from scripts.progress_bar import progress_bar

if TYPE_CHECKING:
    from alphago.games import Game
    from eval.matches import MatchResult
    from scripts.matches.play import MatchPlan
    from scripts.matches.players import MatchPlayer
    from scripts.matches.so_far import MatchSoFar
    from scripts.workers import MatchWorker


def main(argv: Sequence[str]) -> None:
    """Plays the match and prints its result."""
    arguments = _make_parser().parse(argv)
    texts = (arguments.first, arguments.second)
    _refuse_options(texts)
    values = parse_words(arguments.words, allowed=KEYS)
    settings = read_settings(values)
    refuse_people(texts)
    from scripts.matches.players import find_player
    from scripts.matches.so_far import MatchSoFar
    from scripts.workers import MatchWorker
    from selfplay.cpus import usable_cpus

    players = (find_player(arguments.first), find_player(arguments.second))
    game = choose_game([player.text for player in players], game_name=values.get("game"))
    with contextlib.closing(MatchWorker(num_processes=usable_cpus())) as worker:
        plan = _plan(game, players, settings, worker=worker)
        so_far = MatchSoFar(settings.test)
        try:
            _play(plan, game, settings, so_far, worker=worker)
        except (KeyboardInterrupt, AlphagoError) as stop:
            _report_stop(stop, plan, game, settings, so_far, as_json=arguments.json)
            raise
        _report(plan, game, settings, so_far, as_json=arguments.json)


def _plan(
    game: "Game",
    players: "tuple[MatchPlayer, MatchPlayer]",
    settings: MatchSettings,
    *,
    worker: "MatchWorker",
) -> "MatchPlan":
    """Makes the players and the openings, so that what is wrong shows before a file is made."""
    from alphago.games import game_text
    from eval.match_plan import plan_match
    from scripts.matches.play import MatchPlan, draw_openings

    text, (first, second) = game_text(game.spec), players
    made = worker.players(
        text,
        (first.text, second.text),
        names=(first.typed, second.typed),
        networks=(first.network, second.network),
        timeout_s=settings.timeout_s,
    )
    openings = draw_openings(game, made, settings)
    return MatchPlan(
        game=text,
        players=players,
        parts=plan_match(openings, seed=settings.seed),
        timeout_s=settings.timeout_s,
    )


def _play(
    plan: "MatchPlan",
    game: "Game",
    settings: MatchSettings,
    so_far: "MatchSoFar",
    *,
    worker: "MatchWorker",
) -> None:
    """Plays the match; enters each part that has finished, those of earlier sittings too."""
    from eval.match_results import ResultsFile
    from eval.match_sgf import prepare_folder
    from scripts.matches.play import match_header, play_missing

    with contextlib.ExitStack() as stack:
        file = None
        if settings.results is not None:
            header = match_header(plan, settings)
            file = stack.enter_context(ResultsFile(settings.results, header, planned=plan.parts))
            for number in sorted(file.parts):
                so_far.add(number, file.parts[number])
        if settings.sgf_folder is not None:
            goes_on = file is not None and not file.is_new
            prepare_folder(settings.sgf_folder, game, goes_on=goes_on)
        if file is not None:
            file.begin()
        num_known = so_far.num_games
        play_missing(
            plan,
            so_far,
            num_workers=settings.num_workers,
            here=worker,
            store=None if file is None else file.add,
            show=stack.enter_context(progress_bar("games")),
        )
    if so_far.num_games == num_known:
        print(f"alphago match: all games were in {settings.results}", file=sys.stderr)


def _report_stop(
    stop: BaseException,
    plan: "MatchPlan",
    game: "Game",
    settings: MatchSettings,
    so_far: "MatchSoFar",
    *,
    as_json: bool,
) -> None:
    """Reports the games that had finished when the match was stopped or broke off."""
    from eval.matches import MatchBrokenOffError, MatchInterruptedError

    partial = None
    if isinstance(stop, (MatchBrokenOffError, MatchInterruptedError)):
        partial = stop.partial
    result = so_far.result(partial)
    num_games = 0 if result is None else len(result.games)
    was_interrupted = isinstance(stop, KeyboardInterrupt)
    how = "interrupted" if was_interrupted else "broken off"
    if num_games or was_interrupted:
        say = f"{how}: {num_games} of {plan.num_games} games had finished"
        print(f"alphago match: {say}", file=sys.stderr)
    if result is not None:
        _report(plan, game, settings, so_far, partial=partial, as_json=as_json)


def _report(
    plan: "MatchPlan",
    game: "Game",
    settings: MatchSettings,
    so_far: "MatchSoFar",
    *,
    partial: "MatchResult | None" = None,
    as_json: bool,
) -> None:
    """Prints the result, after writing the games to the folder, if there is one."""
    from eval.match_sgf import write_match
    from eval.match_summary import match_summary

    result, verdict = so_far.result(partial), so_far.verdict
    assert result is not None, "nothing to report"
    if settings.sgf_folder is not None:
        write_match(settings.sgf_folder, game, result, num_games=plan.num_games)
    if as_json:
        content = {
            "game": plan.game,
            "openings": settings.openings,
            "num_planned": plan.num_games,
            **match_summary(result),
            "sprt": None if verdict is None else summarise_verdict(verdict),
        }
        print(json.dumps(content))
    else:
        print(describe_match(result, game=game, settings=settings, verdict=verdict))


def _refuse_options(texts: Sequence[str]) -> None:
    """Checks that no option stands where a player should.

    Raises:
        CommandLineError: if one does.
    """
    for text in texts:
        if is_option(text):
            raise CommandLineError(f"{text}: both players come before the options")


def _make_parser() -> Parser:
    parser = Parser(
        "match",
        description=(
            "Let two players play a match. Every opening is played twice, with the sides swapped;\n"
            "the result is told from A's side, with a 95 % interval of the score.\n"
            "\n"
            "gtp:COMMAND LINE is any program that plays Go by GTP, looked for on PATH and in\n"
            "/usr/games. Who crashes, plays an illegal move, refuses a legal one, gives no move\n"
            "within `timeout` seconds or resigns has lost that game, and the report says so.\n"
            "\n"
            f"  games=N          number of games, even ({NUM_GAMES}; with a test at most"
            f" {MOST_GAMES}; with a file\n"
            "                   two for each of its openings)\n"
            "  openings=...     random (default); policy, drawn from the policy of the first\n"
            "                   player that is a network; or a FILE, one opening in each line\n"
            f"  opening_plies=N  moves of an opening that is not from a file ({OPENING_PLIES})\n"
            "  game=GAME        NAME[:key=value,...]; a run or checkpoint knows its own.\n"
            "                   With a GTP program the cap on moves is high, unless GAME\n"
            "                   says max_moves\n"
            "  seed=N           of the openings and of the players' random choices (0)\n"
            "  workers=N        processes that play; the result does not depend on it (1)\n"
            "  results=FILE     keeps what has been played; the same command again goes on\n"
            "  sgf=FOLDER       keeps every game of Go there as an SGF file\n"
            f"  timeout=SECONDS  the most that a move of a GTP program may take ({TIMEOUT_S:g})\n"
            "\n"
            "elo0 or elo1 turn on a sequential test (SPRT), which ends the match as soon as it is\n"
            "plain whether A is stronger than B by elo0 (H0) or by elo1 (H1):\n"
            "\n"
            f"  elo0=ELO, elo1=ELO      ({ELO0:g}, {ELO1:g})\n"
            f"  alpha=P, beta=P         how often it may accept H1, or H0, wrongly ({ALPHA:g},"
            f" {BETA:g})"
        ),
        examples=(
            "alphago match runs/first:simulations=100 alphabeta:depth=6 games=40",
            "alphago match minimax random game=tic_tac_toe games=100 opening_plies=2 --json",
            "alphago match runs/a runs/b elo1=35 games=2000 workers=2 results=a_against_b.jsonl",
            'alphago match runs/go "gtp:gnugo --mode gtp --level 10 --chinese-rules\n'
            '    --positional-superko --forbid-suicide --capture-all-dead" games=200 sgf=games',
        ),
        usage="A B [key=value ...] [--json]",
        keys=lambda: KEYS,
    )
    parser.add_argument("first", metavar="A", help=PLAYER_HELP)
    parser.add_argument("second", metavar="B", help="its opponent")
    parser.add_argument(
        "words",
        nargs="*",
        default=[],
        metavar="key=value",
        help="options, after both players",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser
