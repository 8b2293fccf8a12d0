"""What a run gives its actors to play with, and what they hand over."""

from collections.abc import Iterable
from typing import NamedTuple

from alphago.types import UInt8Array, Weights
from selfplay.records import GameRecord


class NewNetwork(NamedTuple):
    """What actors play with from now on.

    Attributes:
        version: number of the network.
        weights: of it.
        positions: observations of recent games uint8 [M, C, H, W], to check precision on.
        full_budget: simulations of full searches from now on; None for `num_simulations`.
    """

    version: int
    weights: Weights
    positions: UInt8Array | None = None
    full_budget: int | None = None


class PlayStats(NamedTuple):
    """What an actor did during one call of `play`."""

    seconds: float  # wall time spent playing
    seconds_evaluating: float  # of them spent waiting for evaluations
    num_positions: int  # moves made after a search
    num_simulations: int
    num_evaluations: int  # rows sent to the network
    num_cached: int  # rows that the cache answered
    num_leaves: int  # rows of both kinds that a simulation asked for; the others filled the batch


def sum_of_stats(stats: Iterable[PlayStats]) -> PlayStats:
    """Adds up each of the numbers."""
    return PlayStats._make(
        map(sum, zip(PlayStats(*[0] * len(PlayStats._fields)), *stats, strict=True))
    )


class ActorMemory(NamedTuple):
    """Memory of an actor in bytes; trees and cache are allocated once and do not grow."""

    resident_bytes: int  # of its process
    tree_bytes: int  # search trees of its games
    cache_bytes: int  # their caches of evaluations


class PlayReport(NamedTuple):
    """Finished games, what they cost, and the memory of the actor that has played them."""

    records: list[GameRecord]
    stats: PlayStats
    memory: ActorMemory
