"""Files that are written whole or not at all, and read within bounds; the names in a run."""

import errno
import itertools
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

TEMPORARY_SUFFIX = ".tmp"
MIB = 2**20  # bytes

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
    temporary.unlink(missing_ok=True)  # of a process that was killed, or a link to elsewhere
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def read_file(path: Path | str, *, at_most: int) -> bytes:
    """Reads a whole file, if it is one and no larger than it may be.

    In its place there might be a pipe that never gives a byte, or a device that never ends.

    Args:
        path: the file.
        at_most: bytes that such a file may have.

    Raises:
        OSError: if it cannot be read, is larger, or no regular file.
        ValueError: if there is a NUL in the path.
    """
    with open(path, "rb", opener=_open_at_once) as file:
        check_is_file(file.fileno())
        content = file.read(at_most + 1)
    if len(content) > at_most:
        raise OSError(errno.EFBIG, f"it is larger than {at_most / MIB:g} MiB")
    return content


def read_text_file(path: Path | str, *, at_most: int) -> str:
    """Reads a text file in UTF-8 as `read_file` does.

    Raises:
        OSError: see there.
        ValueError: see there, and if it is no text.
    """
    return read_file(path, at_most=at_most).decode("utf-8")


def check_is_file(path: Path | int) -> None:
    """Raises unless there is a regular file; of a pipe nobody may ever write a byte.

    Args:
        path: the file, or its descriptor.

    Raises:
        OSError: if it is something else, or not there.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no regular file")


def refuse_links(path: str, flags: int) -> int:
    """Opens for `open` a file to write to, but not through a symbolic link.

    In a folder that came from a stranger, a link could lead to any file of whoever goes on with it.

    Raises:
        OSError: if it cannot be opened, or is a link.
    """
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a symbolic link") from error
        raise


def _open_at_once(path: str, flags: int) -> int:
    """Opens without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def sync_folder(folder: Path) -> None:
    """Flushes a folder's entries to the disk, so that a rename in it outlives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def mended_by_check(run: Path) -> str:
    """Returns, for an error message, what puts a small broken file of a run right."""
    return f"`alphago check {shlex.quote(str(run))} --repair` mends it"


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
