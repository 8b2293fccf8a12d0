"""Ray on this machine alone: nothing outside can connect, and nothing stays behind."""

import contextlib
import fcntl
import functools
import importlib
import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from alphago.errors import TrainingError
from scripts.arguments import CommandLineError

# A Unix socket's path may have 107 bytes, and Ray adds up to 60 of its own.
MAX_FOLDER_BYTES = 40
FOLDER_PREFIX = "alphago-"
LOCK_FILE = "lock"
# Ray ends this process, whatever it is doing, so many seconds after its control service has ended;
# `RayProcesses` says so in words, but not while steps are being learnt.
RECONNECT = {"RAY_gcs_rpc_server_reconnect_timeout_s": "300"}
ENVIRONMENT = RECONNECT | {
    # Without clusters Ray listens on 127.0.0.1 alone, on Linux too, whatever the name says.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # actors may see the GPU
    "RAY_USAGE_STATS_ENABLED": "0",  # neither question nor report
}
AUTHENTICATION_LOGGER = "ray._private.authentication.authentication_token_setup"  # says it is on
STRAGGLERS_S = 5.0  # for processes of Ray to end by themselves
OBJECT_STORE_BYTES = 256 * 2**20  # weights and records only


@contextlib.contextmanager
def ray_session(*, num_actors: int, num_gpus: int = 0) -> Iterator[None]:
    """Runs Ray with room for so many actors; its files are removed at the end.

    Args:
        num_actors: how many.
        num_gpus: GPUs that they share.

    Raises:
        CommandLineError: if no folder is short enough for Ray's sockets.
        TrainingError: if Ray does not start.
    """
    os.environ |= ENVIRONMENT
    # Ray would write a token into the home folder for good; this one ends with the process.
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    import ray
    from ray._private import ray_constants, worker

    from selfplay.ray_processes import RayProcesses

    # Ray prints blocks of its own about every actor that dies, whatever `log_to_driver` says. The
    # pool tells it in one line, and an error in an actor comes back as the answer of its call.
    worker._worker_logs_enabled = False
    # As the environment says, had ray been imported before.
    ray_constants.ENABLE_RAY_CLUSTER = False
    logging.getLogger(AUTHENTICATION_LOGGER).setLevel(logging.ERROR)
    folder = short_folder()
    remove_leftovers(folder.parent)
    with (folder / LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # dropped with the process, however it ends
        processes: RayProcesses | None = None
        try:
            _start_ray(folder, num_actors=num_actors, num_gpus=num_gpus)
            processes = RayProcesses()
            yield
        finally:
            family = _family(folder)
            if processes is None:
                ray.shutdown()
            else:
                processes.leave()
            _end_stragglers(family)
            _remove(folder)


def _start_ray(folder: Path, *, num_actors: int, num_gpus: int) -> None:
    """Starts Ray with its files in a folder."""
    import ray

    try:
        with _own_sessions():
            ray.init(
                address="local",
                num_cpus=num_actors,  # each asks for one, however many there are
                num_gpus=num_gpus,
                object_store_memory=OBJECT_STORE_BYTES,
                include_dashboard=False,
                logging_level=logging.WARNING,
                log_to_driver=False,
                _temp_dir=str(folder),
            )
    # A machine that is too busy or too small is told by a bare Exception, a RuntimeError or others.
    except Exception as error:
        raise TrainingError(f"Ray does not start: {error}") from error


@contextlib.contextmanager
def _own_sessions() -> Iterator[None]:
    """Gives each process that Ray starts meanwhile, and so its actors, a session of its own.

    What is sent to all of this process's group (by `timeout`, a shell that ends, a terminal that is
    closed) would otherwise end them too, before their games are fetched and the run is saved. Ray
    itself keeps SIGINT alone from them. They end with this process, however that ends.
    """
    services: Any = importlib.import_module("ray._private.services")
    popen = services.ConsolePopen
    services.ConsolePopen = functools.partial(popen, start_new_session=True)
    try:
        yield
    finally:
        services.ConsolePopen = popen


def _family(folder: Path) -> list[psutil.Process]:
    """Returns Ray's own processes of a session, whose command lines name its folder, and all below.

    An actor's command line is its title, which names no folder.
    """
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # it ends at this moment
            if any(str(folder) in word for word in child.cmdline()):
                found += [child, *child.children(recursive=True)]
    return found


def _end_stragglers(family: list[psutil.Process]) -> None:
    """Kills what is left of a session: an actor that hangs does not notice that Ray has ended."""
    _, alive = psutil.wait_procs(family, timeout=STRAGGLERS_S)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def remove_leftovers(parent: Path) -> None:
    """Removes the folders of sessions that were killed: nobody holds their lock any more."""
    for lock_file in parent.glob(f"{FOLDER_PREFIX}*/{LOCK_FILE}"):
        try:
            with lock_file.open("r") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(lock_file.parent)
        except OSError:  # in use, another user's, or removed by another process just now
            continue


def _remove(folder: Path) -> None:
    """Removes a session's folder, or leaves it as one that the next session removes."""
    shutil.rmtree(folder, ignore_errors=True)  # daemons may still be writing their logs
    if folder.exists():
        with contextlib.suppress(OSError):  # they had ended after all, and it is gone
            (folder / LOCK_FILE).touch()


def short_folder() -> Path:
    """Makes a folder whose path is short whatever the run's folder and TMPDIR are.

    Raises:
        CommandLineError: if no folder is short enough for Ray's sockets.
    """
    tried = []
    for parent in ("/tmp", tempfile.gettempdir()):
        try:
            folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=parent))
        except OSError as error:
            tried.append(f"{parent}: {error.strerror}")
            continue
        if len(os.fsencode(folder)) <= MAX_FOLDER_BYTES:
            return folder
        folder.rmdir()
        tried.append(f"{parent}: longer than the {MAX_FOLDER_BYTES} bytes Ray's sockets allow")
    raise CommandLineError(f"no folder for Ray's sockets: {'; '.join(tried)}")
