"""A person at a terminal, or anything else that writes lines of text."""

import contextlib
import sys
from typing import TextIO

import numpy as np
import numpy.typing as npt

from alphago.errors import NotationError
from alphago.games.game import Game
from alphago.players.advice import advice_table
from alphago.players.player import Advisor, NamedPlayer, legal_actions_to_choose
from alphago.types import States

_MAX_LISTED_MOVES = 12  # a longer list would hide the board

HINT_LEGEND = (
    "visits = share of the search, value or win rate from your view, prior = before the search"
)


class HumanQuit(Exception):
    """The person wants to leave, or the input has ended. Not an error: scripts end cleanly."""


class UndoRequested(Exception):
    """The person wants to take back a move. Whoever runs the game does it, see `play_game`."""


class HumanPlayer(NamedPlayer):
    """Asks for each move until the answer is a legal one.

    Attributes:
        name: how the player is called in results.
        advisor: answers `hint`, None for nobody.
        opponent: the name of the other player, None without one; `play_game` sets it.
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
        self.opponent: str | None = None
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
                self._help()
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
        try:
            line = self._next_line(f"Your move ({self._moves(state)}, ? for help): ")
        except UnicodeDecodeError as error:
            self._tell(f"\nThat is no text: {error}")
            return ""
        if not line:
            self._tell("")
            raise HumanQuit("the input ended")
        return line.strip()

    def _next_line(self, prompt: str) -> str:
        """Prompts, and returns the next line with its end, "" where the input has ended."""
        if self._lines is sys.stdin and self._screen is sys.stdout and self._lines.isatty():
            with contextlib.suppress(ImportError):  # not every Python has it
                import readline  # noqa: F401  with it `input` lets a person edit the line
            try:
                return input(prompt) + "\n"
            except EOFError:
                return ""
        self._screen.write(prompt)
        self._screen.flush()
        return self._lines.readline()

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

    def _help(self) -> None:
        self._tell("Type a move to play it. Other commands:")
        self._tell("  ?, help    this text")
        if self.advisor is not None:
            self._tell("  hint       the best moves")
        self._tell("  undo       take back your last move")
        self._tell("  q, quit    leave the game")

    def _hint(self, state: States) -> None:
        if self.advisor is None:
            who = "Nobody here gives" if self.opponent is None else f"{self.opponent} gives no"
            self._tell(f"{who} hints; networks and the classical players do.")
            return
        self._tell(HINT_LEGEND)
        self._tell(advice_table(self.advisor.analyse(state)[0]))

    def _undo(self) -> None:
        if self.can_undo:
            raise UndoRequested("the player takes back a move")
        self._tell("Moves cannot be taken back here.")

    def _tell(self, text: str) -> None:
        self._screen.write(text + "\n")
