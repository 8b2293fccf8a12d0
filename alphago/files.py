"""Files that are there whole or not at all, whenever the process is killed; the names in a run."""

import errno
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

TEMPORARY_SUFFIX = ".tmp"

# What `train` writes and players and commands look for in the folder of a run.
CONFIG_FILE = "config.yaml"  # in each checkpoint too
BEST_FILE = "best"
CHECKPOINTS_FOLDER = "checkpoints"
MANIFEST_FILE = "manifest.json"  # in each checkpoint
BROKEN_FOLDER = "broken"  # what was set aside, beside what is sound


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Opens a file that takes its final name only once it is complete and on the disk.

    Args:
        path: final name; an older file of that name stays until the new one takes its place.

    Yields:
        The open file, under the temporary name `<path>.tmp`. When the block raises, it is removed.
    """
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flushes a folder's entries to the disk, so that a rename in it outlives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def set_aside(path: Path) -> Path:
    """Moves what is broken into the folder `broken` beside it, under a name that is free there.

    Args:
        path: a file or a folder.

    Returns:
        Where it is now.

    Raises:
        OSError: if it cannot be moved.
    """
    folder = path.with_name(BROKEN_FOLDER)
    folder.mkdir(exist_ok=True)
    names = itertools.chain([path.name], (f"{path.name}.{number}" for number in itertools.count(2)))
    place = next(place for name in names if not os.path.lexists(place := folder / name))
    path.rename(place)
    sync_folder(folder)
    sync_folder(path.parent)
    return place


def reason(error: OSError) -> str:
    """Says in a few words why a file could not be read or written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "disk full"
    return error.strerror or str(error)
