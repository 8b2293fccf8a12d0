"""The arrays of an npz file, read as if a stranger had written it.

`numpy.load` evaluates headers as Python literals, knows types that no file here has, and unpacks
whatever a few bytes claim to hold. This reader knows what `numpy.savez` writes of plain arrays, and
raises one error for all else.
"""

import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from alphago.files import MIB

MOST_BYTES = 1024 * MIB  # of a file, and of all its arrays
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '(?P<dtype>[<|][biufU][0-9]{1,9})', 'fortran_order': False,"
    rb" 'shape': \((?P<shape>(?:[0-9]{1,12}, ?)*(?:[0-9]{1,12})?)\), \} *\n"
)
_HEADER_START = struct.Struct("<8sH")  # the magic, and the length of what follows
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HIGHEST_CHARACTER = 0x10FFFF
# What zipfile raises for files that are cut short, overwritten, encrypted or of another kind.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    OverflowError,
    RuntimeError,  # NotImplementedError is one
)


def read_arrays(content: bytes, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Returns the arrays of these names, as far as they are there; others are not looked at.

    Args:
        content: the file.
        names: of the arrays wanted.

    Raises:
        ValueError: if it is no whole npz file of plain arrays.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            wanted = {name: entries[f"{name}.npy"] for name in names if f"{name}.npy" in entries}
            if sum(entry.file_size for entry in wanted.values()) > MOST_BYTES:
                raise ValueError(f"its arrays are larger than {MOST_BYTES // MIB} MiB")
            for name, entry in wanted.items():
                if entry.compress_type not in _PACKINGS:
                    raise ValueError(f"{name} is packed in an unknown way")
            return {name: _to_array(archive.read(entry), name) for name, entry in wanted.items()}
    except _DAMAGE as error:
        raise ValueError(str(error)) from error


def _to_array(content: bytes, name: str) -> npt.NDArray[Any]:
    """Returns the array of an npy file, its own memory."""
    start = _HEADER_START.size
    magic, length = _HEADER_START.unpack_from(content.ljust(start, b"\0"))
    header = _HEADER.fullmatch(content[start : start + length])
    if magic != _MAGIC or header is None:
        raise ValueError(f"{name} is no plain array")
    dtype = _dtype(header["dtype"].decode("ascii"), name)
    shape = tuple(int(size) for size in re.findall(rb"[0-9]+", header["shape"]))
    body = content[start + length :]
    if math.prod(shape) * dtype.itemsize != len(body) or dtype.itemsize == 0:
        raise ValueError(f"{name} has {len(body)} bytes for {dtype} {list(shape)}")
    return _sound(np.frombuffer(body, np.uint8), dtype, name).reshape(shape)


def _dtype(text: str, name: str) -> np.dtype[Any]:
    try:
        return np.dtype(text)
    except (TypeError, ValueError) as error:  # no such size
        raise ValueError(f"{name}: {error}") from error


def _sound(raw: npt.NDArray[np.uint8], dtype: np.dtype[Any], name: str) -> npt.NDArray[Any]:
    """Copies bytes [N] into an array that every operation can read."""
    if dtype == np.bool_:
        return np.not_equal(raw, 0)  # other bytes than 0 and 1 would be undefined
    array = raw.copy().view(dtype)
    if dtype.kind == "U" and raw.view(np.uint32).max(initial=0) > _HIGHEST_CHARACTER:
        raise ValueError(f"{name} is no text")
    return array
