"""Positions of Go from drawings: X Black, O White, dots empty."""

from collections.abc import Iterable

import numpy as np

from alphago.games.go import Go, parse_rules
from alphago.types import States


def drawn(
    drawing: str, to_play: int = 0, max_moves: int = 100, **options: str
) -> tuple[Go, States]:
    """Returns a game of the drawing's size and the drawn position [1]; options as in a name."""
    lines = drawing.split()
    stones = "".join(lines)
    game = Go(
        height=len(lines), width=len(lines[0]), rules=parse_rules(options), max_moves=max_moves
    )
    black, white = (
        [action for action, mark in enumerate(stones) if mark == colour] for colour in "XO"
    )
    return game, game.position(black, white, to_play)


def play(game: Go, states: States, moves: str) -> States:
    """Plays moves in turn, such as "A1 pass B2"."""
    for move in moves.split():
        states = game.step(states, [game.text_to_action(move)])
    return states


def lines_of(board: np.ndarray) -> list[str]:
    """Draws a board or a map of owners [H, W]."""
    return ["".join(".XO"[owner + 1] for owner in row) for row in board]


def board_of(game: Go, states: States) -> list[str]:
    return lines_of(game.board(states)[0])


def legal_moves(game: Go, states: States) -> set[str]:
    return {
        game.action_to_text(int(action)) for action in np.flatnonzero(game.legal_actions(states)[0])
    }


def actions_of(game: Go, moves: Iterable[str]) -> list[int]:
    return [game.text_to_action(move) for move in moves]
