"""What self-play did during one iteration, added up for the metrics."""

from collections.abc import Sequence

import numpy as np

from selfplay.records import GameRecord
from selfplay.reports import ActorMemory, PlayReport, sum_of_stats

MEGABYTE = 2**20


class PlayTotals:
    """Adds up the reports of one iteration."""

    def __init__(self) -> None:
        """Starts at nothing."""
        self.records: list[GameRecord] = []
        self._stats = sum_of_stats([])  # its times are summed over the actors
        self._largest = ActorMemory(0, 0, 0)  # of each kind the most that an actor has told

    def add(self, reports: Sequence[PlayReport]) -> None:
        """Adds some reports."""
        for report in reports:
            self.records += report.records
            self._stats = sum_of_stats([self._stats, report.stats])
            self._largest = ActorMemory._make(map(max, self._largest, report.memory))

    @property
    def num_games(self) -> int:
        """Finished games."""
        return len(self.records)

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
        if not self.records:
            return {}
        stats = self._stats
        num_rows = max(stats.num_evaluations + stats.num_cached, 1)
        results = np.array([record.returns[0] for record in self.records])
        return {
            "selfplay/game_length": float(
                np.mean([len(record.actions) for record in self.records])
            ),
            "selfplay/draws": float(np.mean(results == 0)),
            "selfplay/truncated": float(np.mean([record.truncated for record in self.records])),
            "selfplay/first_player_score": float(np.mean((results + 1) / 2)),
            "selfplay/batch_fill": stats.num_leaves / num_rows,
            "selfplay/cache_hits": stats.num_cached / num_rows,
        }
