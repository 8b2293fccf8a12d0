"""What self-play did during one iteration, added up for the metrics."""

from collections import deque
from collections.abc import Sequence

from selfplay.records import GameRecord
from selfplay.reports import ActorMemory, PlayReport, sum_of_stats
from train.sgf_samples import GAMES_PER_ITERATION

MEGABYTE = 2**20


class PlayTotals:
    """Adds up the reports of one iteration, which may have more games than memory would hold.

    Attributes:
        num_games: finished games.
        newest: the last of them, as many as are shown.
    """

    def __init__(self) -> None:
        """Starts at nothing."""
        self.num_games = 0
        self.newest: deque[GameRecord] = deque(maxlen=GAMES_PER_ITERATION)
        self._num_moves = 0
        self._num_drawn = 0
        self._num_truncated = 0
        self._sum_of_results = 0.0  # of player 0
        self._stats = sum_of_stats([])  # its times are summed over the actors
        self._largest = ActorMemory(0, 0, 0)  # of each kind the most that an actor has told

    def add(self, reports: Sequence[PlayReport]) -> None:
        """Adds some reports."""
        for report in reports:
            self._add_games(report.records)
            self._stats = sum_of_stats([self._stats, report.stats])
            self._largest = ActorMemory._make(map(max, self._largest, report.memory))

    def _add_games(self, records: Sequence[GameRecord]) -> None:
        self.newest.extend(records)
        self.num_games += len(records)
        for record in records:
            result = float(record.returns[0])
            self._num_moves += len(record.actions)
            self._num_drawn += result == 0
            self._num_truncated += bool(record.truncated)
            self._sum_of_results += result

    def rates(self, num_actors: int) -> dict[str, float]:
        """Returns what all actors together do per second of playing, and what takes the time."""
        stats = self._stats
        seconds = max(stats.seconds / num_actors, 1e-9)
        return {
            "selfplay/positions_per_s": stats.num_positions / seconds,
            "selfplay/evaluations_per_s": stats.num_evaluations / seconds,
            "selfplay/simulations_per_s": stats.num_simulations / seconds,
            "selfplay/evaluation_share": stats.seconds_evaluating / max(stats.seconds, 1e-9),
        }

    def memory(self) -> dict[str, float]:
        """Returns the memory of the largest actor in MiB; nothing where none has reported."""
        if self._largest.resident_bytes == 0:
            return {}
        return {
            "memory/largest_actor_mb": self._largest.resident_bytes / MEGABYTE,
            "memory/actor_trees_mb": self._largest.tree_bytes / MEGABYTE,
            "memory/actor_caches_mb": self._largest.cache_bytes / MEGABYTE,
        }

    def game_facts(self) -> dict[str, float]:
        """Returns what the games were like; nothing where none finished."""
        if not self.num_games:
            return {}
        stats, num_games = self._stats, self.num_games
        num_rows = max(stats.num_evaluations + stats.num_cached, 1)
        return {
            "selfplay/game_length": self._num_moves / num_games,
            "selfplay/draws": self._num_drawn / num_games,
            "selfplay/truncated": self._num_truncated / num_games,
            "selfplay/first_player_score": (self._sum_of_results / num_games + 1) / 2,
            "selfplay/batch_fill": stats.num_leaves / num_rows,
            "selfplay/cache_hits": stats.num_cached / num_rows,
        }
