"""What this machine has, and what a run would use of it."""

import fcntl
import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil
import torch

from alphago.errors import AlphagoError, PlayerError
from alphago.files import reason
from alphago.kernels import cache_folder
from alphago.network.evaluator import cuda_fault
from alphago.network.hardware import instruction_sets
from alphago.players.engine_process import find_program
from scripts.arguments import one_line
from scripts.machine import memory_limit, processor
from scripts.ray_session import short_folder
from scripts.run_folder import RUNS
from selfplay.cpus import CpuLimits, cpu_limits, usable_cpus

if TYPE_CHECKING:
    from train.config import RunConfig

_SHARED_MEMORY = Path("/dev/shm")
# Bytes of resident memory, measured in runs of Go on 9x9, the window of positions left out.
_BYTES_PER_ACTOR = 700 * 2**20
_BYTES_OF_DRIVER = 800 * 2**20
_NUM_POSITIONS = 8  # that a network is evaluated on
_DRIVER_SECONDS = 20.0  # that the GPU driver may take to answer


class Place(NamedTuple):
    """A folder that files go to.

    Attributes:
        path: the folder.
        free_bytes: room on its file system.
        free_share: the same as a share of the file system, 0 to 1.
        fault: why no file can be written and locked there, empty where it can.
    """

    path: Path
    free_bytes: int
    free_share: float
    fault: str


class Memory(NamedTuple):
    """Memory in bytes; `limit` is that of the container, None without one."""

    total: int
    available: int
    limit: int | None


class Gpus(NamedTuple):
    """The GPUs.

    Attributes:
        names: as the driver calls them; none without a driver.
        fault: why torch cannot use them, None where it can.
    """

    names: list[str]
    fault: str | None


class DefaultRun(NamedTuple):
    """What `alphago train` without options would use.

    Attributes:
        game: the game.
        num_actors: processes that play.
        groups_per_actor: groups of games in each of them.
        actor_threads: CPU threads of each.
        trainer_threads: CPU threads of the trainer.
        device: where networks are evaluated and learn.
        backend: what evaluates them.
        precision: the fastest in which it would.
        bytes_needed: memory.
        fault: why a network cannot be evaluated so, empty where it can.
    """

    game: str
    num_actors: int
    groups_per_actor: int
    actor_threads: int
    trainer_threads: int
    device: str
    backend: str
    precision: str
    bytes_needed: int
    fault: str


class Machine(NamedTuple):
    """All that is known of the machine.

    Attributes:
        processor: its name.
        cpus: how many CPUs there are, and how many are allowed.
        usable_cpus: how many of them a run uses.
        load: processes that wanted a CPU, on average over the last minute.
        instruction_sets: those that networks are computed with.
        memory: of the machine and the container.
        gpus: the GPUs.
        runs: where runs go.
        temporary: where Ray's files go; None where no folder is short enough for its sockets.
        temporary_fault: why none is, empty where one is.
        socket_bytes: length of the path of the folder that Ray would get for its sockets.
        shared_memory: where Ray keeps what processes share; None where there is no such place.
        kernels: where compiled kernels are kept.
        open_files: files that a process may have open.
        gnugo: the path of GNU Go, None where it is not installed.
        run: what a run would use.
    """

    processor: str
    cpus: CpuLimits
    usable_cpus: int
    load: float
    instruction_sets: list[str]
    memory: Memory
    gpus: Gpus
    runs: Place
    temporary: Place | None
    temporary_fault: str
    socket_bytes: int
    shared_memory: Place | None
    kernels: Path
    open_files: int
    gnugo: str | None
    run: DefaultRun


