"""What a game is: a description (`GameSpec`) and a few batched functions (`Game`).

A batch of games is an array of one structured dtype per game. Code outside of this package copies
rows and knows no field of them, except through the functions of `Game`.

For every game and every reachable batch `s` the following identities hold. `check_game` (in
`conformance.py`) runs them all but one: that an observation is the view of the player to move,
which only a game's own tests can know.

    spec.state_dtype          packed, since equal states have equal bytes: callers compare these
    initial_states(B)         B equal rows, none over
    step(s, a)                a new array; takes every legal action, refuses any other
    play(s, a, rows)          makes of s[rows] what step(s[rows], a) returns, leaves the others
    legal_actions(s)[b]       all False if and only if is_over(s)[b]
    returns(s)[b]             sums to 0, each in [-1, 1]; all 0 while the game is not over
    to_play(s)[b]             0 or 1, in a finished game too; it need not alternate
    is_truncated(s)[b]        only where is_over(s)[b]
    observe(s)                0 or 1 in every cell, the view of the player to move
    plane_names               one for each plane of an observation, all different
    every function of s       row b of the answer depends on row b of the arguments alone, which are
                              left as they are; the answer is the same when asked again
    number of moves           at most spec.max_moves
    text_to_action(action_to_text(a)) == a   for every action; texts hold no space and no comma
    apply_symmetry(step(s, a)) == step(apply_symmetry(s), image of a)   and likewise for the mask,
                              the observation, the player to move and the result; symmetries form a
                              group whose first member is the identity, and leave a pass where it is
"""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from alphago.errors import StateError
from alphago.types import BoolArray, FloatArray, Int8Array, States, UInt8Array


class Symmetry(NamedTuple):
    """One transformation of a board under which a game looks the same, as two gathers.

    `transformed[..., i] = original[..., cells[i]]` for the H·W cells (rows first) of a plane, and
    `transformed[..., a] = original[..., actions[a]]` for anything indexed by action (policy, mask).
    """

    name: str
    cells: npt.NDArray[np.int64]  # [H * W]
    actions: npt.NDArray[np.int64]  # [A]


class GameSpec(NamedTuple):
    """The facts of a game that networks, search and storage need.

    Games of one family differ in nothing but the size of the board: a network that does not depend
    on the size plays them all. States of one name fit each other, whatever the rules.
    """

    name: str
    family: str  # the name, where a game has one size only
    rules: str  # its options as `key=value,...`, "" for a game that has none
    num_actions: int
    observation_shape: tuple[int, int, int]  # C, H, W
    max_moves: int  # no game is longer
    state_dtype: np.dtype[np.void]
    pass_action: int | None  # the action that passes, where the game has one
    symmetries: tuple[Symmetry, ...]  # the first is the identity


class Game(Protocol):
    """A game for two players, as functions over batches; the module says what must hold."""

    @property
    def spec(self) -> GameSpec:
        """The facts of this game."""
        ...

    @property
    def plane_names(self) -> tuple[str, ...]:
        """What each plane [C] of an observation shows, in words."""
        ...

    def initial_states(self, num_games: int) -> States:
        """Returns [B] starting positions."""
        ...

    def step(self, states: States, actions: npt.ArrayLike) -> States:
        """Plays one action in every game.

        Args:
            states: [B] states, none of them over.
            actions: integers [B].

        Returns:
            [B] new states; the arguments are left as they were.

        Raises:
            IllegalActionError: if an action is not an integer, out of range or illegal, or its game
                is over.
        """
        ...

    def play(
        self, states: States, actions: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> None:
        """Plays one action in some games, in place: the search plays too often to copy states.

        Args:
            states: [B] states, contiguous and writable; changed in place.
            actions: int64 [K].
            rows: int64 [K], the games to play them in, all different and none over.

        Raises:
            IllegalActionError: if an action is out of range or illegal, or its game is over; the
                states are then of no use.
        """
        ...

    def legal_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], True where the action is legal; all False in a finished game."""
        ...

    def to_play(self, states: States) -> Int8Array:
        """Returns int8 [B], the id (0 or 1) of the player to move.

        Player 0 moves first, but in a handicap game.
        """
        ...

    def is_over(self, states: States) -> BoolArray:
        """Returns bool [B], True where the game has ended."""
        ...

    def is_truncated(self, states: States) -> BoolArray:
        """Returns bool [B], True where a cap on the number of moves ended it, not its rules."""
        ...

    def returns(self, states: States) -> FloatArray:
        """Returns float32 [B, P], the result by player id: 1 won, -1 lost, 0 drawn or not over.

        A truncated game has the result that its rules give the position as it stands, where they
        can tell, else it is drawn.
        """
        ...

    def board(self, states: States) -> Int8Array:
        """Returns int8 [B, H, W], the id of the player whose piece is on a cell, or EMPTY."""
        ...

    def observe(self, states: States) -> UInt8Array:
        """Returns uint8 [B, C, H, W], zeros and ones: the network's input.

        It is the view of the player to move.
        """
        ...

    def apply_symmetry(self, states: States, symmetry: Symmetry) -> States:
        """Returns [B] transformed states."""
        ...

    def action_to_text(self, action: int) -> str:
        """Returns the move as people write it."""
        ...

    def text_to_action(self, text: str) -> int:
        """Reads a move.

        Raises:
            NotationError: if the text names no action of this game. (Whether the action is legal in
                a position is not asked.)
        """
        ...

    def render(self, state: np.void) -> str:
        """Returns a drawing of one state for a terminal, a few lines without a final newline."""
        ...


def game_text(spec: GameSpec) -> str:
    """Returns a game as text, name and rules; `make_game` makes the same game of it."""
    return f"{spec.name}:{spec.rules}" if spec.rules else spec.name


def check_states(game: Game, states: States) -> None:
    """Raises unless the states are a batch [B] of the game.

    Whoever gets states from outside asks this first: numpy copies rows of one structured dtype into
    another field by field, without a word, and kernels would read past the end of a smaller board.

    Raises:
        StateError: if they are rows of another dtype, or no batch.
    """
    expected = game.spec.state_dtype
    if states.dtype != expected or states.ndim != 1:
        raise StateError(
            f"{game.spec.name}: got states of shape {states.shape}, {states.dtype.itemsize} bytes"
            f" each, allowed: shape (B,) and the {expected.itemsize} bytes of this game's states"
        )
