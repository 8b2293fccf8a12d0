"""An environment of its own for each peer, made once and kept."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from alphago.errors import AlphagoError
from alphago.files import reason

REQUIREMENTS = {
    "openspiel": (
        "open_spiel==2.0.2",
        "jax==0.10.2",
        "flax==0.12.8",
        "optax==0.2.8",
        "chex==0.1.92",
        "orbax-checkpoint==0.12.8",
    ),
    # numpy 2.3 dropped `tostring`, which it calls on every board. Of its own list it needs here
    # nothing but tqdm.
    "alpha_zero_general": ("torch==2.13.0", "numpy==2.2.6", "tqdm==4.70.1"),
    "mctx": ("mctx==0.0.71", "pgx==2.6.0", "jax==0.10.2"),
}
CLONE_URL = "https://github.com/suragnair/alpha-zero-general"
CLONE_COMMIT = "f1a78e0505c614205f8c60eaa82cd644a07a84b3"
CLONE_MARK = "Coach.py"  # a file of the clone
_INSTALL_TIMEOUT_S = 3600


class PeerError(AlphagoError):
    """A peer could not be installed or measured."""


def default_folder() -> Path:
    """Returns where the environments lie, beside the compiled kernels."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "alphago" / "peers"


def make_environment(name: str, *, folder: Path) -> Path:
    """Makes a peer's environment unless it is there with the same requirements.

    Args:
        name: a key of REQUIREMENTS.
        folder: where all environments lie.

    Returns:
        The environment's Python.

    Raises:
        PeerError: if it could not be made.
    """
    environment, log = folder / name, folder / f"{name}-install.log"
    python, stamp = environment / "bin" / "python", environment / "requirements.txt"
    requirements = REQUIREMENTS[name]
    wanted = "\n".join([f"# Python {sys.version}".replace("\n", " "), *requirements, ""])
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {name} into {environment}; this takes minutes", file=sys.stderr)
    log.unlink(missing_ok=True)
    _run([sys.executable, "-m", "venv", "--clear", str(environment)], log=log)
    _run([str(python), "-m", "pip", "install", *requirements], log=log)
    stamp.write_text(wanted, encoding="utf-8")
    return python


def clone_alpha_zero_general(folder: Path) -> Path:
    """Fetches alpha-zero-general, which is in no package index, unless it is there.

    Only its root and its Connect Four: the trained networks beside them are large.

    Args:
        folder: where all environments lie.

    Returns:
        The folder of its sources.

    Raises:
        PeerError: if it could not be fetched.
    """
    clone, log = folder / f"alpha-zero-general-{CLONE_COMMIT[:8]}", folder / "clone.log"
    if (clone / CLONE_MARK).is_file():
        return clone
    print(f"cloning {CLONE_URL} into {clone}", file=sys.stderr)
    log.unlink(missing_ok=True)
    if not clone.exists():
        sparse = ("--filter=blob:none", "--sparse", "--no-checkout")
        _run(["git", "clone", *sparse, CLONE_URL, str(clone)], log=log)
    _run(["git", "-C", str(clone), "sparse-checkout", "set", "connect4"], log=log)
    _run(["git", "-C", str(clone), "checkout", CLONE_COMMIT], log=log)
    return clone


def _run(command: Sequence[str], *, log: Path) -> None:
    """Runs a command to its end, with what it writes at the end of a log.

    Raises:
        PeerError: if it fails.
    """
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as output:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_INSTALL_TIMEOUT_S,
            )
    except subprocess.TimeoutExpired:
        raise PeerError(f"`{_short(command)}` took more than an hour; see {log}") from None
    except OSError as error:
        raise PeerError(f"`{_short(command)}`: {reason(error)}") from None
    if done.returncode != 0:
        raise PeerError(f"`{_short(command)}` failed; see {log}")


def _short(command: Sequence[str]) -> str:
    """Returns a command for a message: the program's name alone, the rest in full."""
    return " ".join([Path(command[0]).name, *command[1:]])
