"""The disk of the run: a small one of its own where this machine permits it, to be filled up."""

import contextlib
import errno
import shutil
import subprocess
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

_SIZE_MB = 512  # more than a run of an hour writes
_CHUNKS = (2**20, 2**12, 1)  # bytes, ever smaller, until not one more is taken
_FILLER = "filler"
_EXT4 = "ext4"
_TMPFS = "tmpfs"


class Disk:
    """Where the run lies.

    Attributes:
        folder: the folder for the run.
        kind: `ext4`, an image that is mounted, as root; `tmpfs`, as root or under `unshare -rm`;
            empty where nothing can be mounted, and the run lies on the disk of everything else.
    """

    def __init__(self, folder: Path, kind: str) -> None:
        """Uses a folder that is there."""
        self.folder = folder
        self.kind = kind

    @property
    def may_be_filled(self) -> bool:
        """Tells whether the disk is the run's own."""
        return self.kind != ""

    @property
    def may_be_frozen(self) -> bool:
        """Tells whether the disk can be made to take nothing."""
        return self.kind == _EXT4 and shutil.which("fsfreeze") is not None

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Leaves no byte free within the block."""
        path = self.folder / _FILLER
        try:
            with path.open("wb", buffering=0) as file:
                for size in _CHUNKS:
                    _write_until_full(file, bytes(size))
            yield
        finally:
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Takes no write within the block; whoever writes waits."""
        subprocess.run(["fsfreeze", "--freeze", self.folder], check=True)
        try:
            yield
        finally:
            subprocess.run(["fsfreeze", "--unfreeze", self.folder], check=True)


@contextlib.contextmanager
def open_disk(folder: Path) -> Iterator[Disk]:
    """Mounts a disk in a folder and takes it off again; without permission it is the folder's own.

    Args:
        folder: where; what the run has left is in `folder/disk` within the block alone.
    """
    mount = folder / "disk"
    mount.mkdir(parents=True, exist_ok=True)
    kind = next((kind for kind in (_EXT4, _TMPFS) if _mount(kind, mount)), "")
    try:
        yield Disk(mount, kind)
    finally:
        if kind:
            subprocess.run(["umount", "--lazy", mount], check=True)
            (folder / "disk.img").unlink(missing_ok=True)


def _mount(kind: str, mount: Path) -> bool:
    """Tells whether a small disk could be mounted."""
    if kind == _TMPFS:
        return _works("mount", "-t", _TMPFS, "-o", f"size={_SIZE_MB}m", _TMPFS, str(mount))
    image = mount.parent / "disk.img"
    with image.open("wb") as file:
        file.truncate(_SIZE_MB * 2**20)
    if _works("mkfs.ext4", "-q", "-F", "-m", "0", str(image)) and _works(
        "mount", "-o", "loop,noatime", str(image), str(mount)
    ):
        return True
    image.unlink()
    return False


def _works(*command: str) -> bool:
    """Runs a command; what it says against it is not shown."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:  # there is no such program
        return False


def _write_until_full(file: FileIO, chunk: bytes) -> None:
    """Writes a chunk again and again until the disk takes no more."""
    try:
        while file.write(chunk) == len(chunk):
            pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
