"""Ray on this machine alone: nothing outside can connect, and nothing stays behind."""

import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.arguments import CommandLineError

# A Unix socket's path may have 107 bytes, and Ray adds up to 60 of its own.
MAX_FOLDER_BYTES = 40
ENVIRONMENT = {
    # Without clusters Ray listens on 127.0.0.1 alone, on Linux too, whatever the name says.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # actors may see the GPU
    "RAY_USAGE_STATS_ENABLED": "0",  # neither question nor report
}
AUTHENTICATION_LOGGER = "ray._private.authentication.authentication_token_setup"  # says it is on
OBJECT_STORE_BYTES = 256 * 2**20  # weights and records only


@contextmanager
def ray_session(*, num_actors: int) -> Iterator[None]:
    """Runs Ray with room for so many actors; its files are removed at the end.

    Raises:
        CommandLineError: if no folder is short enough for Ray's sockets.
    """
    os.environ |= ENVIRONMENT
    # Ray would write a token into the home folder for good; this one ends with the process.
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    import ray
    from ray._private import ray_constants

    ray_constants.ENABLE_RAY_CLUSTER = (
        False  # as the environment says, had ray been imported before
    )
    logging.getLogger(AUTHENTICATION_LOGGER).setLevel(logging.ERROR)
    folder = _short_folder()
    try:
        ray.init(
            address="local",
            num_cpus=num_actors,
            object_store_memory=OBJECT_STORE_BYTES,
            include_dashboard=False,
            logging_level=logging.WARNING,
            _temp_dir=str(folder),
        )
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)  # Ray's daemons may still be writing their logs


def _short_folder() -> Path:
    """Makes a folder whose path is short whatever the run's folder and TMPDIR are."""
    tried = []
    for parent in ("/tmp", tempfile.gettempdir()):
        try:
            folder = Path(tempfile.mkdtemp(prefix="alphago-", dir=parent))
        except OSError as error:
            tried.append(f"{parent}: {error.strerror}")
            continue
        if len(os.fsencode(folder)) <= MAX_FOLDER_BYTES:
            return folder
        folder.rmdir()
        tried.append(f"{parent}: longer than the {MAX_FOLDER_BYTES} bytes Ray's sockets allow")
    raise CommandLineError(f"no folder for Ray's sockets: {'; '.join(tried)}")
