"""What games of putting stones in a line share: states, putting a stone, observations.

A game adds its own rules of where a stone may go. Kernels speak of one state; those whose names end
in `_all` map one over a batch. Cells hold the id of the stone's player, or `EMPTY`.
"""

import abc

import numpy as np
import numpy.typing as npt

from alphago.errors import IllegalActionError, NotationError
from alphago.games.game import GameSpec, Symmetry
from alphago.games.line_heuristic import line_heuristic_values
from alphago.games.lines import completes_line, fill_threats_all
from alphago.games.notation import illegal_action, integer_actions
from alphago.games.random_bits import Streams, new_streams
from alphago.games.symmetry import transform_observations
from alphago.kernels import kernel
from alphago.types import EMPTY, NUM_PLAYERS, BoolArray, FloatArray, Int8Array, States, UInt8Array

NO_PLAYER = -1  # the winner of a game that is drawn or goes on
PLANE_NAMES = ("own stones", "opponent's stones", "all ones if player 0 is to move")
NUM_PLANES = len(PLANE_NAMES)
STONES = "XO"  # how the stones of player 0 and 1 are drawn


def line_game_dtype(height: int, width: int) -> np.dtype[np.void]:
    """Returns the dtype of a state: all a game of this kind has to remember."""
    return np.dtype(
        [
            ("board", np.int8, (height, width)),  # player id or EMPTY; row 0 is drawn on top
            ("num_moves", np.int16),
            ("to_play", np.int8),  # 0 or 1, also after the last move
            ("winner", np.int8),  # 0, 1 or NO_PLAYER
            ("is_over", np.bool_),
        ]
    )


def copy_states(states: States) -> States:
    """Copies states [B] as bytes: numpy copies structured rows field by field."""
    copied: States = np.ascontiguousarray(states).view(np.uint8).copy().view(states.dtype)
    return copied


@kernel
def put_stone(state: np.void, row: int, column: int, line_length: int) -> None:
    """Puts a stone of the player to move on an empty cell and ends their turn. In place."""
    board = state["board"]
    player = state["to_play"]
    board[row, column] = player
    state["num_moves"] += 1
    state["to_play"] = 1 - player
    # The line comes first: a stone on the last free cell may win.
    if completes_line(board, player, row, column, line_length):
        state["winner"] = player
        state["is_over"] = True
    elif state["num_moves"] == board.size:
        state["is_over"] = True


@kernel
def fill_returns(state: np.void, result: FloatArray) -> None:
    """Writes the result by player id. `result`, float32 [P], is filled in place."""
    winner = state["winner"]
    if winner == NO_PLAYER:
        result[:] = 0.0
    else:
        result[winner] = 1.0
        result[1 - winner] = -1.0


@kernel
def fill_returns_all(states: States, results: FloatArray) -> None:
    """Maps `fill_returns` over states [B]. `results`, float32 [B, P], is filled in place."""
    for b in range(len(states)):
        fill_returns(states[b], results[b])


@kernel
def fill_observation(state: np.void, planes: UInt8Array) -> None:
    """Writes the planes for the player to move. `planes`, uint8 [3, H, W], is filled in place."""
    board = state["board"]
    player = state["to_play"]
    opponent = 1 - player
    for row in range(board.shape[0]):
        for column in range(board.shape[1]):
            planes[0, row, column] = board[row, column] == player
            planes[1, row, column] = board[row, column] == opponent
            planes[2, row, column] = player == 0


@kernel
def fill_observation_all(states: States, observations: UInt8Array) -> None:
    """Maps `fill_observation` over [B]. `observations`, uint8 [B, 3, H, W], is filled in place."""
    for b in range(len(states)):
        fill_observation(states[b], observations[b])


