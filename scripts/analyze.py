"""`alphago analyze`: what does a player think of a position, and how sure is it?"""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scripts.arguments import CommandLineError, Parser, parse_words, read_number, seed_from
from scripts.players import PLAYER_HELP, make_players, refuse_people

if TYPE_CHECKING:
    from alphago.games import Game
    from alphago.players import MoveAdvice, Player
    from alphago.types import States

KEYS = ("moves", "game", "seed", "top")
NUM_TOP = 10  # moves shown


class Analysis(NamedTuple):
    """What a player said, and what it took."""

    advice: "list[MoveAdvice]"  # all legal moves, the best first
    seconds: float

    @property
    def num_visits(self) -> int:
        """Playouts or simulations, all moves together; 0 of a player that counts none."""
        return sum(move.num_visits for move in self.advice)


def main(argv: Sequence[str]) -> None:
    """Analyses one position."""
    arguments = _make_parser().parse(argv)
    values = parse_words(arguments.words, allowed=KEYS)
    num_top = read_number(
        values,
        "top",
        kind=int,
        default=NUM_TOP,
        allowed="an integer of at least 1",
        check=lambda number: number >= 1,
    )
    refuse_people([arguments.player])
    game, (player,) = make_players(
        [arguments.player], game_name=values.get("game"), seed=seed_from(values)
    )
    from alphago.games.notation import format_moves, parse_moves, replay

    actions = parse_moves(game, values.get("moves", ""))
    states = replay(game, actions)
    analysis = analyse(player, states)
    if arguments.json:
        print(json.dumps(summary(game, player, format_moves(game, actions), analysis)))
        return
    print(draw(game, states))
    print(describe(player, analysis, num_top=num_top))


def draw(game: "Game", states: "States") -> str:
    """Returns a drawing of a position [1] that says whose move it is."""
    from alphago.games.line_game import STONES, LineGame

    board = game.render(states[0])
    if not isinstance(game, LineGame):
        return board  # a drawing of Go says it
    return f"{board}\n{STONES[int(game.to_play(states)[0])]} to play"


def analyse(player: "Player", states: "States") -> Analysis:
    """Asks a player about a position [1].

    Raises:
        CommandLineError: if it is one that does not explain itself.
        FinishedGameError: if the position is over.
    """
    from alphago.players import Advisor

    if not isinstance(player, Advisor):
        raise CommandLineError(
            f"{player.name}: only plays, and cannot tell what it thinks of moves"
        )
    started = time.perf_counter()
    (advice,) = player.analyse(states)
    return Analysis(advice, time.perf_counter() - started)


def describe(player: "Player", analysis: Analysis, *, num_top: int) -> str:
    """Returns the table of moves, and a line on what it took."""
    from alphago.players import advice_table

    num_visits = analysis.num_visits
    what = f", {num_visits:,} {_unit(player)}" if num_visits else ""
    return "\n".join(
        [
            f"{player.name}:",
            advice_table(analysis.advice, num_moves=num_top),
            f"{analysis.seconds:.2f} s{what}",
        ]
    )


def summary(game: "Game", player: "Player", moves: str, analysis: Analysis) -> dict[str, Any]:
    """Returns everything as plain data for JSON."""
    from alphago.games import game_text
    from alphago.players.advice import is_converged

    return {
        "game": game_text(game.spec),
        "player": player.name,
        "moves": moves,
        "seconds": analysis.seconds,
        "num_visits": analysis.num_visits,
        "first_share": analysis.advice[0].visit_share,
        "is_converged": is_converged(analysis.advice),
        "advice": [move._asdict() for move in analysis.advice],
    }


def _unit(player: "Player") -> str:
    """Returns what a player's visits are called."""
    from alphago.players.network_player import NetworkPlayer

    return "simulations" if isinstance(player, NetworkPlayer) else "playouts"


def _make_parser() -> Parser:
    parser = Parser(
        "analyze",
        description=(
            "Show what a player thinks of a position: the board, its best moves with their\n"
            "shares of the search's visits, win rates or values in the view of the side to\n"
            "move, how far the first move is ahead of the second, and what it took. A search\n"
            "is called converged where half as much of it again could not change the move, or\n"
            "where the lead in win rate is two standard errors; the move may still be a bad\n"
            "one. The first use of a game may compile its rules, which the time contains."
        ),
        examples=(
            'alphago analyze uct:playouts=20000 moves="E5 C3 G7" game=go_9x9',
            'alphago analyze runs/first:seconds=2 moves="4 4 3" top=3',
            "alphago analyze flat_mc game=connect_four --json",
        ),
        usage='PLAYER [moves="M M ..."] [game=GAME] [seed=N] [top=N] [--json]',
        keys=lambda: KEYS,
    )
    parser.add_argument("player", metavar="PLAYER", help=PLAYER_HELP)
    parser.add_argument(
        "words",
        nargs="*",
        default=[],
        metavar="key=value",
        help=(
            "moves (from the start, as players write them), game (a run or checkpoint knows its"
            f" own), seed, top (moves shown, {NUM_TOP} unless given)"
        ),
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all legal moves")
    return parser
