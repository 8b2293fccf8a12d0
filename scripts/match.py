"""`alphago match`: two players, many games from paired openings."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scripts.arguments import Parser, parse_words, read_number, seed_from
from scripts.players import make_players, refuse_people
from scripts.progress_bar import progress_bar

if TYPE_CHECKING:
    from eval.matches import MatchResult, Tally

NUM_GAMES = 40  # as in the gate
OPENING_PLIES = 4  # as in the gate
KEYS = ("games", "opening_plies", "game", "seed")


def main(argv: Sequence[str]) -> None:
    """Plays the match and prints its result."""
    arguments = _make_parser().parse(argv)
    values = parse_words(arguments.words, allowed=KEYS)
    num_games = read_number(
        values,
        "games",
        kind=int,
        default=NUM_GAMES,
        allowed="an even integer of at least 2",
        check=lambda number: number >= 2 and number % 2 == 0,
    )
    num_plies = read_number(
        values,
        "opening_plies",
        kind=int,
        default=OPENING_PLIES,
        allowed="an integer of at least 0",
        check=lambda number: number >= 0,
    )
    seed = seed_from(values)
    texts = (arguments.first, arguments.second)
    refuse_people(texts)
    game, players = make_players(texts, game_name=values.get("game"), seed=seed)
    from eval.matches import match_summary, play_match
    from eval.openings import paired_openings

    openings = paired_openings(game, num_pairs=num_games // 2, num_plies=num_plies, seed=seed)
    with progress_bar("games") as progress:
        result = play_match(game, players[0], players[1], openings=openings, progress=progress)
    if arguments.json:
        print(json.dumps({"game": game.spec.name, **match_summary(result)}))
    else:
        print(describe_match(result, game_name=game.spec.name, num_plies=num_plies))


def describe_match(result: "MatchResult", *, game_name: str, num_plies: int) -> str:
    """Returns the result as lines of text.

    Args:
        result: the result.
        game_name: the game.
        num_plies: random plies of each opening.
    """
    low, high = result.interval
    return "\n".join(
        (
            f"{game_name}: {result.first} against {result.second}",
            f"  moving first   {_describe_tally(result.as_player_0)}",
            f"  moving second  {_describe_tally(result.as_player_1)}",
            f"  all            {_describe_tally(result.total)}",
            f"  score {result.score:.1%}, 95 % interval {low:.1%} to {high:.1%}",
            f"  {len(result.games)} games, {result.num_distinct_games} distinct (from {num_plies}"
            " random opening plies, each opening played from both sides)",
        )
    )


def _make_parser() -> Parser:
    parser = Parser(
        "match",
        description=(
            "Let two players play a match. Every random opening is played twice, with the sides\n"
            "swapped; the result is told from A's side, with a 95 % interval of the score."
        ),
        examples=(
            "alphago match runs/first:simulations=100 alphabeta:depth=6 games=40",
            "alphago match minimax random game=tic_tac_toe games=100 opening_plies=2 --json",
        ),
        usage="A B [games=N] [opening_plies=N] [game=GAME] [seed=N] [--json]",
        keys=lambda: KEYS,
    )
    parser.add_argument("first", metavar="A", help="a player, KIND_OR_PATH[:key=value,...]")
    parser.add_argument("second", metavar="B", help="its opponent")
    parser.add_argument(
        "words", nargs="*", default=[], metavar="key=value", help="games, opening_plies, ..."
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _describe_tally(tally: "Tally") -> str:
    return f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost"
