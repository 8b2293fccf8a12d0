"""`python -m scripts.soak`: training under random faults, and what must hold at its end."""

import json
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from alphago.errors import AlphagoError, TrainingError
from alphago.files import reason
from alphago.games import make_game
from scripts.arguments import CommandLineError, Parser, hint, one_line, parse_words, read_number
from scripts.main import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_WRONG_INPUT
from scripts.soak.plan import KINDS
from scripts.soak.report import as_data, as_text
from scripts.soak.soak import Settings, run_soak

PROGRAM = "python -m scripts.soak"
KEYS = ("minutes", "faults", "seed", "game", "loop", "only", "folder")
MINUTES = 30.0
FAULTS = 200
GAME = "tic_tac_toe"
LOOPS = ("synchronous", "asynchronous")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program.

    Args:
        argv: the words of the command line; those of the process if None.

    Returns:
        The exit code: 0, 1 if an invariant does not hold or the run cannot be started again, 2 for
        wrong input, 130 after Ctrl-C.
    """
    try:
        settings = _read(_make_parser(), sys.argv[1:] if argv is None else argv)
        result = run_soak(settings, report=lambda line: print(line, file=sys.stderr, flush=True))
        text = as_text(settings, result)
        (settings.folder / "report.txt").write_text(f"{text}\n", encoding="utf-8")
        data = json.dumps(as_data(settings, result), indent=2)
        (settings.folder / "report.json").write_text(f"{data}\n", encoding="utf-8")
    except AlphagoError as error:
        print(f"{PROGRAM}: error: {one_line(error)}", file=sys.stderr)
        return EXIT_FAILED if isinstance(error, TrainingError) else EXIT_WRONG_INPUT
    except SystemExit:  # of --help
        return EXIT_OK
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return EXIT_INTERRUPTED
    print(text)
    return EXIT_OK if result.holds else EXIT_FAILED


def _make_parser() -> Parser:
    width = max(len(kind.name) for kind in KINDS)
    kinds = "\n".join(f"  {kind.name:<{width}}  {kind.text}" for kind in KINDS)
    parser = Parser(
        "soak",
        description=(
            "Train with Ray's actors under random faults, then check what must hold: no finished\n"
            "game lost or stored twice, counters that never fall, sound checkpoints, no ends but\n"
            "those expected, and nothing left behind. The faults depend on the seed, and on what\n"
            "this machine permits.\n\n"
            f"  folder=PATH  of the run and the report; it must be new\n"
            f"  minutes=N    over which the faults are spread (default {MINUTES:g})\n"
            f"  faults=N     how many; it ends when all are made (default {FAULTS})\n"
            f"  seed=N       decides them (default 0)\n"
            f"  game=NAME    what the run learns (default {GAME})\n"
            f"  loop=NAME    {' or '.join(LOOPS)} (default {LOOPS[0]})\n"
            f"  only=A,B     only these kinds of faults\n\n"
            f"kinds of faults:\n{kinds}"
        ),
        examples=(
            f"{PROGRAM} folder=/tmp/soak",
            f"{PROGRAM} folder=/tmp/soak minutes=5 faults=20 only=actor_killed,disk_full",
        ),
        usage="",
        keys=lambda: KEYS,
    )
    parser.prog = PROGRAM
    parser.usage = f"{PROGRAM} folder=PATH [key=value ...]"
    parser.add_argument("words", nargs="*", metavar="key=value", help="see above")
    return parser


def _read(parser: Parser, argv: Sequence[str]) -> Settings:
    """Reads the command line, and makes the folder.

    Raises:
        CommandLineError: if something is wrong with it.
    """
    values = parse_words(parser.parse(argv).words, allowed=KEYS)
    game, loop = values.get("game", GAME), values.get("loop", LOOPS[0])
    make_game(game)
    if loop not in LOOPS:
        raise CommandLineError(f"loop: got {loop!r}, allowed: {' or '.join(LOOPS)}")
    settings = Settings(
        minutes=read_number(
            values,
            "minutes",
            kind=float,
            default=MINUTES,
            allowed="a number of at least 0, at most 100000",
            check=lambda number: 0 <= number <= 100_000,
        ),
        num_faults=read_number(
            values,
            "faults",
            kind=int,
            default=FAULTS,
            allowed="an integer from 0 to 100000",
            check=lambda number: 0 <= number <= 100_000,
        ),
        seed=read_number(
            values,
            "seed",
            kind=int,
            default=0,
            allowed="an integer of at least 0",
            check=lambda number: number >= 0,
        ),
        game=game,
        loop=loop,
        folder=_read_folder(values),
        only=_read_only(values),
    )
    try:
        settings.folder.mkdir(parents=True)
    except OSError as error:
        why = f"{settings.folder}: cannot be made: {reason(error)}"
        raise CommandLineError(f"folder: {why}") from None
    return settings


def _read_folder(values: Mapping[str, str]) -> Path:
    if not values.get("folder"):
        raise CommandLineError("folder: missing; write folder=PATH, a folder that is not there yet")
    return Path(values["folder"]).expanduser().absolute()


def _read_only(values: Mapping[str, str]) -> tuple[str, ...] | None:
    if "only" not in values:
        return None
    known = [kind.name for kind in KINDS]
    names = values["only"].split(",")
    for name in names:
        if name not in known:
            near = hint(name, known)
            raise CommandLineError(f"only: got {name!r}{near}; allowed: {', '.join(known)}")
    return tuple(names)


if __name__ == "__main__":
    # As Ctrl-C, after which disks and processes are cleared away.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    sys.exit(main())
