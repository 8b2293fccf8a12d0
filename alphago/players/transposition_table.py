"""What a search has found out about positions, by their bytes.

Source: Greenblatt, Eastlake and Crocker 1967, "The Greenblatt chess program", section "Hash table".
Keys are whole states, not hashes of them, so that no two positions are ever mistaken for another.

A state tells all that the rules need, which in Go is the whole game, not the board alone: superko
forbids by it. So in Go equal boards by other moves are other keys, and transpositions are hardly
ever met; there the table holds the best moves of the last iteration, which are tried first.
"""

import enum
from collections import OrderedDict
from typing import NamedTuple

from alphago.types import States

MAX_BYTES = 1 << 28
_ENTRY_BYTES = 300  # of an entry, its numbers and its place in the table; roughly


class Bound(enum.Enum):
    """What the score of a pruned search tells about the true one."""

    EXACT = enum.auto()
    AT_LEAST = enum.auto()
    AT_MOST = enum.auto()


class Entry(NamedTuple):
    """What is known of one position."""

    depth: int  # plies looked ahead from here
    score: int  # view of the player to move
    bound: Bound
    is_proven: bool  # the same would be found with any larger depth
    best_child: int  # among its legal actions

    def settles(self, *, depth: int, alpha: int, beta: int) -> bool:
        """Tells whether a search of this depth and window would find no more than this.

        A deeper entry would know more, but a search of mixed depths could not be compared with one
        that looks at everything.
        """
        if self.depth > depth or (self.depth < depth and not self.is_proven):
            return False
        if self.bound is Bound.AT_LEAST:
            return self.score >= beta
        if self.bound is Bound.AT_MOST:
            return self.score <= alpha
        return True


class TranspositionTable:
    """A table of bounded size; where it is full, the one put longest ago makes room."""

    def __init__(self, state_bytes: int, *, max_bytes: int = MAX_BYTES) -> None:
        """Starts empty.

        Args:
            state_bytes: size of a state.
            max_bytes: roughly, memory that it may fill.
        """
        self._entries: OrderedDict[bytes, Entry] = OrderedDict()
        self._max_entries = max_bytes // (state_bytes + _ENTRY_BYTES)

    def __len__(self) -> int:
        """Returns the number of entries."""
        return len(self._entries)

    def get(self, state: States) -> Entry | None:
        """Returns what is known of a position [1]."""
        return self._entries.get(state.tobytes())

    def put(self, state: States, entry: Entry) -> None:
        """Keeps what was found about a position [1], instead of what was known before."""
        key = state.tobytes()
        self._entries[key] = entry
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_entries:
            # Not `next(iter(...))` of a dict, which walks over all the places left empty before.
            self._entries.popitem(last=False)
