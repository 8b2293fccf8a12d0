"""The folder of a run: what lies where, and the lock that keeps a second process out."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from alphago.errors import CheckpointError
from alphago.files import reason, replace_file

STATE_FILE = "state.json"
RECORDS_FOLDER = "records"
_LOCK_FILE = "lock"
_SITTINGS_FILE = "sittings"


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
    path = run_dir / _LOCK_FILE
    with write_errors(path):
        file = path.open("a+", encoding="utf-8")
    with file:
        with write_errors(path):
            _take_lock(file, run_dir)
        yield


def _take_lock(file: TextIO, run_dir: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        owner = file.read().strip() or "unknown"
        raise CheckpointError(
            f"{run_dir}: the run is in use by another process ({owner})"
        ) from None
    file.truncate(0)
    file.write(f"process {os.getpid()}")
    file.flush()


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


def begin_sitting(run_dir: Path) -> int:
    """Counts the processes that have worked on this run; on the disk when this returns.

    Returns:
        The number of this sitting, from 0. Actors of different sittings use different random
        streams.

    Raises:
        CheckpointError: if the file of the count holds something else, or cannot be written.
    """
    path = run_dir / _SITTINGS_FILE
    text = path.read_text(encoding="utf-8").strip() if path.exists() else "0"
    if not text.isdecimal():
        raise CheckpointError(f"{path}: got {text!r}, expected how often the run was worked on")
    number = int(text)
    write_text(path, f"{number + 1}\n")
    return number
