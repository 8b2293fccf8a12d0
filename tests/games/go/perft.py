"""Counts move sequences through the engine, a batch of states at a time."""

from typing import Any

import numpy as np

from alphago.games.go.game import Go
from alphago.types import States
from tests.games.go.engine import make_go

CHUNK = 20_000  # states expanded at once, which bounds the memory


def count_levels(row: dict[str, Any], *, num_levels: int) -> list[int]:
    """Returns the number of sequences of 1 to `num_levels` moves under the rules of a perft row."""
    go = make_go(
        row["rows"],
        row["cols"],
        ko=row["ko"],
        suicide=row["suicide"],
        max_moves=num_levels + 1,  # never reached
    )
    return _levels(go, go.initial_states(1), num_levels).tolist()


def _levels(go: Go, states: States, num_levels: int) -> np.ndarray:
    """Returns [num_levels] counts of sequences from a batch of states."""
    counts = np.zeros(num_levels, dtype=np.int64)
    for start in range(0, len(states), CHUNK):
        chunk = states[start : start + CHUNK]
        rows, actions = np.nonzero(go.legal_actions(chunk))
        counts[0] += len(rows)
        if num_levels > 1 and len(rows):
            counts[1:] += _levels(go, go.step(chunk[rows], actions), num_levels - 1)
    return counts
