"""Hostile inputs for everything that reads what others have written.

    make test-slow ARGS=tests/fuzz/test_fuzz.py
    ALPHAGO_FUZZ_INPUTS=1000000 make test-slow ARGS='tests/fuzz/test_fuzz.py -s'
    ALPHAGO_FUZZ_SEED=7 ...        other inputs
    ALPHAGO_FUZZ_FOLDER=/tmp/x ... where inputs that fail are saved, fuzz_failures otherwise
    ALPHAGO_FUZZ_REPLAY=FILE ...   reads one of these again, and nothing else

The number is that of all inputs, which the targets share; with `-s` each tells its speed.
"""

import os
from pathlib import Path

import pytest

from tests.fuzz.harness import Target, fuzz, replay, report
from tests.fuzz.targets import TARGETS

pytestmark = pytest.mark.slow

NUM_INPUTS = int(os.environ.get("ALPHAGO_FUZZ_INPUTS", "2000"))
SEED = int(os.environ.get("ALPHAGO_FUZZ_SEED", "0"))
FOLDER = Path(os.environ.get("ALPHAGO_FUZZ_FOLDER", "fuzz_failures")).resolve()
REPLAYED = os.environ.get("ALPHAGO_FUZZ_REPLAY")
_SHARES = sum(target.share for target in TARGETS)


@pytest.mark.skipif(REPLAYED is not None, reason="one input is read again")
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_input_ends_well_or_with_a_documented_error_in_time(
    target: Target, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    num_inputs = max(10, round(NUM_INPUTS * target.share / _SHARES))
    outcome = fuzz(target, num_inputs=num_inputs, seed=SEED, folder=FOLDER)
    speed = outcome.num_inputs / max(outcome.seconds, 1e-3)
    print(
        f"{target.name}: {outcome.num_inputs} inputs, {outcome.num_refused} refused,"
        f" {speed:.0f} a second of processor time"
    )
    assert not outcome.failures, report(target, outcome, folder=FOLDER)
    assert outcome.num_inputs == num_inputs


@pytest.mark.skipif(REPLAYED is None, reason="ALPHAGO_FUZZ_REPLAY names no file")
def test_a_saved_input_ends_well_now(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert REPLAYED is not None
    path = Path(REPLAYED).resolve()
    name = path.name.partition("-")[0]
    (target,) = (target for target in TARGETS if target.name == name)
    monkeypatch.chdir(tmp_path)
    replay(target, path.read_bytes())
