"""What a run shows: a live panel where there is a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self, TextIO, TypedDict, Unpack, cast

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from alphago.streams import LastingStream

PLAIN_SECONDS = 10.0  # seconds between two plain lines of one phase
STARTING = "starting the actors; the first start compiles the kernels"  # until there are numbers
MESSAGES = (
    "gate",
    "suite",
    "yardstick",
)  # numbers that a message has told when they came; no plain line again
REFRESHES_PER_SECOND = 2.0  # of the live panel: slow enough not to cost the actors their core


class ProgressNumbers(TypedDict, total=False):
    """The numbers a run reports; each call gives those that changed.

    Attributes:
        iteration: cycles of play and learning that were started.
        games: finished games of the whole run.
        iteration_games: finished games of this iteration.
        iteration_games_total: games this iteration is to have.
        positions: positions stored in the whole run.
        window: positions the buffer now draws from.
        steps: optimiser steps of the whole run.
        positions_per_s: positions played per second.
        evaluations_per_s: network evaluations per second of all actors together.
        policy_loss: cross-entropy of the newest training batches, nats.
        value_loss: mean squared error of the newest training batches.
        learning_rate: of the newest step.
        gate: the newest gate's result in words, such as `62.5 % (...), promoted`.
        suite: the newest scores on the position suite in words.
        yardstick: the newest score against the yardstick in words.
        minutes: minutes since the run began, earlier sittings included.
        fraction: share of the run that is done by its nearest limit, None without a limit.
    """

    iteration: int
    games: int
    iteration_games: int
    iteration_games_total: int
    positions: int
    window: int
    steps: int
    positions_per_s: float
    evaluations_per_s: float
    policy_loss: float
    value_loss: float
    learning_rate: float
    gate: str
    suite: str
    yardstick: str
    minutes: float
    fraction: float | None


class Progress(Protocol):
    """Where a run reports to. Used as a context manager around the whole run."""

    def phase(self, name: str) -> None:
        """Says what the run is doing now, such as `self-play` or `learning`."""
        ...

    def update(self, **numbers: Unpack[ProgressNumbers]) -> None:
        """Takes the numbers that changed; the others stay as they were."""
        ...

    def message(self, text: str) -> None:
        """Shows a line that stays."""
        ...

    def __enter__(self) -> Self:
        """Starts the display."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends the display; the last state stays visible."""
        ...


def make_progress(stream: TextIO | None = None) -> Progress:
    """Returns a live panel if the stream (default: stderr) is a terminal, else plain lines.

    Neither fails when the terminal is closed, the reader goes away or the disk is full: that is no
    reason to end a run, which still has to be saved.
    """
    target = sys.stderr if stream is None else stream
    console = Console(file=cast(TextIO, LastingStream(target)))
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveProgress(console)
    return PlainProgress(target)


def time_left(numbers: ProgressNumbers) -> float | None:
    """Returns the minutes the run will still take at its pace so far, None where unknown."""
    fraction, minutes = numbers.get("fraction"), numbers.get("minutes")
    if not fraction or minutes is None:
        return None
    return max(0.0, minutes * (1.0 - fraction) / fraction)


def format_minutes(minutes: float) -> str:
    """Returns a duration as people write it: `0:42`, `12:05` or `3:07:00`."""
    seconds = round(minutes * 60)
    hours, rest = divmod(seconds, 3600)
    text = f"{rest // 60}:{rest % 60:02d}"
    return text if hours == 0 else f"{hours}:{rest // 60:02d}:{rest % 60:02d}"


