"""One actor in a process of Ray, and the calls that it owes an answer."""

import textwrap
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import ray
from ray.exceptions import (
    ActorDiedError,
    ActorUnschedulableError,
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayTaskError,
    RuntimeEnvSetupError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from alphago.errors import AlphagoError, MemoryFullError
from selfplay.actors import ActorSetup, with_groups
from selfplay.places import Place
from selfplay.silence import SilenceWatch


class ActorFailedError(Exception):
    """An actor lives, but its machine failed it; another one may do better."""


# What the machine is to blame for when an actor raises it, and not the run. RuntimeError: CUDA,
# whose errors stay with the process, other libraries of networks, and threads that cannot start.
_FAULTS = (MemoryError, MemoryFullError, OSError, RuntimeError)

# What a call of a dead actor raises, or of one that is of no more use. OutOfMemoryError: Ray ended
# it because memory was short. ObjectLostError: its answer was on a machine that is gone.
# ActorUnschedulableError: its machine was gone before it could start. RuntimeEnvSetupError: our
# code did not get there.
DEAD = (
    ActorFailedError,
    ActorUnschedulableError,
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RuntimeEnvSetupError,
)

NONE_SENT = -1
_REASON_WIDTH = 300  # characters of the reason of a death, which Ray makes long


class ActorSlot:
    """A place for an actor, and the actor that has it now.

    Attributes:
        number: of the slot, for people.
        node: of its machine in Ray, empty where Ray itself finds the only one.
        place: what actors get on this machine.
        seat: its number among the slots of its machine.
        actor: Ray's handle of the actor.
        starting: the call that is answered when the actor has started; None from then on.
        num_open: calls that it owes an answer, those to start and to take weights included.
        sent_version: number of the weights it was sent last, `NONE_SENT` for none.
        updating: the call that is answered when it has taken them; None from then on.
        is_in_reach: whether its last answer has arrived, and was not lost with the connection.
        silence: how long it has been waited for.
    """

    actor: Any
    starting: Any
    num_open: int
    sent_version: int
    updating: Any
    is_in_reach: bool
    silence: SilenceWatch

    def __init__(
        self, setup: ActorSetup, *, number: int, node: str, place: Place, seat: int
    ) -> None:
        """Takes the place; `start` fills it.

        Args:
            setup: what all actors share.
            number: of the slot.
            node: of the machine in Ray.
            place: what actors get there.
            seat: number of the slot there.
        """
        self.number = number
        self.node = node
        self.place = place
        self.seat = seat
        self._setup = with_groups(setup, place.num_groups)

    def start(self, actor_class: type[Any], first_stream: int) -> None:
        """Starts an actor, the first one or one in place of a dead one.

        Args:
            actor_class: what it is.
            first_stream: number of its first group, see `SelfPlayActor`.
        """
        # One CPU whatever the groups: Ray makes it OMP_NUM_THREADS, which holds for each thread.
        options: dict[str, Any] = {"num_cpus": 1, "num_gpus": self.place.gpu_share}
        if self.node:
            strategy = NodeAffinitySchedulingStrategy(self.node, soft=False)
            options["scheduling_strategy"] = strategy
        self.actor = ray.remote(**options)(actor_class).remote(self._setup, first_stream, self.seat)
        self.ask_whether_started()
        self.updating, self.is_in_reach = None, True
        self.num_open, self.sent_version = 0, NONE_SENT
        limit = self._setup.selfplay.silence_limit_minutes
        self.silence = SilenceWatch(limit_minutes=limit)

    def ask_whether_started(self) -> None:
        """Opens the call that is answered when the actor has started."""
        self.starting = self.actor.call.remote(has_started)

    @property
    def is_ready(self) -> bool:
        """Whether the actor has started."""
        return self.starting is None

    @property
    def whereabouts(self) -> str:
        """On which machine of a cluster it is, for a message; nothing where there is one only."""
        return f" on {self.place.name}" if self.node else ""

    def end(self) -> None:
        """Ends the actor; what it was doing is dropped."""
        ray.kill(self.actor)


class ActorTask(NamedTuple):
    """One of several numbered calls that are spread over the actors."""

    number: int  # of the call
    slot: ActorSlot
    actor: Any  # that was called; another one has the slot if this one died


class Lost:
    """In place of an answer that will not come: the actor is dead, or was out of reach."""


class Started:
    """Answer of an actor that has started."""


def has_started() -> Started:
    """Answers, which an actor can do as soon as it has started."""
    return Started()


def answered_calls(calls: list[Any], *, timeout_s: float) -> list[Any]:
    """Returns all calls that are answered by the time the first one is, or the time is over."""
    if not calls:  # nobody is there to be waited for, until a machine comes
        time.sleep(timeout_s)
        return []
    ready, _ = ray.wait(calls, num_returns=1, timeout=timeout_s)
    if ready:
        ready, _ = ray.wait(calls, num_returns=len(calls), timeout=0)
    return list(ready)


def answer_of(call: Any) -> Any:
    """Returns what a call answered; an error of ours comes as it was raised in the actor.

    Ray would give it a message of many lines, the traceback of the other process.

    Raises:
        ActorFailedError: for what the actor's machine is to blame.
    """
    try:
        return ray.get(call)
    except RayTaskError as error:
        if isinstance(error.cause, _FAULTS):
            raise ActorFailedError(_one_line(error.cause)) from error
        if isinstance(error.cause, AlphagoError):
            raise error.cause from error
        raise


def _one_line(error: BaseException) -> str:
    """Returns the kind of an error and the first line of its message, if it has one."""
    first_line = str(error).partition("\n")[0]
    text = ": ".join(part for part in (type(error).__name__, first_line) if part)
    return textwrap.shorten(text, _REASON_WIDTH, placeholder=" ...")


def reason_of_start(error: BaseException) -> str | None:
    """Returns in one line why an actor could not start, None if it died later."""
    if isinstance(error, RayActorError) and error.actor_init_failed:
        return str(error).splitlines()[-1]
    if isinstance(error, RuntimeEnvSetupError):
        return " ".join(str(error).split())
    return None


def reason_of_death(error: BaseException) -> str:
    """Returns in one line how an actor failed or died, as far as Ray knows: how its process ended.

    Ray's own lines and files about it are switched off, or gone when the run ends.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not isinstance(error, ActorDiedError):
        return lines[0]
    process = [line.replace(":", "") for line in lines if line.startswith("pid:")]
    return textwrap.shorten(", ".join([*process, lines[-1]]), _REASON_WIDTH, placeholder=" ...")


def what_is_silent(
    slots: Sequence[ActorSlot], silence: SilenceWatch, *, num_busy: int, limit_minutes: float
) -> str:
    """Returns in one line who was waited for in vain.

    Args:
        slots: all actors.
        silence: how long nobody has answered.
        num_busy: how many of them owe an answer.
        limit_minutes: `selfplay.silence_limit_minutes`.
    """
    setting = f"selfplay.silence_limit_minutes={limit_minutes:g}"
    if not any(slot.is_ready for slot in slots):
        return (
            f"no actor has been there for {silence.minutes:.1f} minutes: there is no room for one,"
            f" or none of them starts within {setting}"
        )
    return (
        f"{num_busy} of {len(slots)} self-play actors have been silent for {silence.minutes:.1f}"
        f" minutes; they hang, or one answer takes longer than {setting}"
    )