def look_around() -> Machine:
    """Looks at this machine. What is written to try a folder is removed again."""
    memory, limit = psutil.virtual_memory(), memory_limit()
    if limit is not None and limit >= memory.total:  # how some containers say that there is none
        limit = None
    temporary, temporary_fault, socket_bytes = _temporary_place()
    return Machine(
        processor=processor(),
        cpus=cpu_limits(),
        usable_cpus=usable_cpus(),
        load=os.getloadavg()[0],
        instruction_sets=instruction_sets(),
        memory=Memory(memory.total, memory.available, limit),
        gpus=Gpus(_gpu_names(), cuda_fault()),
        runs=look_at(RUNS if RUNS.is_dir() else Path.cwd()),
        temporary=temporary,
        temporary_fault=temporary_fault,
        socket_bytes=socket_bytes,
        shared_memory=look_at(_SHARED_MEMORY) if _SHARED_MEMORY.is_dir() else None,
        kernels=Path(os.environ.get("NUMBA_CACHE_DIR") or cache_folder()),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        gnugo=_path_of("gnugo"),
        run=_default_run(),
    )


def look_at(folder: Path) -> Place:
    """Looks at a folder, in which a file is written, flushed and locked, and removed again."""
    usage = shutil.disk_usage(folder)
    return Place(folder, usage.free, usage.free / usage.total, _write_fault(folder))


def _write_fault(folder: Path) -> str:
    try:
        with tempfile.TemporaryFile(prefix=".alphago-", dir=folder) as file:
            file.write(b"doctor")
            file.flush()
            os.fsync(file.fileno())
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return reason(error)
    return ""


def _temporary_place() -> tuple[Place | None, str, int]:
    """Looks at the folder that Ray would get; returns the fields of `Machine` that tell of it."""
    try:
        folder = short_folder()
    except AlphagoError as error:
        return None, str(error), 0
    folder.rmdir()
    return look_at(folder.parent), "", len(os.fsencode(folder))


def _gpu_names() -> list[str]:
    """Asks the driver, which may see GPUs that torch cannot use."""
    command = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_DRIVER_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):  # no driver of NVIDIA's, or one that hangs
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def _path_of(program: str) -> str | None:
    try:
        return find_program([program])[0]
    except PlayerError:
        return None


def _default_run() -> DefaultRun:
    """Composes the configuration as `alphago train` would; decides what `auto` and null mean."""
    from alphago.network.evaluator import choose_plan
    from scripts.composition import compose_config, to_run_config
    from selfplay.resources import groups_per_actor, share_out
    from train.trainer_setup import num_threads_of, trainer_setup

    config = to_run_config(compose_config([]))
    plan = choose_plan(config.evaluator)
    num_actors = share_out(config.selfplay, config.evaluator).num_actors
    return DefaultRun(
        game=config.game.text,
        num_actors=num_actors,
        groups_per_actor=groups_per_actor(config.selfplay, config.evaluator),
        actor_threads=config.evaluator.num_threads or torch.get_num_threads(),
        trainer_threads=num_threads_of(trainer_setup(config, device=plan.device.type), None),
        device=plan.device.type,
        backend=plan.backend,
        precision=plan.precision,
        bytes_needed=_bytes_needed(config, num_actors=num_actors),
        fault=_evaluation_fault(config),
    )


def _bytes_needed(config: "RunConfig", *, num_actors: int) -> int:
    """Returns about how much memory a run takes."""
    from alphago.games import make_game
    from train.replay_buffer import bytes_of_window

    window = bytes_of_window(
        make_game(config.game.text).spec, config.replay, auxiliary=config.network.auxiliary
    )
    return window + _BYTES_OF_DRIVER + num_actors * _BYTES_PER_ACTOR


def _evaluation_fault(config: "RunConfig") -> str:
    """Returns why a new network of a run cannot be evaluated here, an empty text where it can.

    What does not fit this machine may raise whatever it likes.
    """
    import numpy as np

    from alphago.games import make_game
    from alphago.network.evaluator import NetworkEvaluator
    from alphago.network.network import make_network, weights_of

    game = make_game(config.game.text)
    try:
        evaluator = NetworkEvaluator(game, config.network, config.evaluator)
        weights = weights_of(make_network(game.spec, config.network, seed=0))
        states = game.initial_states(_NUM_POSITIONS)
        evaluator.load_weights(weights, game.observe(states))
        evaluation = evaluator.evaluate(states)
    # Whatever a backend raises on this machine is what is asked for.
    except Exception as error:
        return f"{type(error).__name__}: {one_line(error)}"
    return "" if np.isfinite(evaluation.value).all() else "the answer is not finite"
