"""GNU Go over GTP, as a second opinion on legality and scores."""

import shutil
import subprocess
from pathlib import Path
from types import TracebackType

PROGRAM = shutil.which("gnugo") or next(
    (path for path in ("/usr/games/gnugo", "/usr/local/games/gnugo") if Path(path).exists()), None
)
KO_OPTIONS = {
    "simple": "--simple-ko",
    "positional": "--positional-superko",
    "situational": "--situational-superko",
}


class GnuGo:
    """One running program, to be used in a `with` statement."""

    def __init__(self, *, ko: str, suicide: bool) -> None:
        suicide_option = "--allow-suicide" if suicide else "--forbid-suicide"
        options = ["--chinese-rules", "--capture-all-dead", KO_OPTIONS[ko], suicide_option]
        assert PROGRAM is not None
        self.process = subprocess.Popen(
            [PROGRAM, "--mode", "gtp", "--level", "1", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "GnuGo":
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.process.terminate()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()

    def ask(self, *commands: str) -> list[str]:
        """Sends commands at once and returns their answers, which have to be no errors."""
        self.process.stdin.write("\n".join(commands) + "\n")
        self.process.stdin.flush()
        return [self._answer(command) for command in commands]

    def _answer(self, command: str) -> str:
        lines = []
        while line := self.process.stdout.readline().rstrip("\n"):
            lines.append(line)
        assert lines and lines[0].startswith("="), f"{command}: {lines}"
        return "\n".join(lines)[1:].strip()
