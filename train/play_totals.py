"""What self-play did during one iteration, added up for the metrics."""

from collections.abc import Sequence

import numpy as np

from selfplay.play import PlayReport
from selfplay.records import GameRecord


class PlayTotals:
    """Adds up the reports of one iteration."""

    def __init__(self) -> None:
        """Starts at nothing."""
        self.records: list[GameRecord] = []
        self._actor_seconds = 0.0  # summed over the actors
        self._seconds_evaluating = 0.0  # likewise
        self._num_positions = 0
        self._num_simulations = 0
        self._num_evaluations = 0
        self._num_cached = 0
        self._num_leaves = 0

    def add(self, reports: Sequence[PlayReport]) -> None:
        """Adds some reports."""
        for report in reports:
            self.records += report.records
            self._actor_seconds += report.stats.seconds
            self._seconds_evaluating += report.stats.seconds_evaluating
            self._num_positions += report.stats.num_positions
            self._num_simulations += report.stats.num_simulations
            self._num_evaluations += report.stats.num_evaluations
            self._num_cached += report.stats.num_cached
            self._num_leaves += report.stats.num_leaves

    @property
    def num_games(self) -> int:
        """Finished games."""
        return len(self.records)

    def rates(self, num_actors: int) -> dict[str, float]:
        """Returns what all actors together do per second of playing, and what takes the time."""
        seconds = max(self._actor_seconds / num_actors, 1e-9)
        return {
            "selfplay/positions_per_s": self._num_positions / seconds,
            "selfplay/evaluations_per_s": self._num_evaluations / seconds,
            "selfplay/simulations_per_s": self._num_simulations / seconds,
            "selfplay/evaluation_share": self._seconds_evaluating / max(self._actor_seconds, 1e-9),
        }

    def game_facts(self) -> dict[str, float]:
        """Returns what the games were like; nothing where none finished."""
        if not self.records:
            return {}
        num_rows = max(self._num_evaluations + self._num_cached, 1)
        results = np.array([record.returns[0] for record in self.records])
        return {
            "selfplay/game_length": float(
                np.mean([len(record.actions) for record in self.records])
            ),
            "selfplay/draws": float(np.mean(results == 0)),
            "selfplay/truncated": float(np.mean([record.truncated for record in self.records])),
            "selfplay/first_player_score": float(np.mean((results + 1) / 2)),
            "selfplay/batch_fill": self._num_leaves / num_rows,
            "selfplay/cache_hits": self._num_cached / num_rows,
        }
