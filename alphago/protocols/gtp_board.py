"""`GtpBoard`: the game that a controller sets up, plays, takes back and scores.

It keeps the rules as they were told, the stones that were set up and the moves since, and never
changes when it refuses. What goes beyond a game between two players is put in terms of one:

    two moves in a row by one colour   `Go.with_to_play`
    moves after two passes             the game is resumed, the passes forgotten
    points for handicap stones         added to the komi of `game`, for the stones that were placed
                                       or, from a file, that it declares
    games longer than any cap          `game` is replaced by one with twice the room in good time
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from alphago.games.go.game import Go
from alphago.games.go.rules import GoRules
from alphago.games.go.vertices import handicap_actions
from alphago.protocols.colors import BLACK, WHITE
from alphago.protocols.gtp import ILLEGAL_MOVE, GtpError
from alphago.protocols.sgf import SgfGame
from alphago.protocols.sgf_games import MOST_MOVES, go_of_sgf, replay_sgf, with_komi
from alphago.types import States

# Moves that a game has room for at first: more than nearly all games have, since the tree of a
# search is lost when the room grows.
_FEWEST_MOVES = 100
_MOVES_PER_POINT = 4
_USED_SHARE = 0.75  # of the room; then it grows, so that a search can look far enough ahead


class Move(NamedTuple):
    """One move, a pass included."""

    color: int
    action: int


class Setup(NamedTuple):
    """What stood on the board before the first move.

    Attributes:
        black: black stones.
        white: white stones.
        to_play: who moves first.
        num_handicap: handicap stones, for which White may get points.
        captures: stones captured before, by colour: of a file that sets up stones in the middle.
    """

    black: tuple[int, ...] = ()
    white: tuple[int, ...] = ()
    to_play: int = BLACK
    num_handicap: int = 0
    captures: tuple[int, ...] = (0, 0)


class GtpBoard:
    """The rules, the stones and the moves of one game.

    Attributes:
        game: what is played; its komi holds the points for handicap stones too.
        rules: the rules as they were told.
        states: [1], the position.
        setup: what stood on the board before the first move.
        moves: all moves since.
        resigned: the colour that gave up, None if nobody did.
    """

    game: Go
    rules: GoRules
    states: States
    setup: Setup
    moves: list[Move]
    resigned: int | None
    _history: list[States]  # before each of the moves

    def __init__(self, *, height: int, width: int, rules: GoRules) -> None:
        """Starts with an empty board.

        Args:
            height: rows.
            width: columns.
            rules: the rules.
        """
        self._max_moves = _FEWEST_MOVES + _MOVES_PER_POINT * height * width
        self._height, self._width = height, width
        self._begin(rules, Setup())

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self._height, self._width

    @property
    def to_play(self) -> int:
        """The colour whose turn it is."""
        return int(self.game.to_play(self.states)[0])

    @property
    def is_over(self) -> bool:
        """Whether two passes have ended the game; further passes leave it ended."""
        if self.game.is_over(self.states)[0]:
            return True
        # AGA rules may ask for a third pass, which for `Go` is the first of a resumed game.
        last = self.moves[-2:]
        are_passes = [move.action for move in last] == [self.game.spec.pass_action] * 2
        return are_passes and last[0].color != last[1].color

    @property
    def is_untouched(self) -> bool:
        """Whether there were neither moves nor stones."""
        return not (self.moves or self.setup.black or self.setup.white)

    def resized(self, *, height: int, width: int) -> "GtpBoard":
        """Returns an empty board of another size, or of the same, with the same rules."""
        return GtpBoard(height=height, width=width, rules=self.rules)

    def set_rules(self, rules: GoRules) -> None:
        """Changes rules or komi in the middle of the game.

        Raises:
            RulesError: if a komi is not allowed.
        """
        game = self.game.with_rules(rules.with_bonus(self.setup.num_handicap))
        self.game, self.rules = game, rules

    def set_up(self, setup: Setup) -> None:
        """Starts from other stones; the moves so far are forgotten.

        Raises:
            RulesError: if the stones cannot stand like this.
        """
        self._begin(self.rules, setup)

    def load(self, sgf: SgfGame, *, up_to_move: int | None) -> None:
        """Starts from a file, with its komi; the moves since its last set-up can be undone.

        Args:
            sgf: the game, on a board of this size.
            up_to_move: number of the first move that is left out, None to play all.

        Raises:
            SgfError: if the rules forbid a move or a set-up, or the komi.
        """
        rules, room = with_komi(self.rules, sgf), self._max_moves
        while len(sgf.moves) > _USED_SHARE * room and room < MOST_MOVES:
            room = min(2 * room, MOST_MOVES)
        game = go_of_sgf(sgf, rules=rules, max_moves=room)
        replay = replay_sgf(game, sgf, up_to_move=up_to_move)
        first = replay.states[0]
        stones = game.board(first)[0].reshape(-1)
        black, white = (np.flatnonzero(stones == color).tolist() for color in (BLACK, WHITE))
        to_play = int(game.to_play(first)[0])
        captures = tuple(game.captures(first)[0].tolist())
        self.setup = Setup(tuple(black), tuple(white), to_play, sgf.handicap, captures)
        self.game, self.rules, self._max_moves = game, rules, room
        *self._history, self.states = replay.states
        self.moves, self.resigned = [Move(*move) for move in replay.moves], None

    def place_handicap(self, actions: Sequence[int]) -> None:
        """Puts Black's handicap stones on an empty board, after which White moves.

        Raises:
            GtpError: if the board is not empty.
        """
        if not self.is_untouched:
            raise GtpError("board not empty")
        self._begin(self.rules, Setup(tuple(actions), (), WHITE, len(actions)))

    def handicap_points(self, num_stones: int) -> list[int]:
        """Returns the fixed points of so many handicap stones.

        Raises:
            RulesError: if there are none for this number on this board.
        """
        return handicap_actions(num_stones, height=self._height, width=self._width)

    def states_for(self, color: int) -> States:
        """Returns the position [1] with a colour to move, in a game that is not over."""
        game, states = self.game, self.states
        if game.is_over(states)[0]:
            # To pass the turn to and fro forgets the passes.
            states = game.with_to_play(states, 1 - self.to_play)
            return states if self.to_play != color else game.with_to_play(states, color)
        return states if self.to_play == color else game.with_to_play(states, color)

    def is_legal(self, color: int, action: int) -> bool:
        """Returns whether a colour may make a move now."""
        return bool(self.game.legal_actions(self.states_for(color))[0, action])

    def play(self, color: int, action: int) -> None:
        """Makes a move for either colour.

        Raises:
            GtpError: if it is illegal, or there is no room for more moves.
        """
        if len(self.moves) >= MOST_MOVES:
            raise GtpError("game too long")
        if not self.is_legal(color, action):
            raise GtpError(ILLEGAL_MOVE)
        is_nearly_full = len(self.moves) >= _USED_SHARE * self._max_moves
        if is_nearly_full and self._max_moves < MOST_MOVES:
            self._make_room()
        self._history.append(self.states)
        self.states = self.game.step(self.states_for(color), [action])
        self.moves.append(Move(color, action))
        self.resigned = None

    def resign(self, color: int) -> None:
        """Notes that a colour gives up."""
        self.resigned = color

    def undo(self) -> None:
        """Takes back the last move.

        Raises:
            GtpError: if there was none.
        """
        if not self.moves:
            raise GtpError("cannot undo")
        self.states = self._history.pop()
        self.moves.pop()
        self.resigned = None

    def _begin(self, rules: GoRules, setup: Setup) -> None:
        """Starts a game; on an error everything stays as it was."""
        game = self._make_game(rules.with_bonus(setup.num_handicap))
        states = _starting_states(game, setup)
        self.game, self.rules, self.setup, self.states = game, rules, setup, states
        self.moves, self.resigned = [], None
        self._history = []

    def _make_game(self, rules: GoRules) -> Go:
        # A network sees the planes that it has learnt from, whatever the game's own are.
        return Go(height=self._height, width=self._width, rules=rules, max_moves=self._max_moves)

    def _make_room(self) -> None:
        """Doubles the number of moves that the states have room for, and plays the game again."""
        self._max_moves = min(2 * self._max_moves, MOST_MOVES)
        rules = self.game.rules
        # Moves that were legal when they were made are legal under these, whatever changed since.
        self.game = self._make_game(dataclasses.replace(rules, ko="simple", suicide=True))
        self.states = _starting_states(self.game, self.setup)
        self._history.clear()
        for color, action in self.moves:
            self._history.append(self.states)
            self.states = self.game.step(self.states_for(color), [action])
        self.game = self.game.with_rules(rules)


def _starting_states(game: Go, setup: Setup) -> States:
    if setup == Setup():
        return game.initial_states(1)
    return game.position(setup.black, setup.white, setup.to_play, captures=setup.captures)
