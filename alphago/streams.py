"""Standard streams, for programs whose work matters more than whether somebody reads of it."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_STANDARD = {"stdin": "r", "stdout": "w", "stderr": "w"}  # by file descriptor, from 0
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of a file: disk, quota or size


class LastingStream:
    """A stream that can always be written to, whatever has become of the one below.

    A file without room is tried again with the next text. Where the reader or the terminal has
    gone, nothing is written from then on.
    """

    def __init__(self, stream: TextIO) -> None:
        """Writes to `stream` for as long as that can be done."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes a text, or drops it."""
        with self._kept_on():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Writes what is left."""
        with self._kept_on():
            self._stream.flush()

    def end(self) -> None:
        """Writes what is left, and drops what still finds no room: Python would fail at its end."""
        try:
            self._stream.flush()
        except OSError:
            discard(self._stream)

    def __getattr__(self, name: str) -> Any:
        """Returns everything else as the stream below has it."""
        return getattr(self._stream, name)

    @contextmanager
    def _kept_on(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in NO_ROOM:
                discard(self._stream)


def tell(text: str, stream: TextIO | None = None) -> None:
    """Prints lines, or drops them, for work that goes on whether or not anybody reads of it.

    Args:
        text: the lines.
        stream: where to; standard output if None.
    """
    lasting = LastingStream(sys.stdout if stream is None else stream)
    lasting.write(f"{text}\n")
    lasting.end()


def open_closed_streams() -> None:
    """Has each standard stream that is closed lead nowhere, where Python has None in its place.

    The next file to be opened would take its descriptor, and get what libraries print.
    """
    for name, mode in _STANDARD.items():
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # takes the descriptor
            os.set_inheritable(nowhere, True)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8", closefd=False))


def escape_odd_names() -> None:
    """Has standard output take names of files that are no text, or not in its charset."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error does


def discard(stream: TextIO) -> None:
    """Has a stream lead nowhere; what it could not write would fail again when Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
