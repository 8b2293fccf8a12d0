"""What runs in an actor process: a game, networks and self-play. `actor_slots.py` starts it."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from alphago.games import make_game
from alphago.network.evaluator import EvaluatorConfig, NetworkEvaluator
from alphago.network.network import NetworkConfig
from alphago.network.precision import Inference
from alphago.search import GumbelConfig, SearchConfig
from selfplay.config import SelfPlayConfig
from selfplay.cpus import claim_cpu
from selfplay.groups import play_groups, restore_groups, snapshot_groups
from selfplay.play import SelfPlay
from selfplay.reports import NewNetwork, PlayReport
from selfplay.resources import groups_per_actor, uses_gpu

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class ActorSetup:
    """Everything an actor needs to begin, as plain data that travels to its process.

    Attributes:
        game: the game as text, `NAME[:key=value,...]`.
        network: shape of the network.
        evaluator: device, precision and threads of its evaluations.
        search: constants of PUCT.
        gumbel: constants of Gumbel's rule.
        selfplay: how games are played.
        seed: root of the run's random streams.
    """

    game: str
    network: NetworkConfig
    evaluator: EvaluatorConfig
    search: SearchConfig
    gumbel: GumbelConfig
    selfplay: SelfPlayConfig
    seed: int


def with_groups(setup: ActorSetup, num_groups: int) -> ActorSetup:
    """Returns a setup in which the number of groups is decided, for all who read it alike."""
    return replace(setup, selfplay=replace(setup.selfplay, groups_per_actor=num_groups))


class SelfPlayActor:
    """Plays games with the newest weights it was given.

    Each group of games has a thread, an evaluator and rules of its own; they share nothing.
    """

    def __init__(self, setup: ActorSetup, actor: int, seat: int = 0) -> None:
        """Builds the networks and empty games.

        Args:
            setup: what all actors of a run share.
            actor: number of its first group, part of the random streams of the games; the other
                groups have the numbers that follow. Never used again in a run.
            seat: its number among the actors that are on its machine now.
        """
        num_groups = groups_per_actor(setup.selfplay, setup.evaluator)
        games = [make_game(setup.game) for _ in range(num_groups)]
        self._evaluators = [
            NetworkEvaluator(game, setup.network, setup.evaluator) for game in games
        ]
        self._groups = [
            SelfPlay(
                game,
                evaluator,
                setup.search,
                setup.gumbel,
                setup.selfplay,
                seed=setup.seed,
                actor=actor + number,
            )
            for number, (game, evaluator) in enumerate(zip(games, self._evaluators, strict=True))
        ]
        is_shared = num_groups > 1 and uses_gpu(setup.evaluator)
        self._cpu = claim_cpu(seat) if is_shared else None

    @property
    def bytes_per_game(self) -> float:
        """The memory of the search of one game, equal in all groups."""
        return self._groups[0].bytes_per_game

    def set_network(self, network: NewNetwork) -> Inference:
        """Plays on with another network, and returns how it is evaluated."""
        for group in self._groups:
            group.set_network(network)
        return self._evaluators[0].inference

    def play(self, num_games: int, *, longest_s: float = math.inf) -> PlayReport:
        """Plays until at least this many games have finished, or until the time is over.

        The report may be without a game then. Those that are unfinished go on with the next call.
        """
        end = time.monotonic() + longest_s
        return self.play_until(
            lambda num_finished: num_finished >= num_games or time.monotonic() >= end
        )

    def play_until(self, is_enough: Callable[[int], bool]) -> PlayReport:
        """Plays until it is enough, see `play_groups`."""
        return play_groups(self._groups, is_enough, cpu=self._cpu)

    def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Runs a function here: work that a run spreads over its actors, such as a gate."""
        return function(*arguments)

    def snapshot(self) -> dict[str, Any]:
        """Returns the unfinished games, see `SelfPlay.snapshot`."""
        return snapshot_groups(self._groups)

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Goes on with the unfinished games of a snapshot."""
        restore_groups(self._groups, snapshot)
