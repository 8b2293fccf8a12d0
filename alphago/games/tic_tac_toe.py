"""Tic-tac-toe: three in a row on three by three cells.

An action is a cell, 0 to 8, row by row from the top left; a move's text is the same number.
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
from alphago.games.symmetry import board_symmetries
from alphago.kernels import kernel
from alphago.types import EMPTY, BoolArray, States

SIZE = 3  # rows, columns, and stones of a winning line
NUM_CELLS = SIZE * SIZE


@kernel
def is_legal(state: np.void, action: int) -> bool:
    """Tells whether a stone may go on a cell; any integer may be asked about."""
    if state["is_over"] or not 0 <= action < NUM_CELLS:
        return False
    return bool(state["board"][action // SIZE, action % SIZE] == EMPTY)


@kernel
def play_all(states: States, actions: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> int:
    """Plays actions [K] in the states of rows [K], in place.

    Returns:
        The place of the first illegal action, or -1; the rows from there on are as they were.
    """
    for k in range(len(actions)):
        cell, state = actions[k], states[rows[k]]
        if not is_legal(state, cell):
            return k
        put_stone(state, cell // SIZE, cell % SIZE, SIZE)
    return -1


@kernel
def fill_legal_actions_all(states: States, legal: BoolArray) -> None:
    """Maps `is_legal` over states [B] and actions. `legal`, bool [B, A], is filled in place."""
    for b in range(len(states)):
        for action in range(NUM_CELLS):
            legal[b, action] = is_legal(states[b], action)


@kernel
def play_out(state: np.void, stream: Streams) -> None:
    """Plays random moves to the end of the game, all legal ones equally likely. In place."""
    while not state["is_over"]:
        cell = draw_below(stream, NUM_CELLS)
        if is_legal(state, cell):
            put_stone(state, cell // SIZE, cell % SIZE, SIZE)


@kernel
def play_out_all(states: States, streams: Streams) -> None:
    """Maps `play_out` over states [B], in place, with one stream each."""
    for b in range(len(states)):
        play_out(states[b], streams[b : b + 1])


class TicTacToe(LineGame):
    """Tic-tac-toe."""

    def __init__(self) -> None:
        """Describes the game."""
        spec = GameSpec(
            name="tic_tac_toe",
            family="tic_tac_toe",
            rules="",
            num_actions=NUM_CELLS,
            observation_shape=(NUM_PLANES, SIZE, SIZE),
            max_moves=NUM_CELLS,
            state_dtype=line_game_dtype(SIZE, SIZE),
            pass_action=None,
            symmetries=board_symmetries(SIZE, SIZE),
        )
        moves = tuple(str(cell) for cell in range(NUM_CELLS))
        super().__init__(spec, moves, line_length=SIZE, stones_fall=False)

    def _play_all(
        self, states: States, actions: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> int:
        return play_all(states, actions, rows)

    def _play_out_all(self, states: States, streams: Streams) -> None:
        play_out_all(states, streams)

    def legal_actions(self, states: States) -> BoolArray:
        """Returns bool [B, 9], True where the cell is empty; all False in a finished game."""
        legal = np.empty((len(states), NUM_CELLS), np.bool_)
        fill_legal_actions_all(states, legal)
        return legal

    def render(self, state: np.void) -> str:
        """Returns the board with X and O; an empty cell shows its number."""
        board = state["board"].reshape(-1)
        marks = [
            str(cell) if player == EMPTY else STONES[player] for cell, player in enumerate(board)
        ]
        rows = [" " + " | ".join(marks[i : i + SIZE]) for i in range(0, NUM_CELLS, SIZE)]
        return "\n---+---+---\n".join(rows)
