"""Commands about whole games: score, status of stones, and records in SGF.

`final_score` and the result that `printsgf` writes come from one function, `gtp_score.score`.
"""

import os.path
import re
from collections.abc import Mapping
from pathlib import Path

from alphago.errors import SgfError
from alphago.files import reason
from alphago.protocols.colors import BLACK, WHITE
from alphago.protocols.gtp import SYNTAX_ERROR, Command, GtpError, Handler, check_arguments
from alphago.protocols.gtp_board import GtpBoard
from alphago.protocols.gtp_board_commands import BoardCommands
from alphago.protocols.gtp_score import chains, dead_stones, result_text, score, score_text
from alphago.protocols.gtp_session import GtpSession
from alphago.protocols.gtp_values import read_integer
from alphago.protocols.sgf import SgfGame, SgfMove, SgfNode, iterate_sgf, write_sgf
from alphago.protocols.sgf_games import rules_name

_STATUSES = ("alive", "dead", "seki")
_MANY = 1_000_000  # arguments


class GameCommands:
    """The handlers."""

    def __init__(self, session: GtpSession, board_commands: BoardCommands) -> None:
        """Keeps the session, and what makes boards of other sizes."""
        self._session = session
        self._board_commands = board_commands

    def handlers(self) -> Mapping[str, Handler]:
        """Returns the handlers by command."""
        return {
            "final_score": self._final_score,
            "final_status_list": self._final_status_list,
            "loadsgf": self._load_sgf,
            "printsgf": self._print_sgf,
        }

    def _final_score(self, command: Command) -> str:
        check_arguments(command, usage="", at_least=0, at_most=0)
        remove_dead = self._session.options.remove_dead
        return score_text(score(self._session.board, remove_dead=remove_dead))

    def _final_status_list(self, command: Command) -> str:
        check_arguments(command, usage="|".join(_STATUSES), at_least=1, at_most=1)
        status = command.arguments[0]
        if status not in _STATUSES:
            raise GtpError(f"{SYNTAX_ERROR}: got {status!r}, allowed: {', '.join(_STATUSES)}")
        if status == "seki":
            return ""
        board = self._session.board
        dead = dead_stones(board)
        _, width = board.size
        found = chains(board.game.board(board.states)[0])
        return "\n".join(
            " ".join(self._session.vertex(row * width + column) for row, column in chain)
            for chain in found
            if dead[chain[0]] == (status == "dead")
        )

    # --- SGF ---

    def _load_sgf(self, command: Command) -> str:
        """Loads the first game's main line, up to but without the move of the given number."""
        check_arguments(command, usage="FILE [MOVE]", at_least=1, at_most=_MANY)
        path, stop = _split_path(command.rest)
        try:
            self._session.start_game(self._board_of(next(iterate_sgf(path)), stop))
        except SgfError as error:
            raise GtpError(f"cannot load file: {error}") from error
        return ""

    def _board_of(self, game: SgfGame, stop: int | None) -> GtpBoard:
        """Returns a board with the moves of a file, up to but without the one of this number.

        Raises:
            SgfError: if the player cannot play on such a board, or the rules forbid what is there.
        """
        try:
            board = self._board_commands.new_board(height=game.height, width=game.width)
        except GtpError as error:
            raise SgfError(f"{game.source}: {error}") from error
        board.load(game, up_to_move=stop)
        return board

    def _print_sgf(self, command: Command) -> str:
        """Writes the game to a file, or without one as the answer."""
        check_arguments(command, usage="[FILE]", at_least=0, at_most=_MANY)
        text = write_sgf(self._record())
        if not command.rest:
            return text
        try:
            Path(command.rest).write_text(text, encoding="utf-8")
        except (OSError, ValueError) as error:
            why = reason(error) if isinstance(error, OSError) else str(error)
            raise GtpError(f"cannot save file: {command.rest}: {why}") from error
        return ""

    def _record(self) -> SgfGame:
        board, name = self._session.board, self._session.name
        height, width = board.size
        setup = board.setup
        is_usual = setup.to_play == BLACK and setup.num_handicap < 2
        root = SgfNode(setup.black, setup.white, to_play=None if is_usual else setup.to_play)
        nodes: list[SgfNode] = []
        mover: int | None = None
        for color, action in board.moves:
            if color == mover:  # meant so: without PL a reader may think that a move is missing
                nodes.append(SgfNode(to_play=color))
            nodes.append(SgfNode(move=SgfMove(color, action)))
            mover = color
        if board.to_play == mover:
            nodes.append(SgfNode(to_play=mover))
        return SgfGame(
            width=width,
            height=height,
            nodes=(root, *nodes),
            komi=board.rules.komi,
            rules=rules_name(board.rules),
            handicap=setup.num_handicap,
            black_name=name if BLACK in self._session.played_colors else "",
            white_name=name if WHITE in self._session.played_colors else "",
            result=result_text(board, remove_dead=self._session.options.remove_dead),
        )


def _split_path(text: str) -> tuple[str, int | None]:
    """Splits `FILE [MOVE]`; a file's name may hold blanks, and end in a number."""
    path, _, last = text.rpartition(" ")
    # Not `Path.exists`, which raises for names that are too long or in folders that are closed.
    if not path or os.path.exists(text) or not re.fullmatch("[0-9]+", last):
        return text, None
    return path.rstrip(), read_integer(last, what="move", lowest=0)
