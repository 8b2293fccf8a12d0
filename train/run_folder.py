"""The folder of a run: what lies where, and the lock that keeps a second process out."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alphago.errors import CheckpointError
from alphago.files import replace_file

CONFIG_FILE = "config.yaml"
STATE_FILE = "state.json"
RECORDS_FOLDER = "records"
_LOCK_FILE = "lock"


@contextmanager
def locked(run_dir: Path) -> Iterator[None]:
    """Holds the run's lock; the operating system drops it when the process ends, however it ends.

    Raises:
        CheckpointError: if another process is using the run.
    """
    with (run_dir / _LOCK_FILE).open("a+", encoding="utf-8") as file:
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
        yield


def write_text(path: Path, text: str) -> None:
    """Writes a text file whole or not at all."""
    with replace_file(path) as file:
        file.write(text.encode())


def write_state(run_dir: Path, state: Mapping[str, Any]) -> None:
    """Writes `state.json`, the summary of a run for people and tools."""
    write_text(run_dir / STATE_FILE, json.dumps(state, indent=2) + "\n")


def begin_sitting(run_dir: Path) -> int:
    """Counts the processes that have worked on this run; on the disk when this returns.

    Returns:
        The number of this sitting, from 0. Actors of different sittings use different random
        streams.
    """
    path = run_dir / "sittings"
    try:
        number = int(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        number = 0
    write_text(path, f"{number + 1}\n")
    return number
