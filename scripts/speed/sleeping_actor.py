"""An actor that sleeps in place of search and network, and hands ready games over at a pace."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from alphago.network.precision import Inference
from selfplay.actors import ActorSetup, Result
from selfplay.records import GameName, GameRecord
from selfplay.reports import ActorMemory, NewNetwork, PlayReport, PlayStats


@dataclass(frozen=True, kw_only=True)
class SleepingSetup(ActorSetup):
    """What a sleeping actor needs to begin.

    Attributes:
        records: games that it hands over again and again, under ever new numbers.
        games_per_s: of this actor.
    """

    records: list[GameRecord]
    games_per_s: float


class SleepingActor:
    """Has the functions of `SelfPlayActor` that a run calls while games are played."""

    def __init__(self, setup: SleepingSetup, actor: int, seat: int = 0) -> None:
        """Has finished no game yet.

        Args:
            setup: what all actors share.
            actor: its number.
            seat: not used.
        """
        self._setup = setup
        self._actor = actor
        self._num_games = 0

    def set_network(self, network: NewNetwork) -> Inference:
        """Takes a network and does nothing with it."""
        return Inference("none", "fp32", None, {})

    def play(self, num_games: int, *, longest_s: float = math.inf) -> PlayReport:
        """Sleeps for as long as so many games take, and returns them; it needs no bound on that."""
        del longest_s
        seconds = num_games / self._setup.games_per_s
        time.sleep(seconds)
        records = [self._next_record() for _ in range(num_games)]
        num_positions = sum(len(record.actions) for record in records)
        stats = PlayStats(seconds, seconds, num_positions, 0, 0, 0, 0)
        return PlayReport(records, stats, ActorMemory(0, 0, 0))

    def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Runs a function here."""
        return function(*arguments)

    def _next_record(self) -> GameRecord:
        """Returns a game that nobody has handed over yet."""
        number, self._num_games = self._num_games, self._num_games + 1
        record = self._setup.records[number % len(self._setup.records)]
        return replace(record, name=GameName(self._setup.seed, self._actor, number))
