"""A short soak: training under one fault of each kind, and nothing is lost or left behind."""

import json
from pathlib import Path

import pytest

from scripts.soak.__main__ import main
from scripts.soak.plan import KINDS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("loop", ["synchronous", "asynchronous"])
def test_a_run_survives_a_fault_of_each_kind(loop: str, tmp_path: Path) -> None:
    folder = tmp_path / "soak"
    words = [f"folder={folder}", f"loop={loop}", "minutes=0", f"faults={len(KINDS)}", "seed=1"]
    code = main(words)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert {name for name, faults in report["invariants"].items() if faults} == set()
    assert code == 0
    assert report["faults"]["missed"] == []
    made = {fault["kind"] for fault in report["faults"]["made"]}
    assert made | report["left_out"].keys() == {kind.name for kind in KINDS}
