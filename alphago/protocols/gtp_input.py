"""The lines that a controller sends, read by a thread, so that thinking can look out for more.

A search wants to know whether there is a word at all (an analysis ends then), and whether the
session is about to end: `quit` was sent, the input has ended, or nobody reads the answers.
"""

import re
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

from alphago.protocols.gtp import parse_command

_CHUNK = 1 << 16  # bytes
_LONGEST_LINE = 1 << 20  # bytes; what is longer is no command
_MOST_WAITING = 10_000  # lines; whoever sends more waits until some are answered
_TOO_LONG = "a_line_of_more_than_1_MiB"  # stands for one, and is no command


class InputWatch(Protocol):
    """What can be asked about the input that was not answered yet."""

    def is_waiting(self) -> bool:
        """Returns whether there is a line, an empty one too, or the end of the input."""
        ...

    def is_ending(self) -> bool:
        """Returns whether the session ends after the lines there are, or nobody reads answers."""
        ...

    def wait(self, seconds: float | None) -> bool:
        """Waits until `is_waiting`, at most so many seconds; returns `is_waiting`."""
        ...


class InputLines:
    """Lines of a stream, in order. An `InputWatch`."""

    def __init__(
        self, read: Callable[[int], bytes], *, is_read: Callable[[], bool] | None = None
    ) -> None:
        """Starts to read.

        Args:
            read: returns at most so many bytes, as soon as there are any, and none at the end.
            is_read: tells whether somebody may still read the answers; None for always.
        """
        self._read = read
        self._is_read = is_read
        self._lines: deque[str] = deque()
        self._has_ended = False
        self._is_ending = False
        self._changed = threading.Condition()
        # A daemon: nothing has to wait for a reader that is blocked when the program ends.
        threading.Thread(target=self._read_all, name="gtp-input", daemon=True).start()

    def is_waiting(self) -> bool:
        """See `InputWatch`."""
        return bool(self._lines) or self._has_ended

    def is_ending(self) -> bool:
        """See `InputWatch`."""
        return self._is_ending or (self._is_read is not None and not self._is_read())

    def wait(self, seconds: float | None) -> bool:
        """See `InputWatch`."""
        with self._changed:
            return self._changed.wait_for(self.is_waiting, seconds)

    def next(self) -> str | None:
        """Returns the next line as soon as there is one, None at the end of the input."""
        with self._changed:
            self._changed.wait_for(self.is_waiting)
            line = self._lines.popleft() if self._lines else None
            self._changed.notify_all()
            return line

    def _read_all(self) -> None:
        rest = bytearray()  # of a line whose end is not there yet, not much more than the longest
        while chunk := self._read_chunk():
            *lines, end = chunk.split(b"\n")
            if lines:
                lines[0] = bytes(rest) + lines[0]
                rest.clear()
            if len(rest) <= _LONGEST_LINE:
                rest += end
            self._add(lines)
        self._add([bytes(rest)] if rest else [])
        with self._changed:
            self._has_ended = self._is_ending = True
            self._changed.notify_all()

    def _read_chunk(self) -> bytes:
        try:
            return self._read(_CHUNK)
        except OSError:  # a terminal that was closed: the end, as any other
            return b""

    def _add(self, lines: list[bytes]) -> None:
        # Names of files need not be UTF-8, and have to come out as they went in.
        texts = [
            line.decode("utf-8", "surrogateescape")
            if len(line) <= _LONGEST_LINE
            else _id_of(line) + _TOO_LONG
            for line in lines
        ]
        # Settled here, once for each line: a search asks after every simulation.
        has_quit = any(map(_is_quit, texts))
        with self._changed:
            self._changed.wait_for(lambda: len(self._lines) < _MOST_WAITING)
            self._lines.extend(texts)
            self._is_ending = self._is_ending or has_quit
            self._changed.notify_all()


def _id_of(line: bytes) -> str:
    """Returns the number that a long line begins with, and a blank."""
    found = re.match(rb"[0-9]{1,20}(?= )", line)
    return f"{found[0].decode('ascii')} " if found else ""


def _is_quit(line: str) -> bool:
    command = parse_command(line)
    return command is not None and command.name == "quit"