def describe(numbers: ProgressNumbers, *, elapsed: float = 0.0) -> list[tuple[str, str]]:
    """Returns (name, text) of every number reported so far, in the order they are shown.

    Args:
        numbers: the numbers.
        elapsed: minutes that have passed since the newest was reported.
    """
    rows = [
        ("iteration", _count(numbers.get("iteration"))),
        ("games", _games(numbers)),
        ("positions", _positions(numbers)),
        ("steps", _count(numbers.get("steps"))),
        ("positions/s", _count(numbers.get("positions_per_s"))),
        ("evaluations/s", _count(numbers.get("evaluations_per_s"))),
        ("policy loss", _decimal(numbers.get("policy_loss"))),
        ("value loss", _decimal(numbers.get("value_loss"))),
        ("learning rate", _small(numbers.get("learning_rate"))),
        ("gate", numbers.get("gate", "")),
        ("suite", numbers.get("suite", "")),
        ("yardstick", numbers.get("yardstick", "")),
        ("time", _time(numbers, elapsed=elapsed)),
    ]
    return [(name, text) for name, text in rows if text]


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _decimal(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _small(value: float | None) -> str:
    return "" if value is None else f"{value:.2e}"


def _games(numbers: ProgressNumbers) -> str:
    text = _count(numbers.get("games"))
    if "iteration_games" not in numbers:
        return text
    done = f"{_count(numbers['iteration_games'])}/{_count(numbers.get('iteration_games_total'))}"
    return f"{text} (this iteration {done.rstrip('/')})".lstrip()


def _positions(numbers: ProgressNumbers) -> str:
    text = _count(numbers.get("positions"))
    window = numbers.get("window")
    return text if window is None else f"{text} (window {window:,})".lstrip()


def _time(numbers: ProgressNumbers, *, elapsed: float) -> str:
    minutes, left = numbers.get("minutes"), time_left(numbers)
    if minutes is None:
        return ""
    text = format_minutes(minutes + elapsed)
    if left is None:
        return text
    if (numbers.get("fraction") or 0.0) >= 1.0:  # the iteration still goes on to its end
        return f"{text}, finishing"
    return f"{text}, about {format_minutes(max(0.0, left - elapsed))} left"


class PlainProgress:
    """Lines for a log file: every message, and the numbers at most every few seconds."""

    def __init__(
        self,
        stream: TextIO,
        *,
        seconds: float = PLAIN_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Writes to `stream`, numbers at most every `seconds` by `clock`."""
        self._stream = LastingStream(stream)
        self._seconds = seconds
        self._clock = clock
        self._written = clock()
        self._phase = ""
        self._numbers: ProgressNumbers = {}

    def phase(self, name: str) -> None:
        """Remembers the phase. It is written with the numbers: short phases fill no log."""
        self._phase = name

    def update(self, **numbers: Unpack[ProgressNumbers]) -> None:
        """Writes a line if the last one is old enough."""
        self._numbers.update(numbers)
        if self._clock() - self._written >= self._seconds:
            self._write_numbers()

    def message(self, text: str) -> None:
        """Writes the text at once."""
        self._write(text)

    def __enter__(self) -> Self:
        """Starts the clock."""
        self._written = self._clock()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Writes the last numbers."""
        if self._numbers:
            self._numbers["fraction"] = None  # nothing is left to do
            self._write_numbers()
        self._stream.end()

    def _write_numbers(self) -> None:
        self._written = self._clock()
        texts = [f"{name} {text}" for name, text in describe(self._numbers) if name not in MESSAGES]
        self._write(" | ".join([self._phase, *texts] if self._phase else texts))

    def _write(self, line: str) -> None:
        self._stream.write(f"{line}\n")  # in one piece: threads write here too
        self._stream.flush()


class LiveProgress:
    """A panel redrawn in place at the bottom of a terminal; messages scroll above it."""

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Draws on `console`; by `clock` the time goes on between two reports."""
        self._console = console
        self._clock = clock
        self._updated = clock()
        self._phase = "starting"
        self._numbers: ProgressNumbers = {}
        self._has_ended = False
        self._live = Live(
            console=console,
            refresh_per_second=REFRESHES_PER_SECOND,
            get_renderable=self.render,
            redirect_stdout=sys.stdout.isatty(),  # a redirected standard output keeps its lines
        )

    def phase(self, name: str) -> None:
        """Names the phase in the panel's title."""
        self._phase = name

    def update(self, **numbers: Unpack[ProgressNumbers]) -> None:
        """Takes the numbers; the panel's own thread draws them at its next turn."""
        self._numbers = {**self._numbers, **numbers}
        if "minutes" in numbers:
            self._updated = self._clock()

    def message(self, text: str) -> None:
        """Prints the text above the panel."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        """Starts drawing."""
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Draws the last state and stops."""
        self._has_ended = True
        self._live.stop()

    def render(self) -> Panel:
        """Returns the panel of the present numbers."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column()
        numbers, phase, elapsed = self._numbers, self._phase, 0.0
        if self._has_ended:
            numbers, phase = {**numbers, "fraction": None}, "ended"
        else:
            elapsed = (self._clock() - self._updated) / 60
            if not numbers.keys() & {"games", "suite"}:  # nobody has answered yet
                phase = "starting"
                grid.add_row("", Text(STARTING))
        for name, text in describe(numbers, elapsed=elapsed):
            grid.add_row(name, Text(text))
        fraction = numbers.get("fraction")
        if fraction is not None:
            grid.add_row("done", ProgressBar(total=1.0, completed=min(fraction, 1.0), width=40))
        return Panel(grid, title=Text(phase), title_align="left", expand=False)
