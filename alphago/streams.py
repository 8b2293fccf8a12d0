"""Standard streams, for programs whose work matters more than whether somebody reads of it."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

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


def discard(stream: TextIO) -> None:
    """Has a stream lead nowhere; what it could not write would fail again when Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
