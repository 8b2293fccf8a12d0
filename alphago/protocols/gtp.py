"""The Go Text Protocol, version 2: lines in, responses out, and the table of commands between.

A command is a line `[id] name arguments`; its response is `=[id] text` or `?[id] reason`, and an
empty line. Control characters are dropped, a tab is a space, `#` begins a comment, and a line with
nothing else gets no response. See the specification, version 2 draft 2, sections 2 and 3.

Nothing here reads or writes: `GtpDispatcher.respond` yields the pieces of a response, each of which
is to be written and flushed at once. Only commands that report while they think have several.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from alphago.errors import AlphagoError

logger = logging.getLogger(__name__)

PROTOCOL_VERSION = "2"
SYNTAX_ERROR = "syntax error"
UNKNOWN_COMMAND = "unknown command"
ILLEGAL_MOVE = "illegal move"
INVALID_VERTEX = "invalid color or coordinate"

# Of a reason: what controllers sent is told back, and may be of any length.
_LONGEST_WORD = 60  # but for paths, which are of use as a whole
_LONGEST_REASON = 400

_BYTE_ORDER_MARK = "\ufeff"  # before the first line of a file that was written on Windows
_DROPPED = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # control characters but the tab
_LINE = re.compile(r"(?:(?P<id>[0-9]+)(?: +|$))?(?P<name>[^ ]*) *(?P<rest>.*)")


class GtpError(AlphagoError):
    """A command is refused; the message is the text after `?`, in the protocol's words."""


class Command(NamedTuple):
    """One command as it was sent.

    Attributes:
        id: the digits before the name, "" where there are none.
        name: the command.
        arguments: its words.
        rest: the same as one text, for arguments that hold blanks themselves.
    """

    id: str
    name: str
    arguments: tuple[str, ...]
    rest: str


# A plain command answers with its text, one that reports while it thinks with its lines.
Handler: TypeAlias = Callable[[Command], str] | Callable[[Command], Iterator[str]]


def parse_command(line: str) -> Command | None:
    """Reads a line; None where it holds no command."""
    text = line.removeprefix(_BYTE_ORDER_MARK).replace("\t", " ")
    text = _DROPPED.sub("", text).partition("#")[0].strip(" ")
    if not text:
        return None
    match = _LINE.fullmatch(text)
    assert match is not None, "the pattern takes every line"
    rest = match["rest"]
    arguments = tuple(word for word in rest.split(" ") if word)
    return Command(match["id"] or "", match["name"], arguments, rest)


def format_success(command_id: str, text: str = "") -> str:
    """Returns a response; empty lines inside the text, which would end it, are left out.

    A text that begins with a line break begins on a line of its own: a drawing.
    """
    body = "\n".join(line for line in text.split("\n") if line.strip())
    if not body:
        return f"={command_id}\n\n"
    gap = "\n" if text.startswith("\n") else " "
    return f"={command_id}{gap}{body}\n\n"


def format_failure(command_id: str, reason: str) -> str:
    """Returns the response of a refused command, always one line, long texts cut short."""
    words = reason.split()
    text = " ".join(word if "/" in word else _shortened(word, _LONGEST_WORD) for word in words)
    return f"?{command_id} {_shortened(text, _LONGEST_REASON)}\n\n"


def _shortened(text: str, longest: int) -> str:
    """Returns a text of at most so many characters, the middle left out."""
    if len(text) <= longest:
        return text
    head, tail = longest // 2, longest - longest // 2 - len("...")
    return f"{text[:head]}...{text[-tail:]}"


def check_arguments(command: Command, *, usage: str, at_least: int, at_most: int) -> None:
    """Checks how many arguments there are.

    Raises:
        GtpError: if there are too few or too many.
    """
    if not at_least <= len(command.arguments) <= at_most:
        raise GtpError(f"{SYNTAX_ERROR}: expected {command.name} {usage}".rstrip())


class GtpDispatcher:
    """Finds the handler of each command and frames its answer.

    Attributes:
        has_quit: whether `quit` was answered: nothing is to be read any more.
    """

    has_quit: bool

    def __init__(self, handlers: Mapping[str, Handler], *, name: str, version: str) -> None:
        """Takes the commands beside the administrative ones, which it answers itself.

        Args:
            handlers: the other commands.
            name: of the program.
            version: of the program.
        """
        self.has_quit = False
        self._handlers: dict[str, Handler] = {
            "protocol_version": lambda command: PROTOCOL_VERSION,
            "name": lambda command: name,
            "version": lambda command: version,
            "known_command": self._known_command,
            "list_commands": lambda command: "\n".join(self._handlers),
            "quit": self._quit,
            **handlers,
        }

    def respond(self, line: str) -> Iterator[str]:
        """Yields the response to one line in pieces; nothing for a line without a command."""
        command = parse_command(line)
        if command is None:
            return
        handler = self._handlers.get(command.name)
        if handler is None:
            yield format_failure(command.id, UNKNOWN_COMMAND)
            return
        try:
            answer = handler(command)
        except AlphagoError as error:
            yield format_failure(command.id, str(error))
            return
        if isinstance(answer, str):
            yield format_success(command.id, answer)
        else:
            yield from _respond_in_lines(command, answer)

    def answer(self, line: str) -> str:
        """Returns the whole response to one line, "" for a line without a command."""
        return "".join(self.respond(line))

    def _known_command(self, command: Command) -> str:
        check_arguments(command, usage="COMMAND", at_least=1, at_most=1)
        return "true" if command.arguments[0] in self._handlers else "false"

    def _quit(self, command: Command) -> str:
        self.has_quit = True
        return ""


def _respond_in_lines(command: Command, lines: Iterator[str]) -> Iterator[str]:
    """Yields the head with the first line, the other lines as they come, and the empty line."""
    is_begun = False
    try:
        for line in lines:
            yield line + "\n" if is_begun else f"={command.id}\n{line}\n"
            is_begun = True
    except AlphagoError as error:
        if not is_begun:
            yield format_failure(command.id, str(error))
            return
        # The response has begun with `=`, which cannot be taken back.
        logger.error("%s ended early: %s", command.name, error)
    yield "\n" if is_begun else format_success(command.id)
