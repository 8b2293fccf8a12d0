"""Actors in processes of Ray, on this machine or on all machines of a cluster.

Machines come and go, and actors die or hang, while a run goes on: `Places` says what each machine
is to hold, and the pool starts what is missing. A machine on which too many actors have died is
given up; a run ends only when there is no other.
"""

import contextlib
import itertools
import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import ray

from alphago.errors import ActorsError
from alphago.network.precision import Inference
from selfplay.actor_slots import (
    DEAD,
    ActorSlot,
    ActorTask,
    Started,
    answer_of,
    answered_calls,
    reason_of_death,
    reason_of_start,
    what_is_silent,
)
from selfplay.actors import ActorSetup, SelfPlayActor
from selfplay.places import Place, Places
from selfplay.pool import PoolState, Result
from selfplay.ray_processes import RayLostError, RayProcesses
from selfplay.reports import NewNetwork, PlayReport
from selfplay.silence import SilenceWatch

logger = logging.getLogger(__name__)

POLL_S = 1.0  # longest time until `map` asks again whether to give up
_STORE = "object_store_memory"  # name of this resource in Ray


class _Published(NamedTuple):
    """A network in the object store."""

    version: int
    network: Any  # Ray's reference of the `NewNetwork`


class RayPool:
    """Actors in processes of their own. Ray must have been started.

    Each actor has at most `max_in_flight` calls open: it goes on to the next while the first one's
    records wait to be fetched, and stops when nobody fetches them. That is the bound on records in
    memory. New weights wait until an actor has taken the last ones, so that no more than these are
    kept for it.
    """

    keeps_games = False

    def __init__(
        self,
        setup: ActorSetup,
        places: Places,
        *,
        first_actor: int,
        actor_class: type[Any] = SelfPlayActor,
    ) -> None:
        """Starts the actors.

        Args:
            setup: what all actors share.
            places: where they run.
            first_actor: number of the first; a resumed run passes one that no earlier actor of the
                run had, so that no random stream is used twice. Each group of an actor takes one.
            actor_class: what plays, in a process of its own; another one where something else than
                playing is measured.
        """
        self.inference: Inference | None = None
        self._setup = setup
        self._places = places
        self._processes = RayProcesses()
        self._actor_class = actor_class
        self._next_stream = first_actor
        self._slot_numbers = itertools.count()
        self._slots: list[ActorSlot] = []
        self._calls: dict[Any, ActorSlot] = {}  # open calls, but for those of `map`
        self._arrived: list[PlayReport] = []  # of actors that have died since, not yet fetched
        self._failure: Exception | None = None  # that ends the run once all reports are fetched
        self._deaths: Counter[str] = Counter()  # actors replaced, by node
        self._given_up: set[str] = set()  # nodes
        self._silence = SilenceWatch(limit_minutes=setup.selfplay.silence_limit_minutes)
        self._newest: _Published | None = None  # kept for actors that start later
        self._fill(places.look())

    @property
    def num_actors(self) -> int:
        """Among how many actors work can be divided now, at least one."""
        return max(1, len(self._slots))

    def state(self) -> PoolState:
        """Returns how the pool is doing."""
        num_ready = sum(slot.is_ready for slot in self._slots)
        return PoolState(
            num_actors=num_ready,
            num_starting=len(self._slots) - num_ready,
            num_machines=len({slot.node for slot in self._slots}),
            num_restarts=self._deaths.total(),
            num_in_flight=len(self._calls),
            most_in_flight=len(self._slots) * (self._setup.selfplay.max_in_flight + 1),
        )

    def store_share(self) -> float:
        """Returns which share of its object stores Ray uses, on all machines; 0 if it has ended."""
        try:
            self._processes.look_now()  # a call of the control service would wait for it
        except RayLostError:
            return 0.0
        most, free = ray.cluster_resources(), ray.available_resources()  # type: ignore[no-untyped-call]
        return max(0.0, 1.0 - free.get(_STORE, 0.0) / most[_STORE]) if most.get(_STORE) else 0.0

    def publish(self, network: NewNetwork) -> None:
        """Puts the network into the object store once; every machine fetches it once."""
        self._processes.look_now()
        self._newest = _Published(network.version, ray.put(network))
        for slot in self._slots:
            self._update(slot)

    def collect(self, timeout_s: float) -> list[PlayReport]:
        """Keeps every actor busy and returns the reports that arrive within the time."""
        self._processes.look()
        self._fill(self._places.look(self._given_up))
        for slot in self._slots:
            while slot.num_open < self._setup.selfplay.max_in_flight:
                self._open(slot, slot.actor.play.remote(self._setup.selfplay.games_per_call))
        return self._fetch(timeout_s)

    def drain(self, timeout_s: float) -> list[PlayReport]:
        """Returns the reports that arrive within the time, without making an actor go on."""
        self._processes.look_now()  # what stops a run may have ended Ray a moment ago
        return self._fetch(timeout_s) if self._calls or self._is_to_be_told() else []

    def is_busy(self) -> bool:
        """Tells whether an actor is playing or its report was not fetched yet; not if it starts."""
        return self._is_to_be_told() or any(slot.is_ready for slot in self._calls.values())

    def _is_to_be_told(self) -> bool:
        """Tells whether something has arrived that `_fetch` has not returned or raised yet."""
        return bool(self._arrived or self._failure)

    def map(
        self,
        function: Callable[..., Result],
        arguments: Sequence[tuple[Any, ...]],
        *,
        give_up: Callable[[], bool],
    ) -> list[Result] | None:
        """Runs a function once per argument tuple, on each actor one at a time; in order."""
        results: dict[int, Result] = {}
        waiting, tasks = deque(range(len(arguments))), dict[Any, ActorTask]()
        while len(results) < len(arguments):
            if give_up():
                return None
            self._processes.look()
            self._fill(self._places.look(self._given_up))
            busy = {task.slot for task in tasks.values()}
            free = [slot for slot in self._slots if slot.is_ready and slot not in busy]
            for slot in free[: len(waiting)]:
                number = waiting.popleft()
                call = slot.actor.call.remote(function, *arguments[number])
                tasks[call] = ActorTask(number, slot, slot.actor)
            calls = self._owners(tasks)
            ready = self._wait(calls, POLL_S)
            for answered in ready:
                if answered not in tasks:
                    self._take(answered)
                    continue
                try:
                    results[tasks[answered].number] = answer_of(answered)
                    del tasks[answered]
                except DEAD as error:
                    if (task := tasks[answered]).actor is task.slot.actor:
                        self._bury(task.slot, error)
            self._replace_silent(calls, ready)
            for lost in [each for each, task in tasks.items() if task.actor is not task.slot.actor]:
                waiting.append(tasks.pop(lost).number)
        return [results[number] for number in range(len(arguments))]

    def snapshot(self) -> dict[str, Any] | None:
        """Returns None: unfinished games live in other processes and are not kept."""
        return None

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Is not to be called."""
        raise AssertionError("unfinished games of actors in other processes are not kept")

    def close(self) -> None:
        """Ends all actors; unfinished games are dropped."""
        with contextlib.suppress(RayLostError):  # then they end by themselves
            self._processes.look_now()
            for slot in self._slots:
                slot.end()
        self._slots = []
        self._calls = {}

    # ----- calls

    def _open(self, slot: ActorSlot, call: Any) -> None:
        """Remembers a call that its actor owes an answer."""
        self._calls[call] = slot
        slot.num_open += 1

    def _update(self, slot: ActorSlot) -> None:
        """Sends the newest weights to an actor that has not got them, unless it takes some now."""
        if self._newest is None or slot.is_updating or slot.sent_version == self._newest.version:
            return
        slot.is_updating, slot.sent_version = True, self._newest.version
        self._open(slot, slot.actor.set_network.remote(self._newest.network))

    def _fetch(self, timeout_s: float) -> list[PlayReport]:
        """Returns the reports of the calls that end within the time; replaces actors found dead.

        What ends the run is raised when no report is left that has arrived.
        """
        calls = dict(self._calls)
        ready = [] if self._arrived or self._failure else self._wait(calls, timeout_s)
        answers = [self._attempt(self._take, call) for call in ready]
        self._attempt(self._replace_silent, calls, ready)
        reports = [answer for answer in answers if isinstance(answer, PlayReport)] + self._arrived
        self._arrived = []
        if self._failure is not None and not reports:
            raise self._failure
        return reports

    def _attempt(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Does something and puts off what it raises, since other reports may have arrived.

        Does nothing once Ray is lost, whatever else failed before.
        """
        if isinstance(self._failure, RayLostError):
            return None
        try:
            return action(*arguments)
        except RayLostError as error:
            self._failure = error
        except Exception as error:
            self._failure = self._failure or error
        return None

    def _take(self, call: Any) -> Any:
        """Takes the answer of a call; None if its actor is dead."""
        slot = self._calls.pop(call, None)
        if slot is None:  # its actor was found dead a moment ago
            return None
        slot.num_open -= 1
        try:
            answer = answer_of(call)
        except DEAD as error:
            self._bury(slot, error)
            return None
        if isinstance(answer, Started):
            slot.starting = None
        if isinstance(answer, Inference):  # of `set_network`
            self.inference = answer
            slot.is_updating = False
            self._update(slot)
        return answer

    def _owners(self, tasks: Mapping[Any, ActorTask]) -> dict[Any, ActorSlot]:
        """Returns what `map` waits for, and of whom: its own calls, and actors that start."""
        starting = {slot.starting: slot for slot in self._slots if not slot.is_ready}
        return starting | {call: task.slot for call, task in tasks.items()}

    def _wait(self, calls: Mapping[Any, ActorSlot], timeout_s: float) -> list[Any]:
        """Returns all calls that are answered by the time the first one is, or the time is over.

        Args:
            calls: open calls and who owes them.
            timeout_s: the time.

        Raises:
            ActorsError: if nobody has answered for too long.
        """
        ready = answered_calls(list(calls), timeout_s=timeout_s)
        if self._silence.look(has_answer=bool(ready)):
            num_busy, limit = len(set(calls.values())), self._setup.selfplay.silence_limit_minutes
            raise ActorsError(
                what_is_silent(self._slots, self._silence, num_busy=num_busy, limit_minutes=limit)
            )
        return ready

    # ----- actors that start and die

    def _fill(self, places: Mapping[str, Place]) -> None:
        """Starts the actors that are missing, and forgets those whose machine is gone."""
        for node in {slot.node for slot in self._slots} - places.keys():
            name = next(slot.place.name for slot in self._slots if slot.node == node)
            num_lost = self._clear(node)
            logger.warning(
                "%s is gone, and %d self-play actors with it; %d are left",
                name,
                num_lost,
                len(self._slots),
            )
        missing = sum(place.num_actors for place in places.values()) - len(self._slots)
        held = Counter(slot.node for slot in self._slots)
        for node, place in places.items():
            for _ in range(min(missing, place.num_actors - held[node])):
                self._slots.append(self._new_slot(node, place))
                self._start(self._slots[-1])
                missing -= 1

    def _new_slot(self, node: str, place: Place) -> ActorSlot:
        """Returns a slot on a machine, with the lowest seat that is free there."""
        taken = {slot.seat for slot in self._slots if slot.node == node}
        seat = next(seat for seat in itertools.count() if seat not in taken)
        number = next(self._slot_numbers)
        return ActorSlot(self._setup, number=number, node=node, place=place, seat=seat)

    def _start(self, slot: ActorSlot) -> None:
        """Starts an actor in a slot; random streams are never used twice."""
        slot.start(self._actor_class, self._next_stream)
        self._next_stream += slot.place.num_groups
        self._open(slot, slot.starting)
        self._update(slot)

    def _clear(self, node: str) -> int:
        """Ends all actors of a machine for good and returns how many they were."""
        ended = [slot for slot in self._slots if slot.node == node]
        for slot in ended:
            self._forget_calls(slot)
            slot.end()
            slot.actor = None
        self._slots = [slot for slot in self._slots if slot.node != node]
        return len(ended)

    def _forget_calls(self, slot: ActorSlot) -> None:
        """Forgets what an actor was doing, and keeps the games that it had handed over."""
        open_calls = [call for call, owner in self._calls.items() if owner is slot]
        for call in open_calls:
            del self._calls[call]
        for call in answered_calls(open_calls, timeout_s=0.0):
            with contextlib.suppress(*DEAD):
                if isinstance(answer := answer_of(call), PlayReport):
                    self._arrived.append(answer)

    def _replace_silent(self, calls: Mapping[Any, ActorSlot], ready: Collection[Any]) -> None:
        """Replaces actors that have answered nothing for too long while others did.

        Args:
            calls: open calls and who owed them.
            ready: those that were answered.
        """
        answered = {calls[call] for call in ready}
        for slot in set(calls.values()):
            is_silent = slot.silence.look(has_answer=slot in answered)
            if is_silent and slot.is_ready:
                reason = f"no answer for {slot.silence.minutes:.1f} minutes"
                self._replace(slot, "hangs", reason, None)

    def _bury(self, slot: ActorSlot, error: Exception) -> None:
        """Replaces a dead actor, or gives up its machine where actors cannot even start."""
        self._processes.look_now()  # it may have died because Ray did
        reason = reason_of_start(error)
        if reason is None:
            self._replace(slot, "died", reason_of_death(error), error)
        else:  # the next one could not either
            self._give_up(slot, f"cannot start{slot.whereabouts}: {reason}", error)

    def _replace(self, slot: ActorSlot, what: str, reason: str, error: Exception | None) -> None:
        """Starts another actor in place of one, if its machine is there and within limits.

        Args:
            slot: of the actor.
            what: it did, "died" or "hangs".
            reason: how that is known, in one line.
            error: that told it, if one did.

        Raises:
            ActorsError: if the limit is reached, and there is no other machine.
        """
        places = self._places.look_again(self._given_up)
        if slot.node not in places:
            self._fill(places)
            return
        limit = self._setup.selfplay.max_restarts
        if self._deaths[slot.node] == limit:
            used_up = f"{what}{slot.whereabouts} and selfplay.max_restarts={limit} is used up"
            self._give_up(slot, f"{used_up}: {reason}", error)
            return
        self._deaths[slot.node] += 1
        logger.warning(
            "self-play actor %d %s%s (%d of %d restarts): %s",
            slot.number,
            what,
            slot.whereabouts,
            self._deaths[slot.node],
            limit,
            reason,
        )
        self._forget_calls(slot)
        slot.end()
        self._start(slot)

    def _give_up(self, slot: ActorSlot, text: str, error: Exception | None) -> None:
        """Starts no more actors on a machine.

        Raises:
            ActorsError: if there is no other.
        """
        text = f"self-play actor {slot.number} {text}"
        self._given_up.add(slot.node)
        self._clear(slot.node)
        places = self._places.look_again(self._given_up)
        if not any(place.num_actors for place in places.values()):
            raise ActorsError(text) from error
        logger.warning("%s; no more actors are started there", text)
        self._fill(places)
