"""GTP engines as players: `gtp:COMMAND LINE`, such as `gtp:gnugo --mode gtp --level 10`.

Several programs share the games, so that many games at once use all CPUs. A program that fails has
forfeited the game it failed in; a new one serves the games that follow.
"""

import shlex
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from alphago.errors import PlayerError
from alphago.games.game import Game, check_states
from alphago.games.go.game import Go
from alphago.players.engine_board import EngineBoard
from alphago.players.engine_process import EngineFaultError, find_program
from alphago.players.game_follower import Forfeit, GameSoFar
from alphago.players.player import NamedPlayer, legal_actions_to_choose
from alphago.types import States

Answer = TypeVar("Answer")


class EngineSettings(NamedTuple):
    """How engines are run.

    Attributes:
        timeout_s: seconds a move may take. Other answers, the first one included, have two minutes.
        num_processes: programs at a time.
    """

    timeout_s: float = 60.0
    num_processes: int = 1


class EnginePlayer(NamedPlayer):
    """A GTP engine, as a player of positions and, without loss, of games (`GameFollower`)."""

    def __init__(
        self, game: Game, *, command_line: str, name: str, settings: EngineSettings
    ) -> None:
        """Finds the program; it is started with the first question.

        Args:
            game: the rules, of Go.
            command_line: the program and its arguments, split into words as a shell does.
            name: how the player is called in results.
            settings: see there.

        Raises:
            PlayerError: if the game is another one or the program cannot be found.
        """
        if not isinstance(game, Go):
            raise PlayerError(f"{name}: plays Go alone, got {game.spec.name}")
        try:
            words = shlex.split(command_line)
        except ValueError as error:  # a quotation mark without its partner
            raise PlayerError(f"{name}: cannot be split into words ({error})") from error
        self.name = name
        self._game = game
        self._command = find_program(words)
        self._timeout_s = settings.timeout_s
        self._boards: list[EngineBoard | None] = [None] * settings.num_processes
        self._has_started = False  # ever: an engine that does not start at all is a wrong input
        self._finalizer = weakref.finalize(self, _close_boards, self._boards)

    def choose_actions(self, states: States) -> npt.NDArray[np.int64]:
        """Chooses an action [B] for each position, see `Player`; of ko the engine knows nothing.

        Raises:
            FinishedGameError: if a position is over.
            PlayerError: if the engine fails or resigns.
        """
        legal_actions_to_choose(self._game, states)
        games = [GameSoFar(row, (), states[row : row + 1]) for row in range(len(states))]
        moves = self._ask_all(
            games,
            lambda board, game: board.choose_in_position(game.state),
            on_fault=_forfeit_of,
        )
        for move in moves:
            if isinstance(move, Forfeit):
                raise PlayerError(f"{self.name}: {move.kind}: {move.reason}")
        return np.array(moves, dtype=np.int64)

    def choose_in_games(self, games: Sequence[GameSoFar]) -> list[int | Forfeit]:
        """Chooses an action in each game, see `GameFollower`.

        Raises:
            StateError: if the states are not those of the player's game.
            PlayerError: if the engine cannot be started or refuses size, komi or rules.
        """
        for game in games:
            check_states(self._game, game.state)
        return self._ask_all(games, EngineBoard.choose, on_fault=_forfeit_of)

    def final_scores(self, games: Sequence[GameSoFar]) -> list[float | str]:
        """Asks for the final score of each game, see `GameFollower`."""
        return self._ask_all(games, EngineBoard.final_score, on_fault=str)

    def close(self) -> None:
        """Ends the programs; a later question starts new ones."""
        _close_boards(self._boards)

    def _ask_all(
        self,
        games: Sequence[GameSoFar],
        question: Callable[[EngineBoard, GameSoFar], Answer],
        *,
        on_fault: Callable[[EngineFaultError], Answer],
    ) -> list[Answer]:
        """Puts one question about every game, to all programs at a time.

        Raises:
            PlayerError: if no program could ever be started, or one refuses size, komi or rules.
        """
        if games and not self._has_started:
            self._boards[0] = self._start()
            self._has_started = True
        shares = self._deal(games)
        answers: dict[int, Answer] = {}
        interrupted = threading.Event()

        def serve(slot: int) -> None:
            for index in shares[slot]:
                if interrupted.is_set():
                    return
                answers[index] = self._ask(slot, games[index], question, on_fault=on_fault)

        with ThreadPoolExecutor(len(shares)) as threads:
            try:
                for _ in threads.map(serve, range(len(shares))):
                    pass
            except BaseException:  # Ctrl-C, or a program that cannot be used: nobody thinks on
                interrupted.set()
                for board in filter(None, self._boards):
                    board.kill()
                raise
        return [answers[index] for index in range(len(games))]

    def _ask(
        self,
        slot: int,
        game: GameSoFar,
        question: Callable[[EngineBoard, GameSoFar], Answer],
        *,
        on_fault: Callable[[EngineFaultError], Answer],
    ) -> Answer:
        """Puts a question to the program of a slot, starting it if there is none."""
        try:
            board = self._boards[slot] or self._start()
            self._boards[slot] = board
            return question(board, game)
        except EngineFaultError as fault:
            self._boards[slot] = None  # its process is gone
            return on_fault(fault)

    def _start(self) -> EngineBoard:
        return EngineBoard(self._game, self._command, timeout_s=self._timeout_s)

    def _deal(self, games: Sequence[GameSoFar]) -> list[list[int]]:
        """Returns for each program the games (by index) it shall be asked about, in order.

        A game that is on a program's board goes there; the others go to the least busy one, to one
        without a game if they can choose. So a few games each have a program of their own.
        """
        numbers = [board.number if board else None for board in self._boards]
        shares: list[list[int]] = [[] for _ in numbers]
        others = []
        for index, game in enumerate(games):
            if game.number in numbers:
                shares[numbers.index(game.number)].append(index)
            else:
                others.append(index)
        for index in others:
            slot = min(
                range(len(numbers)), key=lambda slot: (len(shares[slot]), numbers[slot] is not None)
            )
            shares[slot].append(index)
        return shares


def _forfeit_of(fault: EngineFaultError) -> int | Forfeit:
    return Forfeit(fault.kind, str(fault))


def _close_boards(boards: list[EngineBoard | None]) -> None:
    """Ends the programs and empties the list."""
    for slot, board in enumerate(boards):
        boards[slot] = None
        if board is not None:
            board.close()
