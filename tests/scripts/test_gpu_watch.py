"""How busy the GPUs are, as a made-up `nvidia-smi` tells it."""

import sys
import time
from pathlib import Path

import pytest

from scripts.speed.gpu_watch import GpuWatch

WAIT_S = 30.0


def watch(folder: Path, monkeypatch: pytest.MonkeyPatch, output: str) -> float | None:
    """Returns the share after a program has written something."""
    written = folder / "written"
    program = folder / "nvidia-smi"
    program.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys, time\n"
        f"print({output!r}, end='', flush=True)\n"
        f"pathlib.Path({str(written)!r}).write_text(' '.join(sys.argv[1:]))\n"
        f"time.sleep({WAIT_S})\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    started = time.monotonic()
    with GpuWatch() as gpu_watch:
        while not written.is_file() or not written.read_text(encoding="utf-8"):
            assert time.monotonic() < started + WAIT_S
            time.sleep(0.01)
    assert time.monotonic() < started + WAIT_S  # the program was ended
    assert "--query-gpu=utilization.gpu" in written.read_text(encoding="utf-8")
    return gpu_watch.share


@pytest.mark.parametrize(
    ("output", "share"),
    [
        ("50\n100\n0\n", 0.5),
        ("90\n 70\n1", 0.8),  # the last line is not whole
        ("[N/A]\n[N/A]\n", None),
        ("", None),
    ],
)
def test_share_is_the_mean_of_what_the_driver_says(
    output: str, share: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert watch(tmp_path, monkeypatch, output) == share


def test_without_a_driver_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with GpuWatch() as gpu_watch:
        pass
    assert gpu_watch.share is None
