"""The actors of a run behind one interface: in this process, or in processes of Ray."""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol, TypeVar

import ray
from ray.exceptions import OutOfMemoryError, RayActorError, RayTaskError

from alphago.errors import AlphagoError, TrainingError
from alphago.network.precision import Inference
from alphago.types import UInt8Array, Weights
from selfplay.actors import ActorSetup, SelfPlayActor, resident_bytes, with_groups
from selfplay.play import PlayReport
from selfplay.resources import gpu_share, groups_per_actor
from selfplay.silence import SilenceWatch

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

# What a call of a dead actor raises; the first where Ray ended it because memory was short.
DEAD = (OutOfMemoryError, RayActorError)
POLL_S = 1.0  # longest time until `map` asks again whether to give up


class SelfPlayPool(Protocol):
    """The actors of a run. After `publish`, alternate `collect` and whatever else is to do."""

    num_actors: int
    num_restarts: int  # actors that died and were replaced
    inference: Inference | None  # how the newest weights are evaluated; None until an actor says so

    def publish(self, version: int, weights: Weights, positions: UInt8Array | None = None) -> None:
        """Gives every actor the weights to play with from now on.

        Args:
            version: their number.
            weights: the network.
            positions: observations of recent games uint8 [M, C, H, W], to check precision on.
        """
        ...

    def collect(self, timeout_s: float) -> list[PlayReport]:
        """Keeps every actor busy and returns the reports that arrive within the time.

        Raises:
            TrainingError: if no actor has answered for too long, as from `drain` and `map`.
        """
        ...

    def drain(self, timeout_s: float) -> list[PlayReport]:
        """Returns the reports that arrive within the time, without making an actor go on."""
        ...

    def is_busy(self) -> bool:
        """Tells whether an actor is playing or its report was not fetched yet."""
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

    def resident_bytes(self, *, give_up: Callable[[], bool]) -> list[int]:
        """Returns the resident memory of each actor process, nothing if it was given up."""
        ...

    def close(self) -> None:
        """Ends all actors; unfinished games are dropped."""
        ...


class InlinePool:
    """One actor in this process. Runs with equal seeds are equal bit for bit, with one group."""

    def __init__(self, setup: ActorSetup, *, actor: int) -> None:
        """Builds the actor; `restore` makes it the one of the snapshot."""
        self.num_actors = 1
        self.num_restarts = 0
        self.inference: Inference | None = None
        self._games_per_call = setup.selfplay.games_per_call
        self._actor = SelfPlayActor(setup, actor=actor)

    def publish(self, version: int, weights: Weights, positions: UInt8Array | None = None) -> None:
        """Gives the actor the weights to play with from now on."""
        self.inference = self._actor.set_weights(version, weights, positions)

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

    def resident_bytes(self, *, give_up: Callable[[], bool]) -> list[int]:
        """Returns nothing: the actor is this process."""
        del give_up
        return []

    def close(self) -> None:
        """Has nothing to end."""


