"""Feeds a reader with hostile inputs: each has to end well or with a documented error, in time.

An input follows from the target's name, the seed and its number alone, so a run can be repeated.
One that fails is made smaller and saved as a file, which `replay` reads. The input at hand also
stands in a file in memory, `<target>.current`: it is there even where the process was killed.

Why no library: most of the million inputs are changed bytes of valid files, which need no search
tree of choices, and a generator of our own makes thousands of them a second in one process.
"""

import mmap
import random
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from alphago.errors import AlphagoError
from scripts.arguments import one_line

LONGEST_S = 2.0  # of processor time that an input may take
_STUCK_S = 60.0  # of time on the clock, for one that waits
_MOST_FAILURES = 10  # different ones, after which a target is given up
_MOST_TRIALS = 400  # to make one input smaller
_ROOM = 1 << 20  # bytes of the file in memory
_HEAD = 8  # bytes in it that tell the length


class TooSlowError(Exception):
    """An input took too long; where it is raised is where the time went."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A reader, and what makes its inputs.

    Attributes:
        name: a word.
        share: of all inputs, relative to other targets.
        valid: returns inputs that are read without an error.
        make: returns an input.
        read: reads it; every error but an `AlphagoError` is a fault.
    """

    name: str
    share: int
    valid: Callable[[], Sequence[bytes]]
    make: Callable[[random.Random], bytes]
    read: Callable[[bytes], object]


class Failure(NamedTuple):
    """An input that did not end well."""

    number: int
    data: bytes  # the smallest that fails in the same way
    error: BaseException
    where: tuple[str, str]  # type of the error and the innermost line


class Outcome(NamedTuple):
    """What came of the inputs of a target."""

    num_inputs: int
    num_refused: int
    seconds: float  # of processor time, which a busy machine does not change
    failures: list[Failure]


def input_of(target: Target, *, seed: int, number: int) -> bytes:
    """Returns an input of a target."""
    return target.make(random.Random(f"{target.name} {seed} {number}"))


def fuzz(target: Target, *, num_inputs: int, seed: int, folder: Path) -> Outcome:
    """Reads inputs, and saves those that fail in a folder.

    Args:
        target: the reader.
        num_inputs: how many.
        seed: which ones.
        folder: for the input at hand and those that failed; made if need be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for data in target.valid():
        target.read(data)  # compiles kernels, which would count as the time of an input
    failures: dict[tuple[str, str], Failure] = {}
    num_refused = 0
    begun = time.process_time()
    with _kept(folder / f"{target.name}.current") as keep, _watchdog():
        number = 0
        while number < num_inputs and len(failures) < _MOST_FAILURES:
            data = input_of(target, seed=seed, number=number)
            keep(data)
            try:
                num_refused += not read_in_time(target, data)
            except BaseException as error:
                failure = Failure(number, data, error, _place_of(error))
                if isinstance(error, KeyboardInterrupt):
                    raise
                if failure.where not in failures:
                    failures[failure.where] = _smaller(target, failure)
            number += 1
    for failure in failures.values():
        save(failure, target, folder=folder, seed=seed)
    return Outcome(number, num_refused, time.process_time() - begun, list(failures.values()))


def read_in_time(target: Target, data: bytes) -> bool:
    """Reads an input; returns whether it was not refused.

    Raises:
        Exception: whatever the reader should not raise, `TooSlowError` where it took too long.
    """
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    signal.setitimer(signal.ITIMER_REAL, _STUCK_S)
    try:
        target.read(data)
    except AlphagoError as error:
        one_line(error)  # what a user is shown
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return True


def replay(target: Target, data: bytes) -> bool:
    """Reads one input as `fuzz` does; returns whether it was not refused."""
    with _watchdog():
        return read_in_time(target, data)


def save(failure: Failure, target: Target, *, folder: Path, seed: int) -> Path:
    """Saves an input that failed, and why."""
    kind = failure.where[0]
    path = folder / f"{target.name}-{seed}-{failure.number}-{kind}"
    path.write_bytes(failure.data)
    told = "".join(traceback.format_exception(failure.error))
    path.with_name(f"{path.name}.txt").write_text(told, encoding="utf-8", errors="replace")
    return path


def report(target: Target, outcome: Outcome, *, folder: Path) -> str:
    """Tells in words what failed and how to see it again."""
    lines = [f"{target.name}: {len(outcome.failures)} faults in {outcome.num_inputs} inputs"]
    for failure in outcome.failures:
        shown = failure.data if len(failure.data) <= 300 else failure.data[:300] + b"..."
        lines.append(f"  input {failure.number}, {' at '.join(failure.where)}")
        lines.append(f"    {one_line(repr(failure.error))[:300]}")
        lines.append(f"    {shown!r}")
    lines.append(f"again: ALPHAGO_FUZZ_REPLAY={folder}/FILE, with the files {target.name}-* there")
    return "\n".join(lines)


def _smaller(target: Target, failure: Failure) -> Failure:
    """Cuts pieces out of an input as long as it fails in the same way."""
    data, trials = failure.data, 0
    step = len(data) // 2
    while step >= 1 and trials < _MOST_TRIALS and failure.where[0] != TooSlowError.__name__:
        begin, has_shrunk = 0, False
        while begin < len(data) and trials < _MOST_TRIALS:
            shorter = data[:begin] + data[begin + step :]
            trials += 1
            if _fails_as(target, shorter, failure.where):
                data, has_shrunk = shorter, True
            else:
                begin += step
        if not has_shrunk:
            step //= 2
    return failure._replace(data=data)


def _fails_as(target: Target, data: bytes, where: tuple[str, str]) -> bool:
    try:
        read_in_time(target, data)
    except Exception as error:
        return _place_of(error) == where
    return False


def _place_of(error: BaseException) -> tuple[str, str]:
    """Returns an error's type and the innermost line of it, which tell faults apart."""
    frames = traceback.extract_tb(error.__traceback__)
    line = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"
    return type(error).__name__, "any" if isinstance(error, TooSlowError) else line


@contextmanager
def _watchdog() -> Iterator[None]:
    """Raises `TooSlowError` in the reader when a timer of `read_in_time` runs out."""

    def stop(*_: object) -> None:
        raise TooSlowError(f"more than {LONGEST_S} s of processor time, or {_STUCK_S} s of waiting")

    signals = (signal.SIGPROF, signal.SIGALRM)
    before = [signal.signal(each, stop) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


@contextmanager
def _kept(path: Path) -> Iterator[Callable[[bytes], None]]:
    """Yields what writes an input where it outlives the process; the file goes at the end."""
    path.write_bytes(bytes(_ROOM))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), _ROOM) as memory:

        def keep(data: bytes) -> None:
            kept = data[: _ROOM - _HEAD]
            memory[:_HEAD] = len(kept).to_bytes(_HEAD, "little")
            memory[_HEAD : _HEAD + len(kept)] = kept

        yield keep
    path.unlink()


def read_current(path: Path) -> bytes:
    """Returns the input that a killed process was reading."""
    content = path.read_bytes()
    return content[_HEAD : _HEAD + int.from_bytes(content[:_HEAD], "little")]