class LineGame(abc.ABC):
    """A `Game` in which players put stones and a line of one's own wins; without a line, a draw.

    Planes of an observation: own stones, the opponent's stones, all ones if player 0 is to move.
    """

    def __init__(
        self, spec: GameSpec, moves: tuple[str, ...], *, line_length: int, stones_fall: bool
    ) -> None:
        """Keeps the facts.

        Args:
            spec: the game's facts.
            moves: the text of each action [A], all different.
            line_length: stones of a line that wins.
            stones_fall: whether a stone comes to rest on another one or the bottom.
        """
        self._spec = spec
        self._line_length = line_length
        self._stones_fall = stones_fall
        self._moves = moves
        self._actions = {move: action for action, move in enumerate(moves)}

    @abc.abstractmethod
    def _play_all(
        self, states: States, actions: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> int:
        """Plays actions [K] in the states of rows [K], in place.

        Returns:
            The place of the first illegal action, or -1.
        """

    @abc.abstractmethod
    def _play_out_all(self, states: States, streams: Streams) -> None:
        """Plays every game [B] to its end, in place, all legal actions equally likely.

        `streams`, uint64 [B], are where the randomness comes from.
        """

    @abc.abstractmethod
    def legal_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], True where the action is legal; all False in a finished game."""

    @abc.abstractmethod
    def render(self, state: np.void) -> str:
        """Returns a drawing of one state for a terminal."""

    @property
    def spec(self) -> GameSpec:
        """The facts of this game."""
        return self._spec

    @property
    def plane_names(self) -> tuple[str, ...]:
        """What each plane of an observation shows."""
        return PLANE_NAMES

    def initial_states(self, num_games: int) -> States:
        """Returns [B] empty boards, player 0 to move."""
        states = np.zeros(num_games, self._spec.state_dtype)
        states["board"] = EMPTY
        states["winner"] = NO_PLAYER
        return states

    def step(self, states: States, actions: npt.ArrayLike) -> States:
        """Plays one action in every game; see `Game.step`."""
        checked = integer_actions(actions, num_games=len(states))
        after = copy_states(states)
        self.play(after, checked, np.arange(len(states)))
        return after

    def play(
        self, states: States, actions: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> None:
        """Plays one action in some games, in place; see `Game.play`."""
        bad = self._play_all(states, actions, rows)
        if bad >= 0:
            raise illegal_action(self, states, row=int(rows[bad]), action=int(actions[bad]))

    def to_play(self, states: States) -> Int8Array:
        """Returns int8 [B], the player to move, also after the last move."""
        players: Int8Array = states["to_play"].copy()
        return players

    def is_over(self, states: States) -> BoolArray:
        """Returns bool [B], True where there is a line or the board is full."""
        over: BoolArray = states["is_over"].copy()
        return over

    def is_truncated(self, states: States) -> BoolArray:
        """Returns bool [B], all False: a full board ends every game by the rules."""
        return np.zeros(len(states), np.bool_)

    def returns(self, states: States) -> FloatArray:
        """Returns float32 [B, P]: 1 for whoever has a line, -1 for the other; else zeros."""
        results = np.empty((len(states), NUM_PLAYERS), np.float32)
        fill_returns_all(states, results)
        return results

    def root_actions(self, states: States) -> BoolArray:
        """Finds the candidates where a move is really to be chosen, see `Playouts`.

        They are the moves that complete a line, if there are any; else those that keep the opponent
        from completing one; else all legal ones. Source: Teytaud and Teytaud 2010, "On the huge
        impact of decisive moves in Monte-Carlo Tree Search algorithms".

        Args:
            states: [B] positions.

        Returns:
            bool [B, A], all False in a finished game.
        """
        actions = self.legal_actions(states)
        wins, blocks = (
            self._line_actions(states, is_own=is_own) & actions for is_own in (True, False)
        )
        for urgent in (blocks, wins):
            has_urgent = urgent.any(axis=1)
            actions[has_urgent] = urgent[has_urgent]
        return actions

    def playout_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], all legal actions, see `Playouts`."""
        return self.legal_actions(states)

    def playout_returns(self, states: States, *, rng: np.random.Generator) -> FloatArray:
        """Plays every game to its end, all legal actions equally likely, see `Playouts`."""
        finished = copy_states(states)
        self._play_out_all(finished, new_streams(len(states), rng))
        return self.returns(finished)

    def board(self, states: States) -> Int8Array:
        """Returns int8 [B, H, W], the player of each stone or EMPTY."""
        boards: Int8Array = states["board"].copy()
        return boards

    def observe(self, states: States) -> UInt8Array:
        """Returns uint8 [B, 3, H, W]: own stones, the opponent's, whether player 0 is to move."""
        observations = np.empty((len(states), *self._spec.observation_shape), np.uint8)
        fill_observation_all(states, observations)
        return observations

    def apply_symmetry(self, states: States, symmetry: Symmetry) -> States:
        """Returns [B] states with transformed boards."""
        transformed = states.copy()
        transformed["board"] = transform_observations(states["board"], symmetry)
        return transformed

    def heuristic_values(self, states: States) -> FloatArray:
        """Returns float32 [B], guesses for the player to move, see `line_heuristic.py`."""
        return line_heuristic_values(states, self._line_length, stones_fall=self._stones_fall)

    def _line_actions(self, states: States, *, is_own: bool) -> BoolArray:
        """Returns bool [B, A], where the next own or opposing stone would complete a line."""
        threats = np.empty((len(states), *self._spec.observation_shape[1:]), np.bool_)
        fill_threats_all(states, is_own, self._line_length, self._stones_fall, threats)
        # Where stones fall, an action is a column, which has one cell for the next stone.
        if not self._stones_fall:
            return threats.reshape(len(states), self._spec.num_actions)
        columns: BoolArray = np.logical_or.reduce(threats, axis=1)
        return columns

    def action_to_text(self, action: int) -> str:
        """Returns the move's text.

        Raises:
            IllegalActionError: if there is no such action.
        """
        if not 0 <= action < len(self._moves):
            raise IllegalActionError(
                f"{self._spec.name}: got action {action}, allowed: 0 to {len(self._moves) - 1}"
            )
        return self._moves[action]

    def text_to_action(self, text: str) -> int:
        """Reads a move; spaces around it are ignored.

        Raises:
            NotationError: if the text names no action of this game.
        """
        action = self._actions.get(text.strip())
        if action is None:
            raise NotationError(
                f"{self._spec.name}: got {text!r}, allowed: {' '.join(self._moves)}"
            )
        return action
