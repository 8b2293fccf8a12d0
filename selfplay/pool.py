"""The actors of a run behind one interface, and the one actor of this process.

Actors in processes of Ray have a module of their own, `ray_pool.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from alphago.network.precision import Inference
from selfplay.actors import ActorSetup, SelfPlayActor
from selfplay.reports import NewNetwork, PlayReport

Result = TypeVar("Result")


class PoolState(NamedTuple):
    """How a pool is doing.

    Attributes:
        num_actors: actors that have started and are alive.
        num_starting: actors that are starting, or wait for room on a machine.
        num_machines: machines that the actors are on.
        num_restarts: actors that died or hung, and were replaced.
        num_in_flight: calls that actors owe an answer.
        most_in_flight: how many of them there may be.
    """

    num_actors: int
    num_starting: int
    num_machines: int
    num_restarts: int
    num_in_flight: int
    most_in_flight: int


class SelfPlayPool(Protocol):
    """The actors of a run. After `publish`, alternate `collect` and whatever else is to do."""

    inference: Inference | None  # how the newest weights are evaluated; None until an actor says so
    keeps_games: bool  # whether unfinished games can be kept for another process to go on with

    @property
    def num_actors(self) -> int:
        """Among how many actors work can be divided now, at least one."""
        ...

    def state(self) -> PoolState:
        """Returns how the pool is doing."""
        ...

    def store_share(self) -> float:
        """Returns which share of its object stores Ray uses, on all machines; 0 without Ray.

        Also where Ray has ended: no number is a reason not to save a run.
        """
        ...

    def publish(self, network: NewNetwork) -> None:
        """Gives every actor the network to play with from now on."""
        ...

    def collect(self, timeout_s: float) -> list[PlayReport]:
        """Keeps every actor busy and returns the reports that arrive within the time.

        Raises:
            ActorsError: if none is left, or has answered for too long, as from `drain` and `map`.
        """
        ...

    def drain(self, timeout_s: float) -> list[PlayReport]:
        """Returns the reports that arrive within the time, without making an actor go on."""
        ...

    def is_busy(self) -> bool:
        """Tells whether an actor is playing or its report was not fetched yet.

        One that is still starting is not: it may have to wait for room on a machine for ever.
        """
        ...

    def map(
        self,
        function: Callable[..., Result],
        arguments: Sequence[tuple[Any, ...]],
        *,
        give_up: Callable[[], bool],
    ) -> list[Result] | None:
        """Runs a function once per argument tuple, spread over the actors.

        Args:
            function: what to run.
            arguments: of each call.
            give_up: asked again and again; once it says so, the results are not waited for.

        Returns:
            The results in order, None if it was given up.
        """
        ...

    def snapshot(self) -> dict[str, Any] | None:
        """Returns the unfinished games where they can be kept, else None."""
        ...

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Goes on with the unfinished games of a snapshot, where they can be kept."""
        ...

    def close(self) -> None:
        """Ends all actors; unfinished games are dropped."""
        ...


class InlinePool:
    """One actor in this process. Runs with equal seeds are equal bit for bit, with one group."""

    keeps_games = True

    def __init__(self, setup: ActorSetup, *, actor: int) -> None:
        """Builds the actor; `restore` makes it the one of the snapshot."""
        self.num_actors = 1
        self.inference: Inference | None = None
        self._games_per_call = setup.selfplay.games_per_call
        self._actor = SelfPlayActor(setup, actor=actor)

    def publish(self, network: NewNetwork) -> None:
        """Gives the actor the network to play with from now on."""
        self.inference = self._actor.set_network(network)

    def collect(self, timeout_s: float) -> list[PlayReport]:
        """Plays until some games have finished, however long that takes; not at all in no time.

        So a trainer that asks in passing makes all the steps it may before it waits.
        """
        if timeout_s == 0.0:
            return []
        # No other look at the time: a clock would make equal seeds give unequal runs.
        return [self._actor.play(self._games_per_call)]

    def drain(self, timeout_s: float) -> list[PlayReport]:
        """Returns nothing: between two calls nothing is playing."""
        del timeout_s
        return []

    def is_busy(self) -> bool:
        """Returns False: between two calls nothing is playing."""
        return False

    def map(
        self,
        function: Callable[..., Result],
        arguments: Sequence[tuple[Any, ...]],
        *,
        give_up: Callable[[], bool],
    ) -> list[Result] | None:
        """Calls the function once per argument tuple, unless it is given up between two calls."""
        results: list[Result] = []
        for each in arguments:
            if give_up():
                return None
            results.append(self._actor.call(function, *each))
        return results

    def snapshot(self) -> dict[str, Any] | None:
        """Returns the unfinished games."""
        return self._actor.snapshot()

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Goes on with the unfinished games of a snapshot."""
        self._actor.restore(snapshot)

    def state(self) -> PoolState:
        """Returns that of one actor, which works only when it is called."""
        return PoolState(
            num_actors=1,
            num_starting=0,
            num_machines=1,
            num_restarts=0,
            num_in_flight=0,
            most_in_flight=1,
        )

    def store_share(self) -> float:
        """Returns 0: there is no object store."""
        return 0.0

    def close(self) -> None:
        """Has nothing to end."""
