"""Writes the suites that are made by a program: `.venv/bin/python -m tests.eval.make_suites`.

Words after the command name the suites to write; none means all of them.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import configs
from alphago.games import make_game
from alphago.games.go import Go
from tests.eval.go_positions import one_ply_go
from tests.eval.line_positions import (
    Entry,
    one_ply_connect_four,
    one_ply_tic_tac_toe,
    solved_tic_tac_toe,
)

FOLDER = Path(configs.__file__).parent / "suites"
SEED = 2026  # of the Go positions

_ONE_PLY = (
    "win: one move alone wins at once; block: the opponent has one such move, best is the only"
    " move that stops it."
)
_ONE_PLY_GO = (
    "Ends of random games which one move decides, proven by counting: after it its player wins"
    " whatever follows (pass-alive points and komi), after any other move the opponent does."
    " capture: it takes a big chain; save: it saves one; pass: the opponent has passed, a pass"
    " ends the game in time."
)


class MadeSuite(NamedTuple):
    """A suite and how its positions are made."""

    game: str
    about: str
    make: Callable[[], Iterable[Entry]]


def one_ply_go_suite(game: str, num_positions: int) -> MadeSuite:
    """Returns the suite of a board, with so many positions of each kind."""

    def make() -> Iterator[Entry]:
        made = make_game(game)
        assert isinstance(made, Go)
        yield from one_ply_go(made, num_positions=num_positions, seed=SEED)

    return MadeSuite(game, _ONE_PLY_GO, make)


SUITES: Mapping[str, MadeSuite] = {
    "tic_tac_toe": MadeSuite(
        "tic_tac_toe",
        "All unfinished positions of tic-tac-toe; best = all moves that keep the value of the game"
        " under perfect play. Where every move does, the position is not decisive.",
        solved_tic_tac_toe,
    ),
    "tic_tac_toe_one_ply": MadeSuite(
        "tic_tac_toe",
        f"Positions that one ply decides, all of them. {_ONE_PLY} No other move keeps the value.",
        one_ply_tic_tac_toe,
    ),
    "connect_four_one_ply": MadeSuite(
        "connect_four", f"Ends of random games. {_ONE_PLY}", one_ply_connect_four
    ),
    "go_5x5_one_ply": one_ply_go_suite("go_5x5:komi=7.5", 10),
    "go_7x7_one_ply": one_ply_go_suite("go_7x7:komi=9", 10),
    "go_9x9_one_ply": one_ply_go_suite("go_9x9:komi=7.5", 20),
    "go_13x13_one_ply": one_ply_go_suite("go_13x13:komi=7.5", 6),
}


def suite_text(game: str, about: str, positions: Iterable[Entry]) -> str:
    """Returns the content of a suite's file, one line for each position."""
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in positions)
    head = "".join(f"{json.dumps(key)}: {json.dumps(text)},\n" for key, text in
                   (("game", game), ("about", about)))  # fmt: skip
    return f'{{\n{head}"positions": [\n{lines}\n]}}\n'


def main() -> None:
    """Writes the suites that the command line names."""
    for name in sys.argv[1:] or SUITES:
        suite = SUITES[name]
        text = suite_text(suite.game, suite.about, suite.make())
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"{name}: {text.count(chr(10)) - 5} positions")


if __name__ == "__main__":
    main()
