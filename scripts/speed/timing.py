"""Calls something again and again and tells how often a second."""

import time
from collections.abc import Callable


def calls_per_second(action: Callable[[], object], *, seconds: float) -> float:
    """Calls once to warm up, then until the time is over, at least once; results are dropped."""
    action()
    num_calls = 0
    started = time.perf_counter()
    elapsed = 0.0
    while elapsed < seconds:
        action()
        num_calls += 1
        elapsed = time.perf_counter() - started
    return num_calls / elapsed
