"""Runs a sample in a process of its own, with Numba's compiler in another mode."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def report_in_mode(module: str, *, variable: str, cache: Path) -> Any:
    """Returns what a module prints as JSON while a variable of Numba's is 1.

    Args:
        module: dotted name of the module, run as a program.
        variable: such as NUMBA_DISABLE_JIT.
        cache: an empty folder. Numba's cache does not tell code with checks from code without, so
            each mode needs one of its own.
    """
    process = subprocess.run(
        [sys.executable, "-m", module],
        cwd=ROOT,
        env=os.environ | {variable: "1", "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)
