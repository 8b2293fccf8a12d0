"""One GTP engine with a game of Go on its board: what is said to it, and what its answers mean.

An engine plays one game at a time. It is told the moves it has not seen yet; where another game
has to be put on its board, or the moves differ, the board is cleared and the game is played again
from its start, which costs little beside the thinking.
"""

import re
import shlex
from collections.abc import Sequence

import numpy as np

from alphago.errors import NotationError, PlayerError
from alphago.games.go.game import Go
from alphago.games.go.rules import KGS_NAMES, format_points, rule_set_name, rules_json
from alphago.players.engine_process import CommandRefusedError, EngineFaultError, EngineProcess
from alphago.players.game_follower import Forfeit, ForfeitKind, GameSoFar
from alphago.types import States

_COLOURS = ("b", "w")  # by player id
# Seconds for every answer but a move: the first one may wait for a network to load.
_PATIENCE_S = 120.0


class EngineBoard:
    """A running engine. Not for several threads at a time, but for `kill`."""

    def __init__(self, game: Go, command: Sequence[str], *, timeout_s: float) -> None:
        """Starts the engine and tells it size, komi and, where it can be told, the rules.

        Args:
            game: the rules.
            command: the program's path and its arguments.
            timeout_s: seconds a move may take.

        Raises:
            PlayerError: if it cannot be started or refuses size, komi or rules.
            EngineFaultError: if it breaks off.
        """
        self.number: int | None = None  # of the game last on the board
        self._game = game
        self._timeout_s = timeout_s
        self._actions: list[int] | None = None  # on its board, None where that is not known
        self._knows_handicap = False
        self._process = EngineProcess(command)
        try:
            self._set_up()
        except CommandRefusedError as error:
            self.close()
            raise PlayerError(f"{shlex.join(command)}: {error}") from error
        except BaseException:  # Ctrl-C too: nobody else knows this process
            self.close()
            raise

    def choose(self, so_far: GameSoFar) -> int | Forfeit:
        """Returns the engine's move in a game, or that it resigned.

        Raises:
            EngineFaultError: if it does anything else; the board is closed then.
        """
        self._follow(so_far)
        move = self._generate(so_far.state)
        if isinstance(move, Forfeit):
            self._actions = None
        else:
            assert self._actions is not None, "has just been followed"
            self._actions.append(move)
        return move

    def choose_in_position(self, state: States) -> int | Forfeit:
        """Returns the engine's move in a position [1] of which the game is not known.

        The stones are put down one by one, in an order of no meaning: parts of a position never
        lack liberties, so none is captured. The engine knows of no ko then.

        Raises:
            EngineFaultError: as in `choose`.
        """
        self._clear()
        self._actions = None
        stones = self._game.board(state)[0].reshape(-1)
        for action in np.flatnonzero(stones >= 0).tolist():
            self._play(int(stones[action]), action)
        return self._generate(state)

    def final_score(self, so_far: GameSoFar) -> float | str:
        """Returns the engine's score of a finished game, Black's points less White's.

        Where it gives none, its words say why.

        Raises:
            EngineFaultError: if it breaks off or refuses a move of the game.
        """
        self._follow(so_far)
        try:
            answer = self._process.ask("final_score", timeout_s=_PATIENCE_S)
        except CommandRefusedError as error:
            return f"final_score refused: {error}"
        return _read_score(answer)

    def close(self) -> None:
        """Ends the engine."""
        self._process.close()

    def kill(self) -> None:
        """Ends the engine at once; another thread that waits for its answer gets a fault."""
        self._process.kill()

    def _set_up(self) -> None:
        """Tells the engine what all games have in common."""
        known = self._ask("list_commands").split()
        height, width = self._game.height, self._game.width
        if height == width:
            self._ask(f"boardsize {width}")
        else:
            self._ask(f"rectangular_boardsize {width} {height}")
        rules = self._game.rules
        if "kata-set-rules" in known:
            self._ask(f"kata-set-rules {rules_json(rules)}")
        elif "kgs-rules" in known and rule_set_name(rules) in KGS_NAMES:
            self._ask(f"kgs-rules {rule_set_name(rules)}")
        self._ask(f"komi {format_points(rules.komi)}")
        self._knows_handicap = "set_free_handicap" in known

    def _ask(self, command: str) -> str:
        """Asks something that a right engine does not refuse."""
        try:
            return self._process.ask(command, timeout_s=_PATIENCE_S)
        except CommandRefusedError as error:
            raise CommandRefusedError(f"refuses {command!r}: {error}") from error

    def _follow(self, so_far: GameSoFar) -> None:
        """Brings the engine's board up to the game."""
        actions = list(so_far.actions)
        if self._actions is None or actions[: len(self._actions)] != self._actions:
            self._clear()
            self._actions = []
        self.number = so_far.number
        first = int(self._game.to_play(self._game.initial_states(1))[0])
        for ply in range(len(self._actions), len(actions)):
            self._play((first + ply) % 2, actions[ply], move_number=ply + 1)
            self._actions.append(actions[ply])

    def _clear(self) -> None:
        """Puts the start of the game on the engine's board, with its handicap stones."""
        stones = np.flatnonzero(self._game.board(self._game.initial_states(1))[0].reshape(-1) >= 0)
        try:
            self._ask("clear_board")
            if stones.size and self._knows_handicap:
                vertices = [self._game.action_to_text(action) for action in stones.tolist()]
                self._ask(f"set_free_handicap {' '.join(vertices)}")
                return
        except CommandRefusedError as error:
            raise self._fault(ForfeitKind.REFUSAL, str(error)) from error
        for action in stones.tolist():
            self._play(0, action)

    def _play(self, player: int, action: int, *, move_number: int = 0) -> None:
        """Plays a stone or pass on the engine's board."""
        try:
            self._ask(f"play {_COLOURS[player]} {self._game.action_to_text(action)}")
        except CommandRefusedError as error:
            where = f"move {move_number}: " if move_number else ""
            raise self._fault(ForfeitKind.REFUSAL, f"{where}{error}") from error

    def _generate(self, state: States) -> int | Forfeit:
        """Asks for a move in the position [1] on the engine's board, and checks it."""
        command = f"genmove {_COLOURS[int(self._game.to_play(state)[0])]}"
        try:
            answer = self._process.ask(command, timeout_s=self._timeout_s)
        except CommandRefusedError as error:
            raise self._fault(ForfeitKind.REFUSAL, f"refuses {command!r}: {error}") from error
        if answer.lower() == "resign":
            return Forfeit(ForfeitKind.RESIGNATION, "resigned")
        try:
            action = self._game.text_to_action(answer)
        except NotationError as error:
            raise self._fault(ForfeitKind.ILLEGAL_MOVE, f"answered {command!r}: {error}") from error
        if not self._game.legal_actions(state)[0, action]:
            raise self._fault(ForfeitKind.ILLEGAL_MOVE, f"played {answer}, which is illegal here")
        return action

    def _fault(self, kind: ForfeitKind, message: str) -> EngineFaultError:
        """Closes the board, whose engine is not trusted any more, and builds the error."""
        self.close()
        return EngineFaultError(kind, f"{self._process.name}: {message}")


def _read_score(answer: str) -> float | str:
    """Reads "B+3.5", "W+12" or "0"; other texts, such as "?", come back in a sentence.

    So does a number with more digits than any score has, which may be infinite as a float.
    """
    text = answer.strip().upper()
    if text in ("0", "DRAW", "JIGO"):
        return 0.0
    match = re.fullmatch(r"([BW])\+([0-9]{1,9}(?:\.[0-9]{0,9})?)", text)
    if match is None:
        return f"final_score answered {answer[:40]!r}"
    return float(match[2]) if match[1] == "B" else -float(match[2])
