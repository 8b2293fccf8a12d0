"""How long a player searches for one move: so many visits, so many seconds, or what ends first."""

import time
from collections.abc import Callable

import numpy as np

from alphago.errors import PlayerError
from alphago.types import MAX_SIMULATIONS, SearchResult, States

MAX_TREE_BYTES = 1 << 30  # of one position; touched as the tree grows
_MAX_BATCH_BYTES = 1 << 28  # of the trees of one search, unless a single position needs more


def most_visits(node_bytes: int) -> int:
    """Returns the largest number of visits that a search may have, beside the root's own node.

    Args:
        node_bytes: memory of a node.
    """
    return min(MAX_SIMULATIONS, MAX_TREE_BYTES // node_bytes - 1)


def limit_visits(wanted: int | None, *, node_bytes: int, seconds: float | None, what: str) -> int:
    """Returns how many visits a search has room for, at most as many as are wanted.

    Args:
        wanted: visits; None for as many as there is time and memory for.
        node_bytes: memory of a node.
        seconds: to search for; None for any time.
        what: is limited, for the message.

    Raises:
        PlayerError: if nothing else limits a search that memory has no room for.
    """
    most = most_visits(node_bytes)
    if wanted is not None and wanted <= most:
        return wanted
    if seconds is None:
        raise PlayerError(
            f"{what}: got {wanted}, allowed: at most {most}"
            f" (a tree may take {MAX_TREE_BYTES >> 30} GB)"
        )
    return most


def rows_at_once(num_visits: int, *, node_bytes: int, most_rows: int) -> int:
    """Returns how many positions to search in one batch, whose memory is bounded.

    Args:
        num_visits: of each position, beside the root's own node.
        node_bytes: memory of a node.
        most_rows: more would make no search faster.
    """
    return max(1, min(most_rows, _MAX_BATCH_BYTES // (node_bytes * (num_visits + 1))))


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
