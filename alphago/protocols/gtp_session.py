"""What the commands of one GTP session share, and how their arguments are read on its board."""

from collections.abc import Callable
from dataclasses import dataclass

from alphago.errors import NotationError
from alphago.games.go.vertices import action_to_vertex, vertex_to_action
from alphago.protocols.gtp import INVALID_VERTEX, GtpError
from alphago.protocols.gtp_board import GtpBoard
from alphago.protocols.gtp_input import InputWatch
from alphago.protocols.gtp_thinkers import Thinkers
from alphago.protocols.gtp_time import TimeControl


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """How the engine plays.

    Attributes:
        seconds: to think about each move, in place of the player's number of simulations; None
            for that number.
        resign: win rate below which the engine gives up after three own moves in a row; None
            for never.
        ponder: whether it thinks on while the opponent does.
        answer_pass: whether it answers a pass by a pass when `final_score` wins.
        remove_dead: whether dead stones are taken off the score under area scoring too.
    """

    seconds: float | None
    resign: float | None
    ponder: bool
    answer_pass: bool
    remove_dead: bool


class GtpSession:
    """The state of one session.

    Attributes:
        board: the game; a command that starts another one replaces it.
        thinkers: who plays.
        time: the clocks.
        options: how the engine plays.
        watch: what is known about the input to come.
        now: seconds of a clock that never goes back.
        name: the player's name, for records of games.
        lost_moves: own moves in a row that looked lost, by colour; none after an undo.
        played_colors: the colours that the engine has made moves for.
        ponders: whether the opponent is to move, in a game that the engine plays.
    """

    def __init__(
        self,
        board: GtpBoard,
        thinkers: Thinkers,
        *,
        options: EngineOptions,
        watch: InputWatch,
        now: Callable[[], float],
        name: str,
    ) -> None:
        """Keeps everything."""
        self.board = board
        self.thinkers = thinkers
        self.options = options
        self.watch = watch
        self.now = now
        self.name = name
        self.time = TimeControl(now)
        self.lost_moves = [0, 0]
        self.played_colors: set[int] = set()
        self.ponders = False

    def start_game(self, board: GtpBoard) -> None:
        """Replaces the game; clocks and everything searched start anew."""
        self.board = board
        self.thinkers.forget()
        self.time.restart()
        self.lost_moves = [0, 0]
        self.played_colors = set()
        self.ponders = False

    def read_action(self, text: str) -> int:
        """Reads a vertex of the board.

        Raises:
            GtpError: if the text is none.
        """
        height, width = self.board.size
        try:
            return vertex_to_action(text, height=height, width=width)
        except NotationError as error:
            raise GtpError(INVALID_VERTEX) from error

    def vertex(self, action: int) -> str:
        """Returns the vertex of an action."""
        height, width = self.board.size
        return action_to_vertex(action, height=height, width=width)
