"""`kernel`, the one Numba decorator of the project, and the folder of its compile cache.

Importing this module points Numba's disk cache at a folder named after a hash of the sources that
hold kernels. Numba's own check looks only at the file of the decorated function and would go on
using old machine code when a helper in another file changes. It has to happen before the first
function is decorated, hence at import.
"""

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

_PACKAGE = Path(__file__).resolve().parent
_KERNEL_SOURCES = ("kernels.py", "games/**/*.py", "search/**/*.py")


def source_hash() -> str:
    """Returns a short hash over every source file that may hold a kernel."""
    digest = hashlib.sha256(numba.__version__.encode())
    for pattern in _KERNEL_SOURCES:
        for path in sorted(_PACKAGE.glob(pattern)):
            digest.update(str(path.relative_to(_PACKAGE)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Makes the folder for compiled kernels, a temporary one where the home is read-only."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "alphago" / f"kernels-{source_hash()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"alphago-kernels-{os.getuid()}-{source_hash()}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if not _is_ours_alone(folder):  # what lies in the cache is run
            folder = Path(tempfile.mkdtemp(prefix="alphago-kernels-"))
    return folder


def _is_ours_alone(folder: Path) -> bool:
    """Tells whether nobody else can have put anything into a folder."""
    facts = folder.lstat()
    is_folder = stat.S_ISDIR(facts.st_mode)
    return is_folder and facts.st_uid == os.getuid() and not facts.st_mode & 0o022


if "NUMBA_CACHE_DIR" not in os.environ:
    setattr(numba.config, "CACHE_DIR", str(cache_folder()))  # noqa: B010, numba's stubs lack it

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compiles a function; the decorator of every compiled function of the project.

    `cache=True`: compiling all kernels takes seconds, loading them tenths. `error_model="numpy"`:
    Python's check for division by zero keeps LLVM from inlining small helpers, which made the
    descent 3.5 times slower; division by zero gives inf or nan instead, so kernels guard it where
    it can occur. `_nrt=False`: Numba counts no references to arrays, which took a sixth of the
    search; a kernel can then allocate no array, and does not compile if it tries, so that callers
    give it room to work in. All kernels must agree in this, hence one decorator. `nogil`: threads
    that play several groups of games run kernels side by side; it costs nothing. No `fastmath`
    (results must be equal bit for bit with the compiler off) and no `parallel` (parallelism comes
    from actors and threads).
    """
    options: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False, "nogil": True}
    compiled: Any = numba.njit(**options)(function)
    return cast(Function, compiled)
