"""The folder of a run: what lies where, and the lock that keeps a second process out."""

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

from alphago.errors import CheckpointError
from alphago.files import mended_by_check, read_file, reason, refuse_links, replace_file

STATE_FILE = "state.json"
RECORDS_FOLDER = "records"
LOCK_FILE = "lock"
SITTINGS_FILE = "sittings"

ACTORS_PER_SITTING = 100_000  # actors of different sittings never share a random stream

# Whoever asks `is_in_use` holds the lock as well, for a moment: one who wants it tries again.
_NUM_TRIES = 5
_WAIT_S = 0.1
_MOST_COUNT_BYTES = 16384  # of the file that counts sittings


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turns what keeps a file of a run from being written into a `CheckpointError`."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be written: {reason(error)}") from error


@contextmanager
def locked(run_dir: Path) -> Iterator[None]:
    """Holds the run's lock; the operating system drops it when the process ends, however it ends.

    Raises:
        CheckpointError: if another process is using the run, or the folder cannot be written to.
    """
    path = run_dir / LOCK_FILE
    with write_errors(path):
        # Unbuffered: what a full disk did not take would be tried again when the file is closed.
        file = open(path, "ab+", buffering=0, opener=refuse_links)  # noqa: SIM115
    with file:
        with write_errors(path):
            _take_lock(file, run_dir)
        yield


def is_in_use(run_dir: Path) -> bool:
    """Tells whether a process trains in a folder now."""
    try:
        with open(run_dir / LOCK_FILE, "rb", opener=refuse_links) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    except OSError as error:
        raise CheckpointError(f"{run_dir / LOCK_FILE}: cannot be read: {reason(error)}") from error
    return False


def _take_lock(file: FileIO, run_dir: Path) -> None:
    for _ in range(_NUM_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            time.sleep(_WAIT_S)
    else:
        file.seek(0)
        owner = file.read().decode(errors="replace").strip() or "unknown"
        raise CheckpointError(f"{run_dir}: the run is in use by another process ({owner})")
    file.truncate(0)
    file.write(f"process {os.getpid()}".encode())


def write_text(path: Path, text: str) -> None:
    """Writes a text file whole or not at all.

    Raises:
        CheckpointError: if it cannot be written; an older one is as it was then.
    """
    with write_errors(path), replace_file(path) as file:
        file.write(text.encode())


def write_state(run_dir: Path, state: Mapping[str, Any]) -> None:
    """Writes `state.json`, the summary of a run for people and tools."""
    write_text(run_dir / STATE_FILE, json.dumps(state, indent=2) + "\n")


def read_sittings(run_dir: Path) -> int:
    """Returns how many processes have worked on a run.

    Raises:
        CheckpointError: if the file of the count holds something else, or cannot be read.
    """
    path = run_dir / SITTINGS_FILE
    try:
        text = read_file(path, at_most=_MOST_COUNT_BYTES).decode(errors="replace").strip()
    except FileNotFoundError:
        text = "0"
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {reason(error)}") from error
    if not re.fullmatch("[0-9]{1,9}", text):
        raise CheckpointError(
            f"{path}: got {text[:40]!r}, allowed: how often the run was worked on;"
            f" {mended_by_check(run_dir)}"
        )
    return int(text)


def begin_sitting(run_dir: Path) -> int:
    """Counts this process among those that have worked on a run; on the disk when this returns.

    Returns:
        The number of this sitting, from 0. Actors of different sittings use different random
        streams.

    Raises:
        CheckpointError: as `read_sittings` does, or if the count cannot be written.
    """
    number = read_sittings(run_dir)
    write_text(run_dir / SITTINGS_FILE, f"{number + 1}\n")
    return number
