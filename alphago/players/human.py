"""A person at a terminal, or anything else that writes lines of text."""

from typing import TextIO

import numpy as np
import numpy.typing as npt

from alphago.errors import NotationError
from alphago.games.game import Game
from alphago.players.player import Advisor, advice_table, legal_actions_to_choose
from alphago.types import States

_MAX_LISTED_MOVES = 12  # a longer list would hide the board

HELP = """\
Type a move to play it. Other commands:
  ?, help    this text
  hint       the best moves, if an advisor is at the table
  undo       take back your last move
  q, quit    leave the game"""


class HumanQuit(Exception):
    """The person wants to leave, or the input has ended. Not an error: scripts end cleanly."""


class UndoRequested(Exception):
    """The person wants to take back a move. Whoever runs the game does it, see `play_game`."""


class HumanPlayer:
    """Asks for each move until the answer is a legal one.

    Attributes:
        name: how the player is called in results.
        advisor: answers `hint`, None for nobody.
        can_undo: whether whoever runs the game handles `UndoRequested`; `play_game` sets it.
    """

    def __init__(self, game: Game, *, lines: TextIO, screen: TextIO, name: str = "human") -> None:
        """Sits down.

        Args:
            game: the rules.
            lines: where answers are read, one per line.
            screen: where boards, prompts and messages are written.
            name: how the player is called in results.
        """
        self.game = game
        self.name = name
        self.advisor: Advisor | None = None
        self.can_undo = False
        self._lines = lines
        self._screen = screen

    def choose_actions(self, states: States) -> npt.NDArray[np.int64]:
        """Asks for an action [B] in each position, see `Player`.

        Raises:
            FinishedGameError: if a position is over.
            HumanQuit: if the person leaves or the input ends.
            UndoRequested: if the person takes back a move.
        """
        legal_actions_to_choose(self.game, states)
        actions = [self._ask(states[row : row + 1]) for row in range(len(states))]
        return np.array(actions, dtype=np.int64)

    def _ask(self, state: States) -> int:
        """Returns a legal action for one position [1]."""
        self._tell(self.game.render(state[0]))
        while True:
            text = self._read(state)
            if text in ("q", "quit"):
                raise HumanQuit("the player left the game")
            if text in ("", "?", "help"):
                self._tell(HELP)
            elif text == "hint":
                self._hint(state)
            elif text == "undo":
                self._undo()
            else:
                action = self._legal_action(text, state)
                if action is not None:
                    return action

    def _read(self, state: States) -> str:
        """Prompts, and returns the answer without surrounding blanks."""
        self._screen.write(f"Your move ({self._moves(state)}, ? for help): ")
        self._screen.flush()
        try:
            line = self._lines.readline()
        except UnicodeDecodeError as error:
            self._tell(f"\nThat is no text: {error}")
            return ""
        if not line:
            self._tell("")
            raise HumanQuit("the input ended")
        return line.strip()

    def _moves(self, state: States) -> str:
        """Returns the legal moves, or how they look where they are many."""
        legal = np.flatnonzero(self.game.legal_actions(state)[0]).tolist()
        moves = [self.game.action_to_text(action) for action in legal]
        if len(moves) > _MAX_LISTED_MOVES:
            return f"such as {moves[0]} or {moves[-1]}"
        return " ".join(moves)

    def _legal_action(self, text: str, state: States) -> int | None:
        """Returns the action of a move's text, or says what is wrong with it."""
        try:
            action = self.game.text_to_action(text)
        except NotationError as error:
            self._tell(str(error))
            return None
        if not self.game.legal_actions(state)[0, action]:
            self._tell(f"{text} is not legal here, allowed: {self._moves(state)}")
            return None
        return action

    def _hint(self, state: States) -> None:
        if self.advisor is None:
            self._tell("There is no advisor at this table.")
            return
        self._tell(advice_table(self.advisor.analyse(state)[0]))

    def _undo(self) -> None:
        if self.can_undo:
            raise UndoRequested("the player takes back a move")
        self._tell("Moves cannot be taken back here.")

    def _tell(self, text: str) -> None:
        self._screen.write(text + "\n")
