"""How full searches explore: by noise in the root's priors, or by Gumbel's rule.

Both begin when the root was evaluated, with numbers from the game's own stream, and say in the end
what is learnt and which moves may be played. Fast searches do without.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from alphago.search import (
    BatchSearch,
    SearchConfig,
    gumbel_numbers,
    noise_of_roots,
)
from alphago.types import BoolArray, FloatArray, SearchResult
from selfplay.config import SelfPlayConfig

# Gumbel's rule gives every legal action a share of the target; those below this one are left out,
# since a record keeps each with its action. In Go on 9x9 after 5,700 steps 27 of 38 legal actions
# stay, and 0.5 % of the target goes; after 500 steps 36 of 37, and 0.1 %. No game has a thousand
# actions, so that the highest share is never below.
SMALLEST_SHARE = 1e-3


class Conclusion(NamedTuple):
    """What comes of finished searches, K rows."""

    policy_targets: FloatArray  # [K, A]; of fast searches not read
    move_counts: npt.NDArray[np.int32]  # [K, A], visits of the actions a move is drawn from
    root_values: FloatArray  # [K], view of the player to move


class Exploration(Protocol):
    """What full searches do beyond fast ones."""

    def explore(
        self,
        search: BatchSearch,
        rows: npt.NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
    ) -> None:
        """Begins full searches.

        Args:
            search: all searches.
            rows: int [K], the rows, whose roots were just evaluated.
            rngs: K, the streams of their games.
        """
        ...

    def conclude(
        self,
        search: BatchSearch,
        rows: npt.NDArray[np.int64],
        result: SearchResult,
        is_full: BoolArray,
    ) -> Conclusion:
        """Says what comes of finished searches.

        Args:
            search: all searches.
            rows: int [K], the rows.
            result: [K], what they found.
            is_full: bool [K], which of them were full.
        """
        ...


class DirichletExploration:
    """Noise in the priors of PUCT (AlphaGo Zero); visits are learnt, and moves drawn by them."""

    def __init__(self, config: SearchConfig) -> None:
        """Keeps the constants of the noise."""
        self._concentration = config.noise_concentration

    def explore(
        self,
        search: BatchSearch,
        rows: npt.NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
    ) -> None:
        """Draws noise, see `Exploration`."""
        legal = search.root_edges(rows).legal
        noise = noise_of_roots(legal, concentration=self._concentration, rngs=rngs)
        search.explore_roots(rows, noise)

    def conclude(
        self,
        search: BatchSearch,
        rows: npt.NDArray[np.int64],
        result: SearchResult,
        is_full: BoolArray,
    ) -> Conclusion:
        """Passes the visits on, see `Exploration`."""
        return Conclusion(result.policy_target, result.visit_counts, result.root_values)


class GumbelExploration:
    """Sequential halving at the root (`alphago/search/gumbel.py`); the improved policy is learnt.

    The move is the one that the rule ends with: the Gumbel numbers were its chance, and there is
    nothing left for a temperature to choose from.
    """

    def explore(
        self,
        search: BatchSearch,
        rows: npt.NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
    ) -> None:
        """Draws Gumbel numbers, see `Exploration`."""
        gumbels = [
            gumbel_numbers(legal, rng=rng)
            for legal, rng in zip(search.root_edges(rows).legal, rngs, strict=True)
        ]
        search.explore_by_halving(rows, np.stack(gumbels))

    def conclude(
        self,
        search: BatchSearch,
        rows: npt.NDArray[np.int64],
        result: SearchResult,
        is_full: BoolArray,
    ) -> Conclusion:
        """Puts improved policies and moves in place of visits, see `Exploration`."""
        full = np.flatnonzero(is_full)
        found = search.gumbel_result(rows[full])
        targets, counts = result.policy_target.copy(), result.visit_counts.copy()
        targets[full] = without_small_shares(found.policy_targets)
        counts[full] = 0
        counts[full, found.actions] = result.visit_counts[full, found.actions]
        values = result.root_values.copy()
        values[full] = found.values
        return Conclusion(targets, counts, values)


def without_small_shares(policies: FloatArray) -> FloatArray:
    """Returns policies [K, A] without shares below `SMALLEST_SHARE`; they still sum to 1."""
    kept = np.where(policies >= SMALLEST_SHARE, policies, np.float32(0.0))
    assert kept.any(axis=1).all(), "a policy over a thousand actions"
    shares: FloatArray = kept / kept.sum(axis=1, keepdims=True)
    return shares


def make_exploration(config: SelfPlayConfig, search_config: SearchConfig) -> Exploration:
    """Returns the way to explore that `selfplay.search` names."""
    if config.search == "gumbel":
        return GumbelExploration()
    return DirichletExploration(search_config)
