"""What runs in an actor process: a game, a network and self-play. `pool.py` wraps it for Ray."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import psutil

from alphago.games import make_game
from alphago.network.evaluator import EvaluatorConfig, NetworkEvaluator
from alphago.network.network import NetworkConfig
from alphago.network.precision import Inference
from alphago.search import SearchConfig
from alphago.types import UInt8Array, Weights
from selfplay.config import SelfPlayConfig
from selfplay.play import PlayReport, SelfPlay

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class ActorSetup:
    """Everything an actor needs to begin, as plain data that travels to its process.

    Attributes:
        game: the game as text, `NAME[:key=value,...]`.
        network: shape of the network.
        evaluator: device, precision and threads of its evaluations.
        search: constants of the search.
        selfplay: how games are played.
        seed: root of the run's random streams.
    """

    game: str
    network: NetworkConfig
    evaluator: EvaluatorConfig
    search: SearchConfig
    selfplay: SelfPlayConfig
    seed: int


class SelfPlayActor:
    """Plays games with the newest weights it was given."""

    def __init__(self, setup: ActorSetup, actor: int) -> None:
        """Builds the network and empty games.

        Args:
            setup: what all actors of a run share.
            actor: this actor's number, part of the random stream of its games.
        """
        game = make_game(setup.game)
        self._evaluator = NetworkEvaluator(game, setup.network, setup.evaluator)
        self._selfplay = SelfPlay(
            game, self._evaluator, setup.search, setup.selfplay, seed=setup.seed, actor=actor
        )

    def set_weights(
        self, version: int, weights: Weights, positions: UInt8Array | None = None
    ) -> Inference:
        """Plays on with another network.

        Args:
            version: its number.
            weights: the network.
            positions: observations of recent games uint8 [M, C, H, W], to check precision on.

        Returns:
            How it is evaluated.
        """
        self._selfplay.set_weights(version, weights, positions)
        return self._evaluator.inference

    def play(self, num_games: int) -> PlayReport:
        """Plays until at least this many games have finished."""
        return self._selfplay.play(num_games)

    def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Runs a function here: work that a run spreads over its actors, such as a gate."""
        return function(*arguments)

    def snapshot(self) -> dict[str, Any]:
        """Returns the unfinished games, see `SelfPlay.snapshot`."""
        return self._selfplay.snapshot()

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Goes on with the unfinished games of a snapshot."""
        self._selfplay.restore(snapshot)


def resident_bytes() -> int:
    """Returns the resident memory of this process."""
    return int(psutil.Process().memory_info().rss)
