"""Exact numbers of small boards: move sequences, games, values with perfect play."""

from typing import Any

import numpy as np
import pytest

from alphago.games.go.game import Go
from alphago.types import States
from tests.games.go.engine import make_go, perft_rows
from tests.games.go.perft import count_levels

LIMIT = 30_000  # sequences of the longest length counted here; tests/slow counts them all


def row_id(row: dict[str, Any]) -> str:
    suicide = "suicide" if row["suicide"] else "no_suicide"
    return f"{row['cols']}x{row['rows']}-{row['ko']}-{suicide}"


@pytest.mark.parametrize("row", perft_rows(), ids=row_id)
def test_number_of_move_sequences_of_each_length(row: dict[str, Any]) -> None:
    known = [count for count in row["perft"] if count <= LIMIT] or row["perft"][:1]
    assert count_levels(row, num_levels=len(known)) == known


# Simple paths through the legal positions, either colour to move at each: Tromp and Farneback,
# "Combinatorics of Go", table of the number of games. A path may have no move at all.
@pytest.mark.parametrize(("width", "num_games"), [(1, 1), (2, 9), (3, 907)])
def test_number_of_games_under_positional_superko(width: int, num_games: int) -> None:
    go = make_go(1, width, ko="positional", suicide=True)
    states = go.initial_states(1)
    count = 0
    while len(states):
        count += len(states)
        states = np.concatenate([after_plays(go, states, player) for player in (0, 1)])
    assert count == num_games


def after_plays(go: Go, states: States, player: int) -> States:
    """Returns the states after every play of one player, whosever turn it is."""
    states = go.with_to_play(states, player)
    rows, actions = np.nonzero(go.legal_actions(states)[:, : go.spec.pass_action])
    return go.step(states[rows], actions)


# Black's margin by area at komi 0, as in Drange's table of small boards.
VALUES = {(1, 1): 0, (1, 2): 0, (1, 3): 3, (1, 4): 4, (2, 2): 1}


@pytest.mark.parametrize(("height", "width"), VALUES)
@pytest.mark.parametrize("ko", ["positional", "situational"])
@pytest.mark.parametrize("suicide", [False, True])
def test_value_with_perfect_play(height: int, width: int, ko: str, suicide: bool) -> None:
    solver = Solver(make_go(height, width, ko=ko, suicide=suicide), ko=ko)
    value = VALUES[height, width]
    assert solver.black_gets(value)
    assert not solver.black_gets(value + 1)


class Solver:
    """Exhaustive search; positions count as equal only with equal sets of forbidden boards."""

    def __init__(self, go: Go, *, ko: str) -> None:
        self.go, self.ko = go, ko

    def black_gets(self, margin: int) -> bool:
        self.solved: dict[tuple[object, ...], bool] = {}
        root = self.go.initial_states(1)
        return self._black_gets(root, frozenset({self._position(root)}), margin)

    def _position(self, states: States) -> tuple[bytes, int]:
        """Returns what superko forbids to repeat; the player counts under situational only."""
        player = int(self.go.to_play(states)[0]) if self.ko == "situational" else 0
        return self.go.board(states).tobytes(), player

    def _black_gets(self, states: States, earlier: frozenset[object], margin: int) -> bool:
        go = self.go
        if go.is_over(states)[0]:
            return bool(go.score(states)[0] >= margin)
        player, num_passes = int(go.to_play(states)[0]), int(go.num_passes(states)[0])
        key = (go.board(states).tobytes(), player, num_passes, earlier)
        if key not in self.solved:
            self.solved[key] = self._any_action(states, earlier, margin, black=player == 0)
        return self.solved[key]

    def _any_action(
        self, states: States, earlier: frozenset[object], margin: int, *, black: bool
    ) -> bool:
        """Returns whether Black gets there, which the player to move wants or does not want."""
        # A pass first: where it ends the game well, the other actions need no search.
        for action in np.flatnonzero(self.go.legal_actions(states)[0])[::-1]:
            child = self.go.step(states, [action])
            if self._black_gets(child, earlier | {self._position(child)}, margin) == black:
                return black
        return not black
