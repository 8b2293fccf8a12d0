"""The games that lie on the disk when a run goes on: which are missing, learnt from, played again.

A run that was stopped within an iteration has stored games that its newest checkpoint does not
know. Actors in other processes begin new games after a resume, and the stored ones are learnt from
as they are. A run in one process has kept the unfinished games of the checkpoint. From there it
plays the stored ones once more, to the same moves, and whatever follows is what it would have been
without the stop. They stay on the disk as they are, and none is stored twice.
"""

import itertools
import logging
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import fields

import numpy as np

from alphago.games.game import Game
from selfplay.record_store import RecordStore
from selfplay.records import GameRecord
from train.games_to_rows import append_sound_games
from train.replay_buffer import ReplayBuffer

logger = logging.getLogger(__name__)


class GamesAgain:
    """Stored games that are to be played again, in the order in which they were stored."""

    def __init__(self, stored: Sequence[GameRecord] = ()) -> None:
        """Expects these games."""
        self._stored = deque(stored)

    @property
    def num_games(self) -> int:
        """Games that have not been played again yet."""
        return len(self._stored)

    def are_expected(self, records: Sequence[GameRecord]) -> bool:
        """Tells whether these games are the next stored ones, as far as there are so many."""
        return all(map(is_same_record, self._stored, records))

    def take(self, num_games: int) -> list[GameRecord]:
        """Takes out the next games, all that are left where these are fewer."""
        taken = list(itertools.islice(self._stored, num_games))
        for _ in taken:
            self._stored.popleft()
        return taken


def is_same_record(one: GameRecord, other: GameRecord) -> bool:
    """Tells whether two records are equal in every field, bit for bit."""
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(GameRecord)
    )


def refill_window(
    buffer: ReplayBuffer, game: Game, store: RecordStore, *, num_games: int, state: dict[str, int]
) -> None:
    """Fills a window from the disk, as a checkpoint had it.

    Args:
        buffer: the empty window.
        game: the rules.
        store: the games that are there; later ones get numbers beyond those of the checkpoint.
        num_games: games that the checkpoint counts.
        state: the buffer's own state in it.
    """
    store.skip_to(num_games)
    _warn_of_missing_games(store)
    config = buffer.config
    kept = store.newest(config.window_size, end=num_games, holdout_fraction=config.holdout_fraction)
    append_stored_games(buffer, game, kept, store=store)
    buffer.load_state_dict(state)


def _warn_of_missing_games(store: RecordStore) -> None:
    """Says how many of the games that were stored once are not there any more."""
    if store.num_found < store.num_games:
        logger.warning(
            "%s: %d of %d games are missing; the run goes on without them",
            store.folder,
            store.num_games - store.num_found,
            store.num_games,
        )


def append_stored_games(
    buffer: ReplayBuffer, game: Game, records: Iterable[GameRecord], *, store: RecordStore
) -> None:
    """Adds games from the disk to the window; says which do not replay, and leaves them out."""
    faults = append_sound_games(buffer, game, records)
    if faults:
        logger.warning(
            "%s: %d games do not replay and are not learnt from, first %s",
            store.folder,
            len(faults),
            faults[0],
        )
