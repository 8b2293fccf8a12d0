"""Connect Four: stones fall in seven columns of six cells; four in a line win.

An action is a column, 0 to 6 from the left; a move's text is the column's number, 1 to 7. Row 0 of
the board is the top row, as drawn.
"""

import numpy as np
import numpy.typing as npt

from alphago.games.game import GameSpec
from alphago.games.line_game import (
    NUM_PLANES,
    STONES,
    LineGame,
    line_game_dtype,
    put_stone,
)
from alphago.games.random_bits import Streams, draw_below
from alphago.games.symmetry import mirror_symmetries
from alphago.kernels import kernel
from alphago.types import EMPTY, BoolArray, Int8Array, States

NUM_ROWS = 6
NUM_COLUMNS = 7
LINE_LENGTH = 4


@kernel
def is_legal(state: np.void, action: int) -> bool:
    """Tells whether a stone may fall into a column; any integer may be asked about."""
    if state["is_over"] or not 0 <= action < NUM_COLUMNS:
        return False
    return bool(state["board"][0, action] == EMPTY)


@kernel
def landing_row(board: Int8Array, column: int) -> int:
    """Returns the row in which a stone comes to rest in a column that is not full."""
    row = NUM_ROWS - 1
    while board[row, column] != EMPTY:
        row -= 1
    return row


@kernel
def play_all(states: States, actions: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> int:
    """Plays actions [K] in the states of rows [K], in place.

    Returns:
        The place of the first illegal action, or -1; the rows from there on are as they were.
    """
    for k in range(len(actions)):
        column, state = actions[k], states[rows[k]]
        if not is_legal(state, column):
            return k
        put_stone(state, landing_row(state["board"], column), column, LINE_LENGTH)
    return -1


@kernel
def fill_legal_actions_all(states: States, legal: BoolArray) -> None:
    """Maps `is_legal` over states [B] and actions. `legal`, bool [B, A], is filled in place."""
    for b in range(len(states)):
        for action in range(NUM_COLUMNS):
            legal[b, action] = is_legal(states[b], action)


@kernel
def play_out(state: np.void, stream: Streams) -> None:
    """Plays random moves to the end of the game, all legal ones equally likely. In place."""
    while not state["is_over"]:
        column = draw_below(stream, NUM_COLUMNS)
        if is_legal(state, column):
            put_stone(state, landing_row(state["board"], column), column, LINE_LENGTH)


@kernel
def play_out_all(states: States, streams: Streams) -> None:
    """Maps `play_out` over states [B], in place, with one stream each."""
    for b in range(len(states)):
        play_out(states[b], streams[b : b + 1])


class ConnectFour(LineGame):
    """Connect Four."""

    def __init__(self) -> None:
        """Describes the game."""
        spec = GameSpec(
            name="connect_four",
            family="connect_four",
            rules="",
            num_actions=NUM_COLUMNS,
            observation_shape=(NUM_PLANES, NUM_ROWS, NUM_COLUMNS),
            max_moves=NUM_ROWS * NUM_COLUMNS,
            state_dtype=line_game_dtype(NUM_ROWS, NUM_COLUMNS),
            pass_action=None,
            symmetries=mirror_symmetries(NUM_ROWS, NUM_COLUMNS),
        )
        moves = tuple(str(column + 1) for column in range(NUM_COLUMNS))
        super().__init__(spec, moves, line_length=LINE_LENGTH, stones_fall=True)

    def _play_all(
        self, states: States, actions: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> int:
        return play_all(states, actions, rows)

    def _play_out_all(self, states: States, streams: Streams) -> None:
        play_out_all(states, streams)

    def legal_actions(self, states: States) -> BoolArray:
        """Returns bool [B, 7], True where the column has room; all False in a finished game."""
        legal = np.empty((len(states), NUM_COLUMNS), np.bool_)
        fill_legal_actions_all(states, legal)
        return legal

    def render(self, state: np.void) -> str:
        """Returns the board with X, O and a dot for an empty cell, column numbers below."""
        marks = {EMPTY: ".", 0: STONES[0], 1: STONES[1]}
        rows = [" ".join(marks[int(player)] for player in row) for row in state["board"]]
        return "\n".join([*rows, " ".join(self._moves)])