class RayPool:
    """Actors in processes of their own. Ray must have been started.

    Each actor has at most `max_in_flight` calls open: it goes on to the next while the first one's
    records wait to be fetched, and stops when nobody fetches them. That is the bound on records in
    memory.
    """

    def __init__(self, setup: ActorSetup, *, num_actors: int, first_actor: int) -> None:
        """Starts the actors.

        Args:
            setup: what all actors share.
            num_actors: how many.
            first_actor: number of the first; a resumed run passes one that no earlier actor of the
                run had, so that no random stream is used twice. Each group of an actor takes one.
        """
        self.num_actors = num_actors
        self.num_restarts = 0
        self.inference: Inference | None = None
        self._setup = with_groups(setup)
        resources = ray.cluster_resources()  # type: ignore[no-untyped-call]
        num_gpus = int(resources.get("GPU", 0))
        # One CPU whatever the groups: Ray makes it OMP_NUM_THREADS, which holds for each thread.
        self._remote_actor = ray.remote(
            num_cpus=1, num_gpus=gpu_share(num_actors=num_actors, num_gpus=num_gpus)
        )(SelfPlayActor)
        self._next_actor = first_actor
        self._actors = [self._start_actor() for _ in range(num_actors)]
        self._calls: dict[Any, int] = {}  # open call -> slot of its actor: its index in the list
        self._silence = SilenceWatch(
            limit_minutes=setup.selfplay.silence_limit_minutes, num_actors=num_actors
        )
        # Version and object references of the newest weights, kept for replacements.
        self._weights: tuple[int, Any, Any] | None = None

    def publish(self, version: int, weights: Weights, positions: UInt8Array | None = None) -> None:
        """Puts the weights into the object store once and tells every actor."""
        self._weights = (version, ray.put(weights), ray.put(positions))
        for slot in range(self.num_actors):
            self._send_weights(slot)

    def collect(self, timeout_s: float) -> list[PlayReport]:
        """Keeps every actor busy and returns the reports that arrive within the time."""
        for slot in range(self.num_actors):
            open_calls = sum(owner == slot for owner in self._calls.values())
            for _ in range(self._setup.selfplay.max_in_flight - open_calls):
                call = self._actors[slot].play.remote(self._setup.selfplay.games_per_call)
                self._calls[call] = slot
        return self._fetch(timeout_s)

    def drain(self, timeout_s: float) -> list[PlayReport]:
        """Returns the reports that arrive within the time, without making an actor go on."""
        return self._fetch(timeout_s) if self._calls else []

    def is_busy(self) -> bool:
        """Tells whether an actor is playing or its report was not fetched yet."""
        return bool(self._calls)

    def map(
        self,
        function: Callable[..., Result],
        arguments: Sequence[tuple[Any, ...]],
        *,
        give_up: Callable[[], bool],
    ) -> list[Result] | None:
        """Runs a function once per argument tuple, spread over the actors; results are in order."""
        results: dict[int, Result] = {}  # by index of the arguments
        actors = [self._actors[index % self.num_actors] for index in range(len(arguments))]
        calls = {actors[i].call.remote(function, *arguments[i]): i for i in range(len(arguments))}
        while calls:
            if give_up():
                return None
            busy = {index % self.num_actors for index in calls.values()}
            for call in self._wait(calls, POLL_S, num_busy=len(busy)):
                index = calls.pop(call)
                try:
                    results[index] = answer_of(call)
                except DEAD as error:
                    slot = index % self.num_actors
                    # It was replaced already where an earlier call of this actor failed as well.
                    if self._actors[slot] is actors[index]:
                        self._replace(slot, error)
                    actors[index] = self._actors[slot]
                    calls[actors[index].call.remote(function, *arguments[index])] = index
        return [results[index] for index in range(len(arguments))]

    def snapshot(self) -> dict[str, Any] | None:
        """Returns None: unfinished games live in other processes and are not kept."""
        return None

    def resident_bytes(self, *, give_up: Callable[[], bool]) -> list[int]:
        """Returns the resident memory of each actor process, nothing if it was given up."""
        return self.map(resident_bytes, [()] * self.num_actors, give_up=give_up) or []

    def close(self) -> None:
        """Ends all actors; unfinished games are dropped."""
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []
        self._calls = {}

    def _start_actor(self) -> Any:
        number = self._next_actor
        self._next_actor += groups_per_actor(self._setup.selfplay, self._setup.evaluator)
        return self._remote_actor.remote(self._setup, number)

    def _send_weights(self, slot: int) -> None:
        """Queues the newest weights; the call is watched like any other, so its failure shows."""
        assert self._weights is not None, "publish must come before play"
        self._calls[self._actors[slot].set_weights.remote(*self._weights)] = slot

    def _fetch(self, timeout_s: float) -> list[PlayReport]:
        """Returns the reports of the calls that end within the time; replaces actors found dead."""
        ready = self._wait(self._calls, timeout_s, num_busy=len(set(self._calls.values())))
        reports = []
        for call in ready:
            if call not in self._calls:
                continue  # its actor was found dead a moment ago
            slot = self._calls.pop(call)
            try:
                answer = answer_of(call)
            except DEAD as error:
                self._replace(slot, error)
                continue
            if isinstance(answer, Inference):  # of `set_weights`
                self.inference = answer
            else:
                reports.append(answer)
        return reports

    def _wait(self, calls: Collection[Any], timeout_s: float, *, num_busy: int) -> list[Any]:
        """Returns all calls that are answered by the time the first one is, or the time is over.

        Raises:
            TrainingError: if the actors, so many of which are busy, have been silent for too long.
        """
        ready, _ = ray.wait(list(calls), num_returns=1, timeout=timeout_s)
        if ready:
            ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=0)
        self._silence.look(has_answer=bool(ready), num_busy=num_busy)
        return list(ready)

    def _replace(self, slot: int, error: OutOfMemoryError | RayActorError) -> None:
        """Starts another actor in place of a dead one, within the limit.

        Raises:
            TrainingError: if the limit is reached, or the actor could not even start: the next one
                could not either.
        """
        if isinstance(error, RayActorError) and error.actor_init_failed:
            cause = str(error).splitlines()[-1]
            raise TrainingError(f"self-play actor {slot} cannot start: {cause}") from error
        self.num_restarts += 1
        limit = self._setup.selfplay.max_restarts
        reason = str(error).splitlines()[0]
        if self.num_restarts > limit:
            raise TrainingError(
                f"self-play actor {slot} died and selfplay.max_restarts={limit} is used up:"
                f" {reason}"
            ) from error
        logger.warning(
            "self-play actor %d died (%d of %d restarts): %s",
            slot,
            self.num_restarts,
            limit,
            reason,
        )
        self._calls = {call: owner for call, owner in self._calls.items() if owner != slot}
        self._actors[slot] = self._start_actor()
        self._send_weights(slot)


def answer_of(call: Any) -> Any:
    """Returns what a call answered; an error of ours comes as it was raised in the actor.

    Ray would give it a message of many lines, the traceback of the other process.
    """
    try:
        return ray.get(call)
    except RayTaskError as error:
        if isinstance(error.cause, AlphagoError):
            raise error.cause from error
        raise
