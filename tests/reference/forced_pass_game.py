"""A small made-up game that breaks every comfortable assumption about turns and boards.

Two players put stones on a 2 x 4 board, player 0 first. A stone may not touch (by an edge) a stone
of its own colour. Who fills the second cell of a column moves again, so the players do not strictly
alternate. A player who cannot put a stone must pass, and passing is legal only then. The game ends
when neither player can put a stone; each stone is worth the points of its cell, more points win,
equal points draw. The points differ from cell to cell, so that the board has no symmetry but the
identity.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.errors import IllegalActionError, NotationError
from alphago.games.game import GameSpec, Symmetry
from alphago.types import NUM_PLAYERS, BoolArray, FloatArray, Int8Array, States, UInt8Array

NUM_ROWS = 2
NUM_COLUMNS = 4
NUM_CELLS = NUM_ROWS * NUM_COLUMNS
PASS = NUM_CELLS  # the last action
EMPTY = -1  # any other cell holds the id of the player whose stone it is

CELL_POINTS = (2, 1, 3, 1, 1, 2, 1, 4)  # rows first

STATE_DTYPE = np.dtype([("board", np.int8, (NUM_ROWS, NUM_COLUMNS)), ("to_play", np.int8)])


def _neighbours(cell: int) -> tuple[int, ...]:
    row, column = divmod(cell, NUM_COLUMNS)
    steps = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
    return tuple(
        r * NUM_COLUMNS + c for r, c in steps if 0 <= r < NUM_ROWS and 0 <= c < NUM_COLUMNS
    )


NEIGHBOURS = tuple(_neighbours(cell) for cell in range(NUM_CELLS))


class Position(NamedTuple):
    """One state as plain Python values."""

    board: tuple[int, ...]  # [NUM_CELLS], rows first
    to_play: int

    def placements(self, player: int) -> list[int]:
        """Returns the cells on which the player may put a stone."""
        return [
            cell
            for cell in range(NUM_CELLS)
            if self.board[cell] == EMPTY
            and all(self.board[neighbour] != player for neighbour in NEIGHBOURS[cell])
        ]

    def is_over(self) -> bool:
        """Returns True when neither player can put a stone."""
        return not any(self.placements(player) for player in range(NUM_PLAYERS))

    def legal_actions(self) -> list[int]:
        """Returns the legal actions, none when the game is over."""
        if self.is_over():
            return []
        return self.placements(self.to_play) or [PASS]

    def after(self, action: int) -> "Position":
        """Returns the position after a legal action."""
        if action == PASS:
            return Position(self.board, 1 - self.to_play)
        board = list(self.board)
        board[action] = self.to_play
        column_is_full = board[(action + NUM_COLUMNS) % NUM_CELLS] != EMPTY
        return Position(tuple(board), self.to_play if column_is_full else 1 - self.to_play)

    def result(self) -> int:
        """Returns the result for player 0 by the points on the board: 1 more, 0 equal, -1 fewer."""
        points = [0, 0]
        for cell, player in enumerate(self.board):
            if player != EMPTY:
                points[player] += CELL_POINTS[cell]
        return int(np.sign(points[0] - points[1]))


def position_of(state: np.void) -> Position:
    """Reads one row of the state dtype."""
    return Position(tuple(state["board"].ravel().tolist()), int(state["to_play"]))


def states_of(positions: list[Position]) -> States:
    """Writes positions as [B] rows of the state dtype."""
    states = np.zeros(len(positions), dtype=STATE_DTYPE)
    for row, position in enumerate(positions):
        states["board"][row] = np.reshape(position.board, (NUM_ROWS, NUM_COLUMNS))
        states["to_play"][row] = position.to_play
    return states


def solve(position: Position, player: int) -> int:
    """Returns the result (1, 0, -1) for a player under best play, by plain exhaustive search."""
    actions = position.legal_actions()
    if not actions:
        return position.result() if player == 0 else -position.result()
    results = [solve(position.after(action), player) for action in actions]
    return max(results) if position.to_play == player else min(results)


class ForcedPassGame:
    """The game behind the `Game` protocol."""

    def __init__(self) -> None:
        """Builds the description; the game itself has no state."""
        identity = Symmetry("identity", np.arange(NUM_CELLS), np.arange(NUM_CELLS + 1))
        self._spec = GameSpec(
            name="forced_pass",
            family="forced_pass",
            rules="",
            num_actions=NUM_CELLS + 1,
            observation_shape=(3, NUM_ROWS, NUM_COLUMNS),
            max_moves=2 * NUM_CELLS,  # a pass is followed by a stone, so no more passes than stones
            state_dtype=STATE_DTYPE,
            pass_action=PASS,
            symmetries=(identity,),
        )

    @property
    def spec(self) -> GameSpec:
        """The facts of this game."""
        return self._spec

    @property
    def plane_names(self) -> tuple[str, ...]:
        """What each plane of an observation shows."""
        return ("own stones", "opponent's stones", "all ones if player 0 is to move")

    def initial_states(self, num_games: int) -> States:
        """Returns [B] empty boards."""
        return states_of([Position((EMPTY,) * NUM_CELLS, 0)] * num_games)

    def step(self, states: States, actions: npt.ArrayLike) -> States:
        """Plays one action in every game, see `Game.step`."""
        chosen = np.asarray(actions)
        if chosen.shape != states.shape or not np.issubdtype(chosen.dtype, np.integer):
            raise IllegalActionError(f"got actions {actions!r}, allowed: one integer per game")
        positions = [position_of(state) for state in states]
        for row, (position, action) in enumerate(zip(positions, chosen.tolist(), strict=True)):
            if action not in position.legal_actions():
                raise IllegalActionError(
                    f"row {row}: got action {action}, allowed: {position.legal_actions()}"
                )
        return states_of([p.after(a) for p, a in zip(positions, chosen.tolist(), strict=True)])

    def play(
        self, states: States, actions: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> None:
        """Plays one action in some games, in place, see `Game.play`."""
        states[rows] = self.step(states[rows], actions)

    def legal_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], True where the action is legal; all False in a finished game."""
        mask = np.zeros((len(states), NUM_CELLS + 1), dtype=np.bool_)
        for row, state in enumerate(states):
            mask[row, position_of(state).legal_actions()] = True
        return mask

    def to_play(self, states: States) -> Int8Array:
        """Returns int8 [B], the id of the player to move."""
        players: Int8Array = states["to_play"].copy()
        return players

    def is_over(self, states: States) -> BoolArray:
        """Returns bool [B], True where the game has ended."""
        return np.array([position_of(state).is_over() for state in states], dtype=np.bool_)

    def is_truncated(self, states: States) -> BoolArray:
        """Returns bool [B], all False: no game is stopped before its end."""
        return np.zeros(len(states), dtype=np.bool_)

    def returns(self, states: States) -> FloatArray:
        """Returns float32 [B, P], the result by player id, 0 while the game goes on."""
        by_player = np.zeros((len(states), NUM_PLAYERS), dtype=np.float32)
        for row, state in enumerate(states):
            position = position_of(state)
            if position.is_over():
                by_player[row] = (position.result(), -position.result())
        return by_player

    def board(self, states: States) -> Int8Array:
        """Returns int8 [B, 2, 4], the player of each stone or EMPTY."""
        boards: Int8Array = states["board"].copy()
        return boards

    def observe(self, states: States) -> UInt8Array:
        """Returns uint8 [B, 3, 2, 4]: own stones, the opponent's, all ones if player 0 moves."""
        board = states["board"]
        mover = states["to_play"][:, np.newaxis, np.newaxis]
        planes = (board == mover, board == 1 - mover, np.broadcast_to(mover == 0, board.shape))
        return np.stack(planes, axis=1).astype(np.uint8)

    def apply_symmetry(self, states: States, symmetry: Symmetry) -> States:
        """Returns [B] transformed states."""
        transformed = states.copy()
        cells = states["board"].reshape(len(states), NUM_CELLS)[:, symmetry.cells]
        transformed["board"] = cells.reshape(-1, NUM_ROWS, NUM_COLUMNS)
        return transformed

    def action_to_text(self, action: int) -> str:
        """Returns the number of the cell, or `pass`."""
        return "pass" if action == PASS else str(action)

    def text_to_action(self, text: str) -> int:
        """Reads a move.

        Raises:
            NotationError: if the text names no action of this game.
        """
        texts = [self.action_to_text(action) for action in range(NUM_CELLS + 1)]
        if text not in texts:
            raise NotationError(f"got move {text!r}, allowed: {', '.join(texts)}")
        return texts.index(text)

    def render(self, state: np.void) -> str:
        """Returns the two rows of the board with X for player 0 and O for player 1."""
        symbols = {EMPTY: ".", 0: "X", 1: "O"}
        return "\n".join(" ".join(symbols[int(cell)] for cell in row) for row in state["board"])
