"""Measures all runners of a task in turn, round after round, and describes what was found."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from scripts.peers.environments import PeerError
from scripts.peers.tasks import Runner, Task
from scripts.peers.worker import Sample, Worker
from scripts.tables import format_table

QUIET_SHARE = 0.9  # of the core; with less of it a figure says more about other programs


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to measure.

    Attributes:
        seconds: of one measurement; the last piece of work, a game at most, is finished.
        rounds: measurements of each runner.
        core: the one on which all of them run.
        pythons: the Python of each environment; runners of others are left out as failed.
        logs: folder for what the runners write.
        report: is told of each failure, in one line.
    """

    seconds: float
    rounds: int
    core: int
    pythons: Mapping[str, Path]
    logs: Path
    report: Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What one program did; empty where it failed.

    Attributes:
        program: its name.
        computed_by: library and precision, in its runner's words.
        per_second: of its best round, in wall time; other programs can only slow a round.
        core_share: share of that round's time for which it had the core.
        ratio: ours divided by this; None for ours, and where one of the two failed.
    """

    program: str
    computed_by: str = ""
    per_second: float | None = None
    core_share: float | None = None
    ratio: float | None = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """A task's figures.

    Attributes:
        task: the task's text.
        unit: what is counted.
        ours: our figure.
        peers: one for each peer.
    """

    task: str
    unit: str
    ours: Figure
    peers: tuple[Figure, ...]


@dataclass
class _Entrant:
    """A runner while it is measured; without a worker it has failed."""

    runner: Runner
    worker: Worker | None = None
    samples: list[Sample] = field(default_factory=list)

    def figure(self) -> Figure:
        """Returns its best round."""
        if self.worker is None:
            return Figure(program=self.runner.name)
        best = max(self.samples, key=lambda sample: sample.per_second)
        return Figure(
            program=self.runner.name,
            computed_by=self.worker.computed_by,
            per_second=best.per_second,
            core_share=best.core_share,
        )


def compare(task: Task, plan: Plan) -> Result:
    """Measures a task's runners in turn, ours first. One that fails leaves the others measured."""
    entrants = [_Entrant(runner) for runner in (task.ours, *task.peers)]
    with ExitStack() as stack:
        # All are kept warm and waiting, so that rounds cost nothing but the measurements.
        for entrant in entrants:
            with _failing_alone(entrant, task, plan):
                _start(entrant, task, plan, stack=stack)
        for _ in range(plan.rounds):
            for entrant in entrants:
                if entrant.worker is not None:
                    with _failing_alone(entrant, task, plan):
                        entrant.samples.append(entrant.worker.measure(plan.seconds))
    ours, *peers = (entrant.figure() for entrant in entrants)
    with_ratios = tuple(replace(peer, ratio=_ratio(ours, peer)) for peer in peers)
    return Result(task=task.text, unit=task.unit, ours=ours, peers=with_ratios)


def describe(results: Sequence[Result]) -> str:
    """Returns a table for each task, with a warning where the core was not theirs alone."""
    texts = []
    for result in results:
        lines = [(result.task, f"{result.unit}/s", "ours / theirs", "computed by")]
        for figure in (result.ours, *result.peers):
            per_second = "failed" if figure.per_second is None else _text(figure.per_second)
            ratio = "" if figure.ratio is None else _text(figure.ratio)
            lines.append((figure.program, per_second, ratio, figure.computed_by))
        texts.append(format_table(lines))
    figures = [figure for result in results for figure in (result.ours, *result.peers)]
    share = min((figure.core_share for figure in figures if figure.core_share), default=1.0)
    if share < QUIET_SHARE:
        texts.append(
            f"Other programs took up to {1 - share:.0%} of the core's time; figures and ratios are"
            " good only on a quiet machine."
        )
    return "\n\n".join(texts)


def _start(entrant: _Entrant, task: Task, plan: Plan, *, stack: ExitStack) -> None:
    """Starts a runner's worker; does nothing where its environment could not be made."""
    runner = entrant.runner
    if runner.environment in plan.pythons:
        name = re.sub(r"\W+", "-", f"{task.text} {runner.name}".lower())
        python, log = plan.pythons[runner.environment], plan.logs / f"{name}.log"
        entrant.worker = stack.enter_context(Worker(runner, python=python, core=plan.core, log=log))


@contextmanager
def _failing_alone(entrant: _Entrant, task: Task, plan: Plan) -> Iterator[None]:
    """Turns a failure into a line, and the entrant into one that has failed."""
    try:
        yield
    except PeerError as error:
        entrant.worker = None
        plan.report(f"{task.text}: {entrant.runner.name}: {error}")


def _ratio(ours: Figure, peer: Figure) -> float | None:
    if ours.per_second is None or peer.per_second is None:
        return None
    return ours.per_second / peer.per_second


def _text(number: float) -> str:
    """Returns a figure with as many digits as it deserves."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
