"""A program that speaks GTP 2 through pipes: start it, ask it, end it.

Of the protocol (G. Farnebäck, "GTP version 2", 2002) this module knows how commands and answers are
framed: a command is a line that starts with a number, its answer begins with `=` (done) or `?`
(refused) and that number, and ends with an empty line. What commands mean is `engine_board.py`'s
matter. Whatever else a program writes on standard output is a protocol error; standard error is
read, so that a talkative program never waits for a reader, and its last line is quoted in errors.
"""

import contextlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence

from alphago.errors import PlayerError
from alphago.files import reason
from alphago.players.game_follower import ForfeitKind

# Debian puts games here, which the PATH of services and of root often lacks.
GAMES_FOLDER = "/usr/games"

_QUIT_S = 2.0  # time to end after `quit`
_EXIT_S = 1.0  # time to be gone after the end of standard output
_MAX_ANSWER_BYTES = 1 << 20  # a program that writes more at a time has gone astray
_READ_BYTES = 1 << 16
_LAST_WORDS_BYTES = 4096  # of standard error, kept for messages
_MAX_QUOTE = 120  # characters of the program's own words in a message


class CommandRefusedError(PlayerError):
    """The program answered `?`. Its process goes on; the message is the program's."""


class EngineFaultError(PlayerError):
    """The program broke off or broke the protocol; its process has been ended."""

    def __init__(self, kind: ForfeitKind, message: str) -> None:
        """Keeps both."""
        super().__init__(kind, message)  # what pickle hands on
        self.kind = kind
        self.message = message

    def __str__(self) -> str:
        """Returns the message."""
        return self.message


def find_program(command: Sequence[str]) -> list[str]:
    """Returns a command with its program's path, looked for on PATH and then in /usr/games.

    Raises:
        PlayerError: if the command is empty or there is no such program.
    """
    if not command:
        raise PlayerError("gtp: got no command, allowed: gtp:PROGRAM [ARGUMENT ...]")
    path = shutil.which(command[0]) or shutil.which(command[0], path=GAMES_FOLDER)
    if path is None:
        raise PlayerError(
            f"{command[0]}: no such program (looked for on PATH and in {GAMES_FOLDER}),"
            " allowed: a GTP engine that is installed"
        )
    return [path, *command[1:]]


