"""The program `alphago`: finds the sub-command and turns errors into one line and an exit code."""

import importlib
import importlib.metadata
import os
import sys
from collections.abc import Sequence

from alphago.errors import AlphagoError, FaultsFoundError, MismatchError, TrainingError
from alphago.streams import discard, escape_odd_names, open_closed_streams, tell
from scripts.arguments import CommandLineError, hint, one_line
from scripts.team import TEAM_COMMANDS, is_in_team, run_in_team

EXIT_OK = 0
EXIT_FAILED = 1  # the input was right, but a run could not go on, or something is not sound
EXIT_WRONG_INPUT = 2
EXIT_INTERRUPTED = 130  # what a shell reports of a program ended by Ctrl-C

_FAILURES = (TrainingError, MismatchError, FaultsFoundError)

DISTRIBUTION = "alphago-selfplay"  # as in pyproject.toml

COMMANDS = {
    "train": "learn a game from self-play",
    "resume": "go on with a run",
    "play": "play against a network or another player in the terminal",
    "match": "let two players play a match",
    "rate": "rate the checkpoints of a run against players that do not change",
    "ablate": "measure what single switches of a run are worth",
    "analyze": "show what a player thinks of a position",
    "gtp": "answer the Go Text Protocol, for graphical boards and servers",
    "export": "write a network as a file for other programs",
    "suite": "measure a player on a file of solved positions",
    "report": "write a run as one HTML page",
    "check": "verify the folder of a run, and set aside what is broken",
    "doctor": "show what this machine has, and what is wrong with it",
    "bench": "measure the speed of network, search and self-play",
    "games": "list the games",
}

HELP = f"""usage: alphago COMMAND ...

AlphaZero-style self-play training.

commands:
{chr(10).join(f"  {name:<8}{summary}" for name, summary in COMMANDS.items())}

`alphago COMMAND --help` shows the options of a command, `alphago --version` the version.

examples:
  alphago train game=tic_tac_toe minutes=3
  alphago play random game=connect_four"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program.

    Args:
        argv: the words after `alphago`; those of the process if None.

    Returns:
        The exit code: 0, 1 if learning could not go on, an exported file was wrong, or a check has
        found something wrong, 2 for wrong input (in both cases with one line on standard error),
        130 after a Ctrl-C that saved no run.
    """
    # Threads that wait for work of torch's would otherwise spin and take the cores of the actors.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    open_closed_streams()
    escape_odd_names()
    words = list(sys.argv[1:] if argv is None else argv)
    command = words[0] if words and words[0] in COMMANDS else ""
    try:
        return _run(command, words)
    except AlphagoError as error:
        name = f"alphago {command}".rstrip()
        tell(f"{name}: error: {one_line(error)}", sys.stderr)
        return EXIT_FAILED if isinstance(error, _FAILURES) else EXIT_WRONG_INPUT
    except BrokenPipeError:
        # The reader of our output has gone (`alphago games | head -1`); nothing is left to say.
        # Python would complain again when it flushes at exit, so the output leads nowhere.
        discard(sys.stdout)
        return EXIT_OK
    except KeyboardInterrupt:
        tell("", sys.stderr)
        return EXIT_INTERRUPTED


def _run(command: str, words: list[str]) -> int:
    if command:
        return _run_command(command, words[1:])
    if words == ["--version"]:
        print(f"alphago {importlib.metadata.version(DISTRIBUTION)}")
        return EXIT_OK
    if not words or words[0] in ("-h", "--help"):
        print(HELP)
        return EXIT_OK if words else EXIT_WRONG_INPUT
    known = ", ".join(COMMANDS)
    raise CommandLineError(f"{words[0]}: unknown command{hint(words[0], COMMANDS)}; known: {known}")


def _run_command(command: str, words: list[str]) -> int:
    """Imports the command's module and runs it; `--help` ends argparse with SystemExit."""
    module = importlib.import_module(f"scripts.{command}")
    try:
        if command in TEAM_COMMANDS and is_in_team():
            run_in_team(module.main, words)
        else:
            module.main(words)
    except SystemExit as stop:
        if stop.code not in (None, 0):  # while Ray runs, SIGTERM is such an exit
            raise
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
