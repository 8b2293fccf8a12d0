"""The window of positions that are learnt from: the newest ones, sampled uniformly.

What a sample holds depends on the order of the positions and the random stream alone, so a buffer
rebuilt from the record store goes on exactly like one that was never stopped.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from alphago.errors import (
    HIGHEST_NUMBER,
    LOWEST_NUMBER,
    check_config,
    check_count,
    check_number,
    memory_for,
)
from alphago.games.game import GameSpec
from alphago.types import UInt8Array
from train.row_ring import RowRing
from train.row_symmetries import transform_rows
from train.targets import TrainingRows

WINDOW_GROWTHS = ("fixed", "katago")
MOST_POSITIONS = 10**12  # of a run; the powers in the law of a growing window stay finite


@dataclass(kw_only=True)
class ReplayConfig:
    """Which positions are learnt from, and how often.

    Attributes:
        window_size: newest positions sampled from; with `katago` the most the window grows to
            (AlphaGo Zero: those of 500,000 games).
        window_growth: `fixed`, or `katago` for a window that grows with the positions seen.
        window_min: positions at which the window starts to grow more slowly than the run, m of
            KataGo's law (KataGo: 250,000).
        window_exponent: exponent of the law, e (KataGo: 0.65).
        window_scale: positions by which the window grows per new one at first, k (KataGo: 0.4).
        samples_per_position: how often a position is sampled on average, at most (KataGo: 4 to 8).
        holdout_fraction: share of the games kept for validation, never learnt from.
        root_value_share: share of the search's root values in the value target; the rest is the
            result of the game (AlphaGo Zero: 0).
        root_value_horizon: moves ahead over which these root values are averaged, the position
            itself counted; 1 for its own value alone.
    """

    window_size: int
    window_growth: str
    window_min: int
    window_exponent: float
    window_scale: float
    samples_per_position: float
    holdout_fraction: float
    root_value_share: float
    root_value_horizon: float

    def __post_init__(self) -> None:
        """Checks the values."""
        check_count("replay.window_size", self.window_size, at_least=1)
        check_count("replay.window_min", self.window_min, at_least=1, at_most=MOST_POSITIONS)
        growth = self.window_growth
        check_config(
            "replay.window_growth", growth, growth in WINDOW_GROWTHS, " or ".join(WINDOW_GROWTHS)
        )
        for name, highest in (
            ("window_exponent", 1),
            ("window_scale", HIGHEST_NUMBER),
            ("samples_per_position", HIGHEST_NUMBER),
        ):
            value = getattr(self, name)
            check_number(f"replay.{name}", value, at_least=LOWEST_NUMBER, at_most=highest)
        if self.holdout_fraction != 0:
            fraction = self.holdout_fraction
            check_number("replay.holdout_fraction", fraction, at_least=LOWEST_NUMBER, at_most=0.5)
        check_number("replay.root_value_share", self.root_value_share, at_most=1)
        check_number("replay.root_value_horizon", self.root_value_horizon, at_least=1)


def window_size(config: ReplayConfig, positions_seen: int) -> int:
    """Returns how many of the newest positions are sampled from.

    KataGo's law for N positions: m + k (N^e - m^e) / (e m^(e - 1)), which has the slope k at N = m
    and all positions below it (KataGoMethods, "Self-play window").
    """
    size = config.window_size
    if config.window_growth == "katago":
        m, e, k = config.window_min, config.window_exponent, config.window_scale
        n = max(positions_seen, m)
        size = min(size, int(m + k * (n**e - m**e) / (e * m ** (e - 1))))
    return min(size, positions_seen)


def draw_ages(window: int, rng: np.random.Generator, *, num_rows: int) -> npt.NDArray[np.int64]:
    """Decides which positions are learnt from: all of the window alike.

    Args:
        window: the newest positions, from which rows are drawn with replacement.
        rng: decides the rows.
        num_rows: M.

    Returns:
        int64 [M], the drawn positions by age; 0 is the newest.
    """
    return rng.integers(window, size=num_rows)


def bytes_of_window(spec: GameSpec, config: ReplayConfig, *, auxiliary: Sequence[str]) -> int:
    """Returns how many bytes of memory a buffer takes, held-out positions included."""
    num_rows = config.window_size + math.ceil(config.window_size * config.holdout_fraction)
    return num_rows * RowRing(spec, 1, auxiliary).num_bytes


class ReplayBuffer:
    """Positions of the newest games, and beside them those of held-out games.

    Attributes:
        config: how large the window is and how often a position may be used.
        positions_seen: positions ever added to learn from, held-out ones not counted.
        samples_drawn: rows ever sampled.
    """

    def __init__(
        self, spec: GameSpec, config: ReplayConfig, *, auxiliary: Sequence[str] = ()
    ) -> None:
        """Takes all the memory the buffer will ever need.

        Args:
            spec: the game.
            config: how large the window is and how often a position may be used.
            auxiliary: the auxiliary heads that need targets.

        Raises:
            ConfigError: if there is not so much.
        """
        self._spec = spec
        self.config = config
        self.auxiliary = tuple(auxiliary)  # heads that rows have targets for
        self.positions_seen = 0
        self.samples_drawn = 0
        size = config.window_size
        with memory_for("replay.window_size", size):
            self._learnt = RowRing(spec, size, auxiliary)
            num_held_out = math.ceil(size * config.holdout_fraction)
            self._held_out = RowRing(spec, num_held_out, auxiliary)

    @property
    def num_bytes(self) -> int:
        """The memory of all positions, which does not grow."""
        return self._learnt.num_bytes + self._held_out.num_bytes

    @property
    def num_positions(self) -> int:
        """Positions in memory, at least `window`."""
        return self._learnt.num_rows

    @property
    def num_held_out(self) -> int:
        """Held-out positions in memory."""
        return self._held_out.num_rows

    @property
    def window(self) -> int:
        """How many of the newest positions are sampled from."""
        return min(window_size(self.config, self.positions_seen), self.num_positions)

    def append(self, rows: TrainingRows) -> None:
        """Adds positions to learn from, oldest first."""
        self._learnt.append(rows)
        self.positions_seen += len(rows.value_targets)

    def append_held_out(self, rows: TrainingRows) -> None:
        """Adds positions of held-out games, oldest first."""
        self._held_out.append(rows)

    def samples_allowed(self) -> int:
        """Returns how many rows may be sampled before new positions have to come.

        The bound keeps the trainer from learning the few games it has by heart: beyond it, loss in
        training falls and strength with it.
        """
        allowed = int(self.config.samples_per_position * self.positions_seen) - self.samples_drawn
        return max(allowed, 0)

    def sample(self, num_rows: int, rng: np.random.Generator) -> TrainingRows:
        """Draws rows from the window, each under a random symmetry of the game.

        Args:
            num_rows: rows to draw (with replacement), at most `samples_allowed()`.
            rng: decides rows and symmetries.

        Returns:
            The drawn rows, M = num_rows.
        """
        assert 0 < num_rows <= self.samples_allowed(), "the bound on the use of positions is broken"
        rows = self._learnt.take(draw_ages(self.window, rng, num_rows=num_rows))
        symmetries = rng.integers(len(self._spec.symmetries), size=num_rows)
        self.samples_drawn += num_rows
        return transform_rows(rows, symmetries, self._spec)

    def draw_observations(self, rng: np.random.Generator, *, num_rows: int) -> UInt8Array:
        """Draws observations uint8 [M, C, H, W] from the window; they do not count as samples."""
        return self._learnt.take_observations(draw_ages(self.window, rng, num_rows=num_rows))

    def newest_held_out(self, num_rows: int) -> TrainingRows:
        """Returns up to `num_rows` held-out rows as they were added, the newest first."""
        return self._held_out.take(np.arange(min(num_rows, self.num_held_out)))

    def state_dict(self) -> dict[str, int]:
        """Returns the counters for JSON; the positions themselves are in the record store."""
        return {"positions_seen": self.positions_seen, "samples_drawn": self.samples_drawn}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Sets the counters, after the games the buffer held were added again."""
        self.positions_seen = state["positions_seen"]
        self.samples_drawn = state["samples_drawn"]
