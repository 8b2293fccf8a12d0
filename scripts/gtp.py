"""`alphago gtp`: a player as a GTP engine, for graphical boards, servers and other engines."""

import contextlib
import dataclasses
import functools
import importlib.metadata
import logging
import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from scripts.arguments import CommandLineError, Parser, parse_words, read_number, seed_from
from scripts.main import DISTRIBUTION
from scripts.players import bundled_player, refuse_people, split_player

if TYPE_CHECKING:
    from alphago.games.go import Go
    from alphago.protocols.gtp_session import EngineOptions

DEFAULT_GAME = "go_19x19"  # where neither the player nor an option tells one, as GTP's own
BUNDLED_GAME = "go_9x9"  # where no player is named either: a network comes with the package for it
SWITCHES = {"true": True, "false": False}
KEYS = (
    "game",
    "rules",
    "komi",
    "seconds",
    "resign",
    "ponder",
    "answer_pass",
    "remove_dead",
    "log",
    "seed",
)


def main(argv: Sequence[str]) -> None:
    """Answers GTP commands until `quit` or the end of the input."""
    arguments = _make_parser().parse(argv)
    player, words = split_player(arguments.player, arguments.words)
    values = parse_words(words, allowed=KEYS)
    if player is None:
        player = bundled_player(values.get("game", BUNDLED_GAME))
    options = _read_options(values)
    refuse_people([player])
    if sys.__stdout__ is None:  # as it was when Python started
        raise CommandLineError("standard output is closed")
    with _logging(values.get("log")), _own_output() as output:
        serve_player(player, values, options, output=output)


def _make_parser() -> Parser:
    parser = Parser(
        "gtp",
        description=(
            "Let PLAYER answer the Go Text Protocol, version 2, on standard input and output.\n"
            "Without a PLAYER it is the network that comes with alphago, on"
            f" {BUNDLED_GAME} at first.\n"
            "It plays without noise. What is not GTP goes to standard error.\n\n"
            "final_score counts the board as it stands (area), all stones alive, and is what\n"
            "printsgf writes as the result. By Japanese rules, or with remove_dead=true, stones\n"
            "that random playouts find dead are taken off first. After two passes genmove passes;\n"
            "play goes on with the game."
        ),
        examples=(
            "alphago gtp",
            "alphago gtp runs/go:simulations=400 ponder=true resign=0.05",
            "alphago gtp uct:playouts=1000 game=go_9x9 rules=japanese komi=6.5",
        ),
        usage="[PLAYER] [key=value ...]",
        keys=lambda: KEYS,
    )
    parser.add_argument("player", nargs="?", metavar="PLAYER", help="KIND_OR_PATH[:key=value,...]")
    parser.add_argument(
        "words",
        nargs="*",
        default=[],
        metavar="key=value",
        help=(
            "game (size and rules at the start, without handicap; a run knows its own), "
            "rules (a named set), komi, "
            "seconds (a move, in place of a number of simulations), resign (below this win rate, "
            "such as 0.05, three own moves in a row), ponder (think on in the opponent's time), "
            "answer_pass (answer a pass by a pass where that wins, true by default), remove_dead, "
            "log (a file), seed"
        ),
    )
    return parser


def _read_options(values: Mapping[str, str]) -> "EngineOptions":
    from alphago.protocols.gtp_session import EngineOptions

    def number(key: str, allowed: str, check: Callable[[float], bool]) -> float | None:
        if key not in values:
            return None
        return read_number(values, key, kind=float, default=0.0, allowed=allowed, check=check)

    return EngineOptions(
        seconds=number("seconds", "a number above 0", lambda seconds: 0 < seconds < 1e6),
        resign=number("resign", "a win rate from 0 to 1", lambda rate: 0 <= rate <= 1),
        ponder=_read_switch(values, "ponder", default=False),
        answer_pass=_read_switch(values, "answer_pass", default=True),
        remove_dead=_read_switch(values, "remove_dead", default=False),
    )


def _read_switch(values: Mapping[str, str], key: str, *, default: bool) -> bool:
    if key not in values:
        return default
    if values[key] not in SWITCHES:
        raise CommandLineError(f"{key}: got {values[key]!r}, allowed: {', '.join(SWITCHES)}")
    return SWITCHES[values[key]]


