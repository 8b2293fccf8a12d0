"""Shared by the Go tests: games by rules, boards as text, cases and perft rows from tests/data."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from alphago.games.go.game import Go
from alphago.games.go.rules import GoRules
from alphago.types import States
from tests.reference.go_referee import GoReferee

DATA = Path(__file__).parent.parent.parent / "data"
PLAYERS = {"b": 0, "w": 1}


def make_go(
    height: int,
    width: int,
    *,
    ko: str,
    suicide: bool,
    scoring: str = "area",
    komi: float = 0.0,
    max_moves: int | None = None,
) -> Go:
    rules = make_rules(ko=ko, suicide=suicide, scoring=scoring, komi=komi)
    return Go(height=height, width=width, rules=rules, max_moves=max_moves)


def make_rules(*, ko: str, suicide: bool, scoring: str = "area", komi: float = 0.0) -> GoRules:
    return GoRules(ko=ko, suicide=suicide, scoring=scoring, komi=komi, handicap_bonus="0")


def go_cases() -> list[dict[str, Any]]:
    return json.loads((DATA / "go_rules.json").read_text())["cases"]


def perft_rows() -> list[dict[str, Any]]:
    return json.loads((DATA / "go_perft.json").read_text())["rows"]


def height_and_width(size: int | list[int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[1], size[0])


def drawing(cells: Any, height: int, width: int) -> list[str]:
    """Draws H * W players as rows of X, O and points."""
    rows = np.asarray(cells).reshape(height, width)
    return ["".join({0: "X", 1: "O", -1: "."}[int(cell)] for cell in row) for row in rows]


def play_moves(go: Go, states: States, moves: list[list[str]]) -> States:
    """Plays moves of given colours, each a pair such as ["b", "C3"]."""
    for color, move in moves:
        states = go.with_to_play(states, PLAYERS[color])
        states = go.step(states, [go.text_to_action(move)])
    return states


def referee_plays(referee: GoReferee, moves: list[list[str]]) -> None:
    for color, move in moves:
        referee.set_to_play(PLAYERS[color])
        referee.play(referee.geometry.point(move))
