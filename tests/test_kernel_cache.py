"""The cache of compiled kernels, whose files are run."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import alphago.kernels


@pytest.mark.parametrize("change", [lambda path: path.chmod(0o777), lambda path: path.rmdir()])
def test_kernels_are_taken_from_no_folder_that_others_could_have_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    (tmp_path / "home").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    usual = alphago.kernels.cache_folder()
    assert alphago.kernels.cache_folder() == usual
    assert usual.stat().st_mode & 0o777 == 0o700
    change(usual)
    if not usual.exists():
        (tmp_path / "other").mkdir()
        usual.symlink_to(tmp_path / "other")
    other = alphago.kernels.cache_folder()
    assert other != usual
    assert other.stat().st_mode & 0o777 == 0o700
