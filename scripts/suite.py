"""`alphago suite`: how often does a player choose one of the best moves of a file of positions?"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import configs
from scripts.arguments import Parser, parse_words, seed_from
from scripts.players import PLAYER_HELP, make_players, refuse_people

if TYPE_CHECKING:
    from eval.suites import Accuracy

KEYS = ("game", "seed")


def main(argv: Sequence[str]) -> None:
    """Runs the suite and prints the shares."""
    parser = Parser(
        "suite",
        description=(
            "Measure a player on a JSON file of positions, or on a suite of the project\n"
            f"({', '.join(shipped_suites())}): the share of decisive positions in which it\n"
            "chooses one of the best moves, with a 95 % interval, by raw policy and by search."
        ),
        examples=(
            "alphago suite runs/first:simulations=200 connect_four",
            "alphago suite alphabeta:depth=4 positions.json game=connect_four --json",
        ),
        usage="PLAYER FILE [game=GAME] [seed=N] [--json]",
        keys=lambda: KEYS,
    )
    parser.add_argument("player", metavar="PLAYER", help=PLAYER_HELP)
    parser.add_argument("file", metavar="FILE", help="a JSON file or the name of a suite")
    parser.add_argument("words", nargs="*", default=[], metavar="key=value", help="game, seed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse(argv)
    values = parse_words(arguments.words, allowed=KEYS)
    seed = seed_from(values)
    refuse_people([arguments.player])
    from eval.suites import game_of_suite, load_suite, run_suite, suite_summary

    game, players = make_players(
        [arguments.player],
        game_name=values.get("game"),
        seed=seed,
        other_name=game_of_suite(arguments.file),
    )
    result = run_suite(players[0], load_suite(game, arguments.file))
    if arguments.json:
        print(json.dumps({"game": game.spec.name, **suite_summary(result)}))
        return
    print(f"{result.suite}: {result.player}")
    if result.raw_policy is not None:
        print(f"  raw policy    {_describe(result.raw_policy)}")
    print(f"  moves played  {_describe(result.choice)}")


def shipped_suites() -> list[str]:
    """Returns the names of the suites that come with the project."""
    folder = Path(configs.__file__).resolve().parent / "suites"
    return sorted(path.stem for path in folder.glob("*.json"))


def _describe(accuracy: "Accuracy") -> str:
    low, high = accuracy.interval
    return (
        f"{accuracy.share:.1%} ({accuracy.num_correct} of {accuracy.num_positions}),"
        f" 95 % interval {low:.1%} to {high:.1%}"
    )
