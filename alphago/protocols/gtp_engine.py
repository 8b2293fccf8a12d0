"""`GtpEngine`: all commands of one session, and the loop that answers them in order."""

import logging
from collections.abc import Callable, Iterator

from alphago.protocols.gtp import GtpDispatcher
from alphago.protocols.gtp_board_commands import BoardCommands
from alphago.protocols.gtp_game_commands import GameCommands
from alphago.protocols.gtp_input import InputLines
from alphago.protocols.gtp_session import GtpSession
from alphago.protocols.gtp_think_commands import ThinkCommands
from alphago.protocols.gtp_time_commands import TimeCommands

NAME = "alphago"

logger = logging.getLogger(__name__)


class GtpEngine:
    """Answers GTP commands about one session."""

    def __init__(self, session: GtpSession, *, version: str) -> None:
        """Collects the commands.

        Args:
            session: the state they share.
            version: of the program.
        """
        board_commands = BoardCommands(session)
        self._think_commands = ThinkCommands(session)
        handlers = {
            **board_commands.handlers(),
            **GameCommands(session, board_commands).handlers(),
            **self._think_commands.handlers(),
            **TimeCommands(session).handlers(),
        }
        self._dispatcher = GtpDispatcher(handlers, name=NAME, version=version)

    @property
    def has_quit(self) -> bool:
        """Whether `quit` was answered."""
        return self._dispatcher.has_quit

    def respond(self, line: str) -> Iterator[str]:
        """Yields the response to one line in pieces, each to be written and flushed at once."""
        return self._dispatcher.respond(line)

    def answer(self, line: str) -> str:
        """Returns the whole response to one line, "" for a line without a command."""
        return self._dispatcher.answer(line)

    def ponder(self) -> bool:
        """Thinks a little while no command is there; returns False where nothing is to be done."""
        return self._think_commands.ponder()


def serve(engine: GtpEngine, lines: InputLines, *, write: Callable[[str], None]) -> None:
    """Answers lines in order until `quit`, the end of the input, or the end of who reads.

    Args:
        engine: answers.
        lines: the input.
        write: writes a piece of a response and flushes it.
    """
    try:
        while not engine.has_quit:
            while not lines.is_waiting() and engine.ponder():
                pass
            line = lines.next()
            if line is None:
                logger.info("end of the input")
                return
            logger.info("< %s", line)
            for piece in engine.respond(line):
                logger.info("> %s", piece.rstrip("\n"))
                write(piece)
    except BrokenPipeError:
        logger.info("nobody reads the answers any more")