class _LogFile(logging.FileHandler):
    """A file for the session; one that cannot be written ends the program."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the base's name
        """Raises what kept a record from being written.

        Raises:
            CommandLineError: if the disk is full, for example.
        """
        error = sys.exception()
        if not isinstance(error, OSError):
            super().handleError(record)
            return
        with contextlib.suppress(OSError):  # it would try again to write what is left
            self.close()
        raise _unwritable(f"log: {self.baseFilename}", error) from error


def _unwritable(what: str, error: OSError) -> CommandLineError:
    return CommandLineError(f"{what}: cannot be written ({error.strerror})")


@contextlib.contextmanager
def _logging(path: str | None) -> Iterator[None]:
    """Sends warnings to standard error, and everything to a file if one is named.

    Raises:
        CommandLineError: if the file cannot be written.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    handlers[0].setLevel(logging.WARNING)
    if path is not None:
        try:
            handlers.append(_LogFile(path, encoding="utf-8", errors="backslashreplace"))
        except OSError as error:
            raise _unwritable(f"log: {path}", error) from error
    root, level = logging.getLogger(), logging.getLogger().level
    for handler in handlers:
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(level)
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


class Output:
    """The real standard output, where GTP goes."""

    def __init__(self, descriptor: int) -> None:
        """Keeps an open file descriptor."""
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, 0)  # errors are told without asking for them

    def write(self, text: str) -> None:
        """Writes a text at once.

        Raises:
            BrokenPipeError: if nobody reads it.
            CommandLineError: if it cannot be written.
        """
        data = text.encode("utf-8", "surrogateescape")
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritable("standard output", error) from error

    def is_read(self) -> bool:
        """Returns whether somebody may still read: the other end of a pipe is open."""
        return not any(event & (select.POLLERR | select.POLLHUP) for _, event in self._poll.poll(0))


@contextlib.contextmanager
def _own_output() -> Iterator[Output]:
    """Keeps standard output for GTP alone: what others write there goes to standard error.

    The file descriptor itself is turned round, since libraries written in C print as well.

    Yields:
        The real standard output.
    """
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        yield Output(output)
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)


def serve_player(
    text: str,
    values: Mapping[str, str],
    options: "EngineOptions",
    *,
    output: Output,
) -> None:
    """Makes player and board, and answers the input.

    Args:
        text: the player.
        values: the `key=value` words.
        options: how the engine plays.
        output: where the responses go.

    Raises:
        AlphagoError: if there is no such player or game.
    """
    from alphago.players import make_player
    from alphago.protocols.gtp_board import GtpBoard
    from alphago.protocols.gtp_engine import GtpEngine, serve
    from alphago.protocols.gtp_input import InputLines
    from alphago.protocols.gtp_session import GtpSession
    from alphago.protocols.gtp_thinkers import Thinkers

    seed = seed_from(values)
    start = _starting_game(text, values)
    board = GtpBoard(height=start.height, width=start.width, rules=start.rules)
    thinkers = Thinkers(lambda game: make_player(text, game=game, seed=seed))
    thinkers.check(board.game)
    lines = InputLines(functools.partial(os.read, 0), is_read=output.is_read)
    session = GtpSession(
        board, thinkers, options=options, watch=lines, now=time.monotonic, name=text
    )
    print(f"alphago gtp: {text} on {board.game.spec.name}, no noise", file=sys.stderr, flush=True)
    engine = GtpEngine(session, version=importlib.metadata.version(DISTRIBUTION))
    serve(engine, lines, write=output.write)


def _starting_game(text: str, values: Mapping[str, str]) -> "Go":
    """Returns the game of the start: size and rules.

    Raises:
        CommandLineError: if it is not Go, or tells what the controller does.
    """
    from alphago.games import make_game
    from alphago.games.go import Go, parse_rules
    from alphago.players import game_of_player

    game = make_game(values.get("game") or game_of_player(text) or DEFAULT_GAME)
    if not isinstance(game, Go):
        raise CommandLineError(f"GTP is for Go, but the game is {game.spec.name}")
    if "game" in values:
        _check_told(game, values["game"])
    rules = parse_rules({"rules": values["rules"]}) if "rules" in values else game.rules
    if "komi" in values:
        rules = dataclasses.replace(rules, komi=parse_rules({"komi": values["komi"]}).komi)
    # No negative zero, which get_komi would tell.
    return game.with_rules(dataclasses.replace(rules, komi=rules.komi + 0.0))


def _check_told(game: "Go", text: str) -> None:
    """Refuses what the controller sets, or nobody can: it would get lost at its first command.

    A run that was trained with them still plays, on an empty board and to the end.

    Raises:
        CommandLineError: if the text tells a handicap or a cap on moves.
    """
    from alphago.games.go.naming import default_max_moves

    if game.handicap:
        raise CommandLineError(
            f"game: got {text}, allowed: no handicap, which the GTP commands fixed_handicap and"
            " set_free_handicap set"
        )
    if game.spec.max_moves != default_max_moves(game.height, game.width):
        raise CommandLineError(f"game: got {text}, allowed: no max_moves, since GTP knows no cap")
