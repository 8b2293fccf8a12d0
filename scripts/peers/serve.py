"""The program that measures one runner, in the environment of that runner.

`python -P serve.py RUNNER CORE SETTINGS` stays on one core, loads the file RUNNER and calls its
`prepare` with the settings (JSON). That returns how it computes, in words, and a function that does
one piece of work and returns how much it was. The first call warms it up. After that each line of
standard input, a number of seconds, is answered with one line of JSON. Here is the standard library
alone, since a peer's environment holds nothing of ours.
"""

import importlib.util
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO


def main(argv: list[str]) -> int:
    """Serves until standard input ends; returns the exit code."""
    # What libraries print goes to the log; answers have a descriptor of their own.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    runner, core, settings = argv
    os.sched_setaffinity(0, {int(core)})  # before the libraries count the cores and start threads
    try:
        computed_by, work = load(Path(runner)).prepare(json.loads(settings))
        work()
        _answer(answers, {"computed_by": computed_by})
        for line in sys.stdin:
            _answer(answers, measure(work, seconds=float(line)))
    except Exception as error:  # whatever a peer raises: the others are measured all the same
        traceback.print_exc()
        _answer(answers, {"error": f"{type(error).__name__}: {error}"})
        return 1
    return 0


def load(path: Path) -> Any:
    """Returns a file as a module; its folder is not searched for other modules."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None, f"{path} is no Python file"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(work: Callable[[], float], *, seconds: float) -> dict[str, float]:
    """Works until the time is over.

    Args:
        work: does one piece of work and returns how much it was.
        seconds: the least time to work; the last piece is finished.

    Returns:
        `amount` of work, wall `seconds`, and `cpu_seconds` of the whole process.
    """
    started, cpu_started = time.perf_counter(), time.process_time()
    amount = elapsed = 0.0
    while elapsed < seconds:
        amount += work()
        elapsed = time.perf_counter() - started
    cpu_seconds = time.process_time() - cpu_started
    return {"amount": amount, "seconds": elapsed, "cpu_seconds": cpu_seconds}


def _answer(answers: TextIO, answer: dict[str, Any]) -> None:
    print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
