"""`EvaluationCache`: a network's answers by position, so that none is asked for twice.

A search starts afresh at every move and asks again for much of what the last one has seen, and
games that begin alike, or reach a position by other ways, ask for the same. The key is what the
network sees, the observation, so that an answer is never another one than the network would give,
but for its rounding in batches of another size.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.kernels import kernel
from alphago.types import Evaluation, FloatArray, States, UInt8Array

Keys = npt.NDArray[np.uint64]

NO_KEY = np.uint64(0)  # of an entry that holds nothing
# The network is asked for whole parts of a batch, filled up with rows that are known. OpenVINO
# takes a tenth longer where a batch has another size than the one before, but large parts spare
# fewer rows. Positions/s without the cache, with 4, 8 and 16 parts, int8: Connect Four 180, 245,
# 271, 280; Go 9x9 with a fresh network (1 % known) 342, 341, 351, 331, with a trained one 309, 426,
# 426, 426.
NUM_PARTS = 16


class ObservationEvaluator(Protocol):
    """A network, which knows nothing of a position but its observation."""

    def evaluate_observations(self, observations: UInt8Array) -> Evaluation:
        """Evaluates observations uint8 [M, C, H, W], any M from 1."""
        ...


class Entries(NamedTuple):
    """The memory of a cache of E entries. A position has one place, by its key."""

    keys: Keys  # [E], of the position that an entry holds, or NO_KEY
    logits: FloatArray  # [E, A]
    values: FloatArray  # [E]


def allocate_entries(num_entries: int, num_actions: int) -> Entries:
    """Allocates entries that hold nothing; memory is taken when they are written."""
    return Entries(
        keys=np.full(num_entries, NO_KEY),
        logits=np.empty((num_entries, num_actions), np.float32),
        values=np.empty(num_entries, np.float32),
    )


class EvaluationCache:
    """An evaluator that asks a network only for positions it does not know.

    Attributes:
        num_hits: rows that it answered itself.
    """

    def __init__(self, game: Game, evaluator: ObservationEvaluator, *, num_entries: int) -> None:
        """Allocates the entries.

        Args:
            game: the rules.
            evaluator: the network.
            num_entries: positions that are kept at most; a newer one takes the place of an older.
        """
        self._game = game
        self._evaluator = evaluator
        self._entries = allocate_entries(num_entries, game.spec.num_actions)
        num_cells = int(np.prod(game.spec.observation_shape))
        # Zobrist's method (see `games/go/board.py`) for every cell of every plane.
        self._cell_keys = np.random.default_rng(64).integers(2**64, size=num_cells, dtype=np.uint64)
        self.num_hits = 0

    @property
    def num_bytes(self) -> int:
        """The memory of the entries, however many are in use."""
        return sum(array.nbytes for array in self._entries)

    def clear(self) -> None:
        """Forgets all answers, as has to be done when the network changes."""
        self._entries.keys[:] = NO_KEY

    def evaluate(self, states: States) -> Evaluation:
        """Evaluates states, see `alphago.types.Evaluator`."""
        observations = self._game.observe(states)
        num_rows, num_actions = len(states), self._game.spec.num_actions
        answer = Evaluation(
            np.empty((num_rows, num_actions), np.float32), np.empty(num_rows, np.float32)
        )
        keys, order = np.empty(num_rows, np.uint64), np.empty(num_rows, np.int64)
        cells = observations.reshape(num_rows, -1)
        num_missing = look_up(self._entries, cells, self._cell_keys, answer, keys, order)
        part = max(1, num_rows // NUM_PARTS)
        num_asked = min(math.ceil(num_missing / part) * part, num_rows)
        if num_asked > 0:
            asked = observations[order[:num_asked]]
            found = self._evaluator.evaluate_observations(asked)
            # The search checks what it gets; from here it gets arrays that are right anyway.
            assert found.prior_logits.shape == (num_asked, num_actions), found.prior_logits.shape
            assert found.value.shape == (num_asked,), found.value.shape
            store(self._entries, keys, order[:num_missing], found, answer)
        self.num_hits += num_rows - num_asked
        return answer


@kernel
def observation_key(cells: UInt8Array, cell_keys: Keys) -> np.uint64:
    """Returns the key of an observation, uint8 [C * H * W] of zeros and ones; never NO_KEY."""
    key = NO_KEY
    for i in range(cells.size):
        key ^= cell_keys[i] if cells[i] != 0 else NO_KEY
    return max(key, np.uint64(1))


@kernel
def look_up(
    entries: Entries,
    cells: UInt8Array,
    cell_keys: Keys,
    answer: Evaluation,
    keys: Keys,
    order: npt.NDArray[np.int64],
) -> int:
    """Answers for the observations that are known.

    Args:
        entries: what is known.
        cells: uint8 [B, C * H * W], the observations.
        cell_keys: uint64 [C * H * W].
        answer: [B], filled in place where an observation is known.
        keys: uint64 [B], filled in place.
        order: int64 [B], filled in place with the rows, those that are not known first.

    Returns:
        How many are not known.
    """
    num_missing, num_known = 0, 0
    for b in range(len(cells)):
        key = observation_key(cells[b], cell_keys)
        keys[b] = key
        place = key % np.uint64(len(entries.keys))
        if entries.keys[place] == key:
            answer.value[b] = entries.values[place]
            for a in range(answer.prior_logits.shape[1]):
                answer.prior_logits[b, a] = entries.logits[place, a]
            num_known += 1
            order[len(cells) - num_known] = b
        else:
            order[num_missing] = b
            num_missing += 1
    return num_missing


@kernel
def store(
    entries: Entries,
    keys: Keys,
    rows: npt.NDArray[np.int64],
    found: Evaluation,
    answer: Evaluation,
) -> None:
    """Keeps the network's answers for rows [K], the first ones found, and writes them to `answer`.

    In place; answers behind them were known.
    """
    for k in range(len(rows)):
        b = rows[k]
        place = keys[b] % np.uint64(len(entries.keys))
        entries.keys[place] = keys[b]
        entries.values[place] = found.value[k]
        answer.value[b] = found.value[k]
        for a in range(found.prior_logits.shape[1]):
            entries.logits[place, a] = found.prior_logits[k, a]
            answer.prior_logits[b, a] = found.prior_logits[k, a]
