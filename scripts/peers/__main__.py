"""`python -m scripts.peers`: other self-play frameworks beside ours, in one run."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from alphago.errors import AlphagoError
from alphago.files import reason
from scripts.arguments import CommandLineError, Parser, hint, one_line, parse_words, read_number
from scripts.main import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_WRONG_INPUT
from scripts.peers.comparison import Plan, Result, compare, describe
from scripts.peers.environments import (
    CLONE_MARK,
    CLONE_URL,
    REQUIREMENTS,
    PeerError,
    clone_alpha_zero_general,
    default_folder,
    make_environment,
)
from scripts.peers.tasks import OURS, TASKS, Task

PROGRAM = "python -m scripts.peers"
KEYS = ("seconds", "rounds", "core", "peers", "folder", "alpha_zero_general")
CLONED = "alpha_zero_general"  # the peer whose sources come from a clone
SECONDS = 10.0
ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line says.

    Attributes:
        seconds: of one measurement.
        rounds: measurements of each program.
        core: the one that all of them use.
        peers: keys of REQUIREMENTS.
        folder: of the environments and logs.
        clone: sources of alpha-zero-general; None to clone them.
        json: whether to print JSON.
    """

    seconds: float
    rounds: int
    core: int
    peers: tuple[str, ...]
    folder: Path
    clone: Path | None
    json: bool


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program.

    Args:
        argv: the words of the command line; those of the process if None.

    Returns:
        The exit code: 0, 1 if a program could not be measured, 2 for wrong input, 130 after Ctrl-C.
    """
    try:
        options = _read(_make_parser(), sys.argv[1:] if argv is None else argv)
        results = measure(options)
    except AlphagoError as error:
        _report(one_line(error))
        return EXIT_WRONG_INPUT
    except SystemExit:  # of --help
        return EXIT_OK
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return EXIT_INTERRUPTED
    print(json.dumps(_facts(options, results)) if options.json else describe(results))
    has_failed = any(peer.ratio is None for result in results for peer in result.peers)
    return EXIT_FAILED if has_failed else EXIT_OK


def measure(options: Options) -> list[Result]:
    """Installs the peers and measures them beside ours; what fails is told on standard error.

    Raises:
        CommandLineError: if the folder cannot be written.
    """
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandLineError(f"folder: {options.folder}: {reason(error)}") from None
    pythons, settings = _install(options)
    plan = Plan(
        seconds=options.seconds,
        rounds=options.rounds,
        core=options.core,
        pythons=pythons,
        logs=options.folder,
        report=_report,
    )
    results = []
    for task in tasks_of(options.peers, settings=settings):
        print(f"measuring {task.text}", file=sys.stderr)
        results.append(compare(task, plan))
    return results


def tasks_of(peers: Sequence[str], *, settings: Mapping[str, object]) -> list[Task]:
    """Returns the tasks that these peers have, with no other peers.

    Args:
        peers: keys of REQUIREMENTS.
        settings: more settings for the peer that is cloned.
    """
    tasks = []
    for task in TASKS:
        chosen = tuple(
            replace(runner, settings={**runner.settings, **settings})
            if runner.environment == CLONED
            else runner
            for runner in task.peers
            if runner.environment in peers
        )
        if chosen:
            tasks.append(replace(task, peers=chosen))
    return tasks


def _install(options: Options) -> tuple[dict[str, Path], dict[str, object]]:
    """Installs the peers; one that cannot be is told of and left out.

    Returns:
        The Python of each environment, and the settings for the peer that is cloned.
    """
    pythons, settings = {OURS: Path(sys.executable)}, dict[str, object]()
    for name in options.peers:
        try:
            if name == CLONED:
                clone = options.clone or clone_alpha_zero_general(options.folder)
                settings["clone"] = str(clone)
            pythons[name] = make_environment(name, folder=options.folder)
        except PeerError as error:
            _report(f"{name}: {one_line(error)}")
    return pythons, settings


def _facts(options: Options, results: Sequence[Result]) -> dict[str, object]:
    """Returns all that is known about a run, ready for JSON."""
    from scripts.machine import describe_machine

    return {
        "machine": describe_machine(),
        "seconds": options.seconds,
        "rounds": options.rounds,
        "requirements": {name: list(REQUIREMENTS[name]) for name in options.peers},
        "tasks": [asdict(result) for result in results],
    }


def _make_parser() -> Parser:
    peers = ", ".join(REQUIREMENTS)
    parser = Parser(
        "peers",
        description=(
            f"Measure other self-play frameworks beside ours: {peers}.\n"
            "Each is installed into an environment of its own, about 2.5 GB in all, which takes\n"
            "minutes the first time. All run in turn on one core, with a network of the same\n"
            "size, on a warm start.\n\n"
            f"  seconds=N    of one measurement (default {SECONDS:g})\n"
            f"  rounds=N     measurements of each; the best counts (default {ROUNDS})\n"
            "  core=N       the core to use (default the last one)\n"
            "  peers=A,B    only these peers\n"
            f"  folder=PATH  of environments and logs (default {default_folder()})\n"
            "  alpha_zero_general=PATH  a clone that is there (default cloned from\n"
            f"               {CLONE_URL})"
        ),
        examples=(
            PROGRAM,
            f"{PROGRAM} peers=mctx seconds=30 --json",
            f"{PROGRAM} alpha_zero_general=../alpha-zero-general folder=/data/peers",
        ),
        usage="",
        keys=lambda: KEYS,
    )
    parser.prog = PROGRAM
    parser.usage = f"{PROGRAM} [--json] [key=value ...]"
    parser.add_argument("words", nargs="*", metavar="key=value", help="see above")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _read(parser: Parser, argv: Sequence[str]) -> Options:
    """Reads the command line.

    Raises:
        CommandLineError: if something is wrong with it.
    """
    arguments = parser.parse(argv)
    values = parse_words(arguments.words, allowed=KEYS)
    cores = sorted(os.sched_getaffinity(0))
    return Options(
        seconds=read_number(
            values,
            "seconds",
            kind=float,
            default=SECONDS,
            allowed="a number above 0, at most 600",
            check=lambda number: 0 < number <= 600,
        ),
        rounds=read_number(
            values,
            "rounds",
            kind=int,
            default=ROUNDS,
            allowed="an integer from 1 to 100",
            check=lambda number: 1 <= number <= 100,
        ),
        core=read_number(
            values,
            "core",
            kind=int,
            default=cores[-1],
            allowed=", ".join(map(str, cores)),
            check=lambda number: number in cores,
        ),
        peers=_read_peers(values),
        folder=Path(values.get("folder") or default_folder()).expanduser().absolute(),
        clone=_read_clone(values),
        json=arguments.json,
    )


def _read_peers(values: Mapping[str, str]) -> tuple[str, ...]:
    names = values["peers"].split(",") if "peers" in values else list(REQUIREMENTS)
    for name in names:
        if name not in REQUIREMENTS:
            known = ", ".join(REQUIREMENTS)
            near = hint(name, REQUIREMENTS)
            raise CommandLineError(f"peers: got {name!r}{near}; allowed: {known}")
    return tuple(dict.fromkeys(names))


def _read_clone(values: Mapping[str, str]) -> Path | None:
    if CLONED not in values:
        return None
    clone = Path(values[CLONED]).expanduser().absolute()
    if not (clone / CLONE_MARK).is_file():
        raise CommandLineError(f"{CLONED}: {clone} is no clone of it: it has no {CLONE_MARK}")
    return clone


def _report(line: str) -> None:
    print(f"{PROGRAM}: error: {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