class EngineProcess:
    """One running program. Not for several threads at a time, but for `kill`.

    Attributes:
        name: the program's, for messages.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Starts the program.

        Args:
            command: the program's path and its arguments.

        Raises:
            PlayerError: if it cannot be started.
        """
        self.name = os.path.basename(command[0])
        try:
            # A session of its own: Ctrl-C in our terminal is ours to handle, and a program that
            # was started through a script can be ended together with it.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise PlayerError(
                f"{shlex.join(command)}: cannot be started ({reason(error)})"
            ) from error
        self._output = bytearray()  # read, but not yet part of an answer
        self._last_words = b""  # the end of standard error
        self._output_ended = False
        self._num_commands = 0
        self._selector = selectors.DefaultSelector()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None, "asked for a pipe"
            self._selector.register(stream, selectors.EVENT_READ)

    @property
    def is_running(self) -> bool:
        """Whether it can be asked; False after `close` and after a fault."""
        return not self._has_been_reaped()

    def ask(self, command: str, *, timeout_s: float) -> str:
        """Gives a command and waits for the answer.

        Args:
            command: the command and its arguments, without a number.
            timeout_s: seconds the answer may take.

        Returns:
            The answer's text, without the status, the number and surrounding white space.

        Raises:
            CommandRefusedError: if the program answers `?`.
            EngineFaultError: if it ends, does not answer in time or answers anything but GTP; its
                process is gone then.
        """
        self._num_commands += 1
        deadline = time.monotonic() + timeout_s
        self._send(command)
        while (answer := self._take_answer(command)) is None:
            if self._output_ended:
                raise self._crash(f"ended at {command!r}")
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                raise self._fault(
                    ForfeitKind.TIMEOUT, f"no answer to {command!r} within {timeout_s:g} s"
                )
            self._read(remaining_s)
        status, _, text = answer.partition(str(self._num_commands))
        if status not in ("=", "?") or (text and not text[0].isspace()):
            raise self._fault(
                ForfeitKind.PROTOCOL_ERROR,
                f"answered {_quote(answer)} to {command!r}, allowed: ={self._num_commands} or"
                f" ?{self._num_commands} and a text",
            )
        if status == "?":
            raise CommandRefusedError(_quote(text.strip()))
        return text.strip()

    def close(self) -> None:
        """Asks the program to quit, and ends it where it does not; a second call does nothing."""
        if not self.is_running:
            return
        try:
            # Whatever it says to that, and if it dies of it: it shall only be gone.
            with contextlib.suppress(
                EngineFaultError, CommandRefusedError, subprocess.TimeoutExpired
            ):
                self.ask("quit", timeout_s=_QUIT_S)
                self._close_input()
                self._wait_for_silence(_QUIT_S)
                self._process.wait(_QUIT_S)
        finally:  # Ctrl-C may come while it hesitates
            self._end()

    def kill(self) -> None:
        """Ends the program at once. For another thread: the one that asks then gets a fault."""
        if self.is_running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _send(self, command: str) -> None:
        """Writes a command, with its number."""
        assert self._process.stdin is not None, "asked for a pipe"
        assert self.is_running, "asked a program that has ended"
        try:
            self._process.stdin.write(f"{self._num_commands} {command}\n".encode())
        except OSError:  # nobody reads the pipe any more
            raise self._crash(f"has ended before {command!r}") from None

    def _take_answer(self, command: str) -> str | None:
        """Returns the next whole answer out of the output, None while there is none."""
        text = bytes(self._output).replace(b"\r", b"").lstrip()
        if text and text[:1] not in b"=?":
            line = text.partition(b"\n")[0].decode(errors="replace")
            raise self._fault(
                ForfeitKind.PROTOCOL_ERROR, f"wrote {_quote(line)}, no GTP, at {command!r}"
            )
        answer, end, rest = text.partition(b"\n\n")
        if not end:
            if len(text) > _MAX_ANSWER_BYTES:
                raise self._fault(
                    ForfeitKind.PROTOCOL_ERROR, f"answered {command!r} without an end"
                )
            return None
        self._output[:] = rest
        return answer.decode(errors="replace")

    def _read(self, timeout_s: float) -> None:
        """Waits for something on either stream, until the time is up, and takes it in."""
        for key, _ in self._selector.select(timeout_s):
            data = os.read(key.fd, _READ_BYTES)
            is_output = key.fileobj is self._process.stdout
            if not data:
                self._selector.unregister(key.fileobj)
                self._output_ended |= is_output
            elif is_output:
                self._output += data
            else:
                self._last_words = (self._last_words + data)[-_LAST_WORDS_BYTES:]

    def _wait_for_silence(self, timeout_s: float) -> None:
        """Reads until the program has closed its streams or the time is up."""
        deadline = time.monotonic() + timeout_s
        while self._selector.get_map() and (left_s := deadline - time.monotonic()) > 0:
            self._read(left_s)
            self._output.clear()

    def _crash(self, what: str) -> EngineFaultError:
        """Builds the error of a program that ended by itself, with its exit code."""
        self._wait_for_silence(_EXIT_S)
        try:
            code = self._process.wait(_EXIT_S)
            what += f" by {signal.Signals(-code).name}" if code < 0 else f" with exit code {code}"
        except subprocess.TimeoutExpired:
            what += ", its output at least"
        return self._fault(ForfeitKind.CRASH, what)

    def _fault(self, kind: ForfeitKind, what: str) -> EngineFaultError:
        """Ends the process and builds the error."""
        if self._selector.get_map():
            self._read(0.0)  # for the last words
        self._end()
        lines = self._last_words.decode(errors="replace").strip().splitlines()
        words = f"; last line on standard error: {_quote(lines[-1])}" if lines else ""
        return EngineFaultError(kind, f"{self.name}: {what}{words}")

    def _close_input(self) -> None:
        assert self._process.stdin is not None, "asked for a pipe"
        with contextlib.suppress(OSError):  # the program may be gone
            self._process.stdin.close()

    def _has_been_reaped(self) -> bool:
        return self._process.returncode is not None

    def _end(self) -> None:
        """Makes sure that the process is gone and nothing of it is left."""
        self._close_input()
        if not self._has_been_reaped():
            # Before the wait: until then no other process can have got this number.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._selector.close()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None, "asked for a pipe"
            stream.close()


def _quote(text: str) -> str:
    """Returns a program's words for a message: one line of bounded length."""
    words = " ".join(text.split())
    return repr(words if len(words) <= _MAX_QUOTE else f"{words[:_MAX_QUOTE]}...")
