"""The kernels give the same bits compiled, interpreted, and with every index checked."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.search.sample_searches import sample_hashes

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("variable", "setting"),
    [("NUMBA_DISABLE_JIT", "disable_jit"), ("NUMBA_BOUNDSCHECK", "boundscheck")],
)
def test_same_results(variable: str, setting: str, tmp_path: Path) -> None:
    """An index past the end would go unnoticed in the usual mode and fail in these two."""
    # Numba's cache does not tell code with checks from code without: a folder for each mode.
    environment = os.environ | {variable: "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "-m", "tests.search.sample_searches"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    report = json.loads(process.stdout)
    assert report["settings"][setting] == 1
    assert report["hashes"] == sample_hashes()
