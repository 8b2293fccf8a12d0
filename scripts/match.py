"""`alphago match`: two players, many games from paired openings."""

import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scripts.arguments import CommandLineError, Parser, parse_words, read_number, seed_from
from scripts.match_report import describe_match
from scripts.players import PLAYER_HELP, make_players, refuse_people
from scripts.progress_bar import progress_bar

if TYPE_CHECKING:
    from alphago.games import Game
    from alphago.players import Player
    from eval.matches import MatchResult

NUM_GAMES = 40  # as in the gate
OPENING_PLIES = 4  # as in the gate
TIMEOUT_S = 60.0
KEYS = ("games", "opening_plies", "game", "seed", "sgf", "timeout")

_DAY_S = 86_400.0  # longer waits are a slip of the pen


class _Settings(NamedTuple):
    """The numbers of a match."""

    num_games: int
    num_plies: int  # of an opening
    timeout_s: float  # for a move of a GTP program
    seed: int


def main(argv: Sequence[str]) -> None:
    """Plays the match and prints its result."""
    arguments = _make_parser().parse(argv)
    texts = (arguments.first, arguments.second)
    _refuse_options(texts)
    values = parse_words(arguments.words, allowed=KEYS)
    settings = _read_settings(values)
    refuse_people(texts)
    from alphago.players.engine import EngineSettings
    from eval.match_sgf import prepare_folder
    from eval.matches import MatchBrokenOffError, MatchInterruptedError
    from selfplay.cpus import usable_cpus

    num_processes = min(usable_cpus(), settings.num_games)
    game, players = make_players(
        texts,
        game_name=values.get("game"),
        seed=settings.seed,
        engines=EngineSettings(timeout_s=settings.timeout_s, num_processes=num_processes),
    )
    folder = prepare_folder(Path(values["sgf"]), game) if "sgf" in values else None

    def report(result: "MatchResult") -> None:
        _report(result, game, num_plies=settings.num_plies, folder=folder, as_json=arguments.json)

    try:
        report(_play(game, players, settings))
    except (MatchInterruptedError, MatchBrokenOffError) as stop:
        num_games = 0 if stop.partial is None else len(stop.partial.games)
        how = "interrupted" if isinstance(stop, MatchInterruptedError) else "broken off"
        say = f"{how}: {num_games} of {settings.num_games} games had finished"
        if num_games or how == "interrupted":
            print(f"alphago match: {say}", file=sys.stderr)
        if stop.partial is not None:
            report(stop.partial)
        raise


def _play(game: "Game", players: "Sequence[Player]", settings: _Settings) -> "MatchResult":
    """Lets two players play the match."""
    from alphago.players.game_follower import GameFollower
    from eval.matches import play_match
    from eval.openings import paired_openings

    openings = paired_openings(
        game,
        num_pairs=settings.num_games // 2,
        num_plies=settings.num_plies,
        seed=settings.seed,
    )
    with progress_bar("games") as show, contextlib.ExitStack() as running:
        for player in players:
            if isinstance(player, GameFollower):
                running.callback(player.close)
        return play_match(
            game,
            players[0],
            players[1],
            openings=openings,
            # Games side by side end late, and all at once: the plies show that something goes on.
            progress=lambda done, total, num_plies: show(done, total, f"ply {num_plies}"),
        )


def _report(
    result: "MatchResult", game: "Game", *, num_plies: int, folder: Path | None, as_json: bool
) -> None:
    """Prints the result, after writing the games to the folder, if there is one."""
    from alphago.games import game_text
    from eval.match_sgf import write_match
    from eval.matches import match_summary

    if folder is not None:
        write_match(folder, game, result)
    if as_json:
        print(json.dumps({"game": game_text(game.spec), **match_summary(result)}))
    else:
        print(describe_match(result, game=game, num_plies=num_plies))


def _read_settings(values: Mapping[str, str]) -> _Settings:
    """Reads the numbers out of the words."""
    return _Settings(
        num_games=read_number(
            values,
            "games",
            kind=int,
            default=NUM_GAMES,
            allowed="an even integer of at least 2",
            check=lambda number: number >= 2 and number % 2 == 0,
        ),
        num_plies=read_number(
            values,
            "opening_plies",
            kind=int,
            default=OPENING_PLIES,
            allowed="an integer of at least 0",
            check=lambda number: number >= 0,
        ),
        timeout_s=read_number(
            values,
            "timeout",
            kind=float,
            default=TIMEOUT_S,
            allowed=f"seconds, above 0 and at most {_DAY_S:.0f}",
            check=lambda number: 0 < number <= _DAY_S,
        ),
        seed=seed_from(values),
    )


def _refuse_options(texts: Sequence[str]) -> None:
    """Checks that no option stands where a player should.

    Raises:
        CommandLineError: if one does.
    """
    for text in texts:
        key, equals, _ = text.partition("=")
        if equals and key.isidentifier() and not os.path.exists(text):
            raise CommandLineError(f"{text}: both players come before the options")


def _make_parser() -> Parser:
    parser = Parser(
        "match",
        description=(
            "Let two players play a match. Every random opening is played twice, with the sides\n"
            "swapped; the result is told from A's side, with a 95 % interval of the score.\n"
            "\n"
            "gtp:COMMAND LINE is any program that plays Go by GTP, looked for on PATH and in\n"
            "/usr/games. Who crashes, plays an illegal move, refuses a legal one, gives no move\n"
            "within `timeout` seconds or resigns has lost that game, and the report says so.\n"
            "\n"
            f"  games=N          number of games, even ({NUM_GAMES})\n"
            f"  opening_plies=N  random moves that each opening consists of ({OPENING_PLIES})\n"
            "  game=GAME        NAME[:key=value,...]; a run or checkpoint knows its own.\n"
            "                   With a GTP program the cap on moves is high, unless GAME\n"
            "                   says max_moves\n"
            "  seed=N           of the openings and of the players' random choices (0)\n"
            "  sgf=FOLDER       keeps every game of Go there as an SGF file\n"
            f"  timeout=SECONDS  the most that a move of a GTP program may take ({TIMEOUT_S:g})"
        ),
        examples=(
            "alphago match runs/first:simulations=100 alphabeta:depth=6 games=40",
            "alphago match minimax random game=tic_tac_toe games=100 opening_plies=2 --json",
            'alphago match runs/go "gtp:gnugo --mode gtp --level 10 --chinese-rules\n'
            '    --positional-superko --forbid-suicide --capture-all-dead" games=200 sgf=games',
        ),
        usage=(
            "A B [games=N] [opening_plies=N] [game=GAME] [seed=N] [sgf=FOLDER]"
            " [timeout=SECONDS] [--json]"
        ),
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
