"""The kernels give the same bits compiled, interpreted, and with every index checked."""

from pathlib import Path

import pytest

from tests.compiler_modes import report_in_mode
from tests.search.sample_searches import sample_hashes


@pytest.mark.parametrize(
    ("variable", "setting"),
    [("NUMBA_DISABLE_JIT", "disable_jit"), ("NUMBA_BOUNDSCHECK", "boundscheck")],
)
def test_same_results(variable: str, setting: str, tmp_path: Path) -> None:
    """An index past the end would go unnoticed in the usual mode and fail in these two."""
    report = report_in_mode("tests.search.sample_searches", variable=variable, cache=tmp_path)
    assert report["settings"][setting] == 1
    assert report["hashes"] == sample_hashes()
