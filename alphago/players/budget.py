"""How long a player searches for one move: so many visits, so many seconds, or what ends first."""

import time
from collections.abc import Callable

import numpy as np

from alphago.types import MAX_SIMULATIONS, SearchResult, States

MAX_TREE_BYTES = 1 << 30  # of a search that only time limits; touched as the tree grows


def most_visits(bytes_per_visit: int) -> int:
    """Returns the largest number of visits whose tree fits into `MAX_TREE_BYTES`."""
    return max(1, min(MAX_SIMULATIONS, MAX_TREE_BYTES // bytes_per_visit))


def stop_after(
    seconds: float | None, *, or_when: Callable[[], bool] | None = None
) -> Callable[[], bool] | None:
    """Returns what a search shall ask whether to stop, None for never; the time begins now.

    Args:
        seconds: to search for; None for any time.
        or_when: another reason to stop, None for none.
    """
    if seconds is None:
        return or_when
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end or (or_when is not None and or_when())


def search_in_parts(
    states: States, *, num_rows: int, search: Callable[[States], SearchResult]
) -> SearchResult:
    """Searches positions [B] in batches of at most `num_rows`, and puts the results together."""
    starts = range(0, max(1, len(states)), num_rows)
    parts = [search(states[start : start + num_rows]) for start in starts]
    return SearchResult(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
