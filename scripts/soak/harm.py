"""The faults themselves: what is done to a run that works."""

import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

import psutil

from alphago.files import CHECKPOINTS_FOLDER
from scripts.soak.driver import is_alive
from scripts.soak.plan import Fault
from scripts.soak.sittings import Sittings
from train.stopping import SAME_REQUEST_S

LONGEST_WAIT_S = 60.0  # for the moment at which a fault is to be made
_MOST_BYTES = 20_000  # a limit on files: a checkpoint has larger ones
_POLL_S = 0.002  # how exactly a moment is met

# Raises MissedError or psutil.NoSuchProcess where what is to be harmed is not there in time.
Harm: TypeAlias = Callable[[Sittings, Fault], None]


class MissedError(Exception):
    """A fault could not be made: what it is for had ended, or its moment did not come."""


def kill_actor(sittings: Sittings, fault: Fault) -> None:
    """Kills one actor."""
    _choose_actor(sittings, fault).kill()


def kill_all_actors(sittings: Sittings, fault: Fault) -> None:
    """Kills all actors."""
    for actor in _wait_for_actors(sittings):
        actor.kill()


def stop_actor(sittings: Sittings, fault: Fault) -> None:
    """Stops one actor for some seconds."""
    with _standing_still(_choose_actor(sittings, fault)):
        sittings.watch(fault.seconds)


def hang_actor(sittings: Sittings, fault: Fault) -> None:
    """Stops one actor until it has been replaced; that must not take for ever."""
    actor = _choose_actor(sittings, fault)
    with _standing_still(actor):
        limit_s = 60 * sittings.silence_limit_minutes + LONGEST_WAIT_S
        if not sittings.watch_until(lambda: not is_alive(actor), seconds=limit_s):
            sittings.observer.faults.append(f"an actor that hung was there {limit_s:.0f} s later")


def kill_driver(sittings: Sittings, fault: Fault) -> None:
    """Kills the process that learns."""
    sittings.driver.send(signal.SIGKILL)


def kill_driver_storing(sittings: Sittings, fault: Fault) -> None:
    """Kills it just after games were stored: they are not learnt from yet."""
    folder, number = sittings.run / "records", sittings.observer.num_games
    newer = f"{number:09d}-*.npz"
    _wait_until(sittings, lambda: any(folder.glob(newer)))
    sittings.driver.send(signal.SIGKILL)


def kill_driver_saving(sittings: Sittings, fault: Fault) -> None:
    """Kills it some milliseconds after it has begun to write a checkpoint."""
    folder = sittings.run / CHECKPOINTS_FOLDER
    _wait_until(sittings, lambda: any(folder.glob(".tmp-*")))
    sittings.pause(0.03 * fault.share)
    sittings.driver.send(signal.SIGKILL)


def interrupt(sittings: Sittings, fault: Fault) -> None:
    """Sends what Ctrl-C sends, to the process that learns alone."""
    sittings.driver.send(signal.SIGINT)


def interrupt_with_hung_actor(sittings: Sittings, fault: Fault) -> None:
    """Sends it while an actor stands still; nobody wakes the actor up."""
    _choose_actor(sittings, fault).suspend()
    sittings.driver.send(signal.SIGINT)


def interrupt_twice(sittings: Sittings, fault: Fault) -> None:
    """Sends what Ctrl-C sends, and again when that is no longer the same request.

    Meanwhile it stands still, or it would have saved the run and ended.
    """
    sittings.driver.send(signal.SIGINT)
    sittings.pause(0.2 * fault.share)
    sittings.driver.send(signal.SIGSTOP)
    sittings.pause(SAME_REQUEST_S)
    sittings.driver.send(signal.SIGINT)
    sittings.driver.send(signal.SIGCONT)


def terminate(sittings: Sittings, fault: Fault) -> None:
    """Asks it to end, as a machine that shuts down does."""
    sittings.driver.send(signal.SIGTERM)


def stop_driver(sittings: Sittings, fault: Fault) -> None:
    """Stops the process that learns for some seconds, while actors play on."""
    sittings.driver.send(signal.SIGSTOP)
    sittings.pause(fault.seconds)
    sittings.driver.send(signal.SIGCONT)


def kill_ray(sittings: Sittings, fault: Fault) -> None:
    """Kills one of Ray's own processes."""
    processes = sorted(sittings.driver.ray_processes(), key=lambda process: process.pid)
    if not processes:
        raise MissedError
    processes[int(fault.share * len(processes))].kill()


def fill_disk(sittings: Sittings, fault: Fault) -> None:
    """Leaves no room on the disk for some seconds."""
    with sittings.disk.full():
        sittings.watch(fault.seconds)


def freeze_disk(sittings: Sittings, fault: Fault) -> None:
    """Lets every write wait for some seconds."""
    with sittings.disk.frozen():
        sittings.pause(fault.seconds)


def limit_files(sittings: Sittings, fault: Fault) -> None:
    """Lets no file of the process that learns grow beyond some bytes for some seconds."""
    process = sittings.driver.pid
    try:
        _, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
        limit = int(fault.share * _MOST_BYTES)
        resource.prlimit(process, resource.RLIMIT_FSIZE, (limit, hard))
    except ProcessLookupError as error:
        raise MissedError from error
    sittings.watch(fault.seconds)
    with suppress(ProcessLookupError):  # the limit may have ended it
        resource.prlimit(process, resource.RLIMIT_FSIZE, (hard, hard))


HARMS: dict[str, Harm] = {
    "actor_killed": kill_actor,
    "all_actors_killed": kill_all_actors,
    "actor_stopped": stop_actor,
    "actor_hung": hang_actor,
    "driver_killed": kill_driver,
    "driver_killed_storing": kill_driver_storing,
    "driver_killed_saving": kill_driver_saving,
    "driver_interrupted": interrupt,
    "driver_interrupted_hung": interrupt_with_hung_actor,
    "driver_interrupted_twice": interrupt_twice,
    "driver_terminated": terminate,
    "driver_stopped": stop_driver,
    "ray_killed": kill_ray,
    "disk_full": fill_disk,
    "disk_slow": freeze_disk,
    "file_limit": limit_files,
}
# After these the process that learns ends, whatever it is doing.
FATAL = {name for name in HARMS if name.startswith("driver_") and name != "driver_stopped"}


def _choose_actor(sittings: Sittings, fault: Fault) -> psutil.Process:
    """Returns the actor that a fault is for."""
    actors = _wait_for_actors(sittings)
    return actors[int(fault.share * len(actors))]


def _wait_for_actors(sittings: Sittings) -> list[psutil.Process]:
    """Waits until there are actors, which are being started again maybe, and returns them."""
    sittings.watch_until(lambda: bool(sittings.driver.actors()), seconds=LONGEST_WAIT_S)
    actors = sittings.driver.actors()
    if not actors:
        raise MissedError
    return actors


def _wait_until(sittings: Sittings, is_so: Callable[[], bool]) -> None:
    """Waits for a moment that may be short."""
    if not sittings.watch_until(is_so, seconds=LONGEST_WAIT_S, poll_s=_POLL_S):
        raise MissedError


@contextmanager
def _standing_still(process: psutil.Process) -> Iterator[None]:
    """Stops a process within the block."""
    process.suspend()
    try:
        yield
    finally:
        with suppress(psutil.NoSuchProcess):
            process.resume()
