"""The harness sees faults, hangs and processes that die, and keeps the input of each."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from alphago.errors import AlphagoError
from tests.fuzz import harness
from tests.fuzz.harness import Target, fuzz, input_of, read_current, replay, report
from tests.fuzz.mutations import json_bytes, mutate, mutate_json
from tests.fuzz.targets import TARGETS

DIES = """
import os, random, sys
from pathlib import Path
from tests.fuzz.harness import Target, fuzz

def read(data):
    if b"z" in data:
        os._exit(3)

target = Target(
    name="dying", share=1, valid=list, read=read, make=lambda rng: rng.choice((b"abc", b"xyz"))
)
fuzz(target, num_inputs=100, seed=1, folder=Path(sys.argv[1]))
"""


def letters(rng: random.Random) -> bytes:
    return bytes(rng.choices(b"abcdefgh", k=30))


def target_of(read: Callable[[bytes], object]) -> Target:
    return Target(name="some", share=1, valid=list, make=letters, read=read)


def test_a_fault_is_made_small_and_saved_and_can_be_read_again(tmp_path: Path) -> None:
    def read(data: bytes) -> None:
        if b"c" in data and b"h" in data:
            raise KeyError("both")

    target = target_of(read)
    outcome = fuzz(target, num_inputs=50, seed=1, folder=tmp_path)
    (failure,) = outcome.failures
    assert sorted(failure.data) == sorted(b"ch")
    assert outcome.num_inputs == 50
    saved = tmp_path / f"some-1-{failure.number}-KeyError"
    assert saved.read_bytes() == failure.data
    assert "KeyError: 'both'" in (tmp_path / f"{saved.name}.txt").read_text(encoding="utf-8")
    with pytest.raises(KeyError):
        replay(target, saved.read_bytes())
    assert "KeyError" in report(target, outcome, folder=tmp_path)
    assert {b"c"[0], b"h"[0]} <= set(input_of(target, seed=1, number=failure.number))


def test_documented_errors_are_counted_and_no_faults(tmp_path: Path) -> None:
    def read(data: bytes) -> None:
        if b"a" in data:
            raise AlphagoError("no")

    outcome = fuzz(target_of(read), num_inputs=30, seed=1, folder=tmp_path)
    assert outcome.failures == []
    assert outcome.num_refused > 10
    assert list(tmp_path.iterdir()) == []


def test_different_faults_are_told_apart_and_equal_ones_are_not(tmp_path: Path) -> None:
    def read(data: bytes) -> None:
        if data[0] in b"ab":
            raise KeyError
        if data[0] in b"cd":
            raise TypeError

    outcome = fuzz(target_of(read), num_inputs=60, seed=1, folder=tmp_path)
    assert sorted(failure.where[0] for failure in outcome.failures) == ["KeyError", "TypeError"]


def test_an_input_that_takes_too_long_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "LONGEST_S", 0.05)

    def read(data: bytes) -> None:
        while data[0] == b"c"[0]:
            pass

    outcome = fuzz(target_of(read), num_inputs=30, seed=1, folder=tmp_path)
    (failure,) = outcome.failures
    assert isinstance(failure.error, harness.TooSlowError)
    assert failure.data[:1] == b"c"


def test_an_input_that_waits_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "_STUCK_S", 0.1)
    outcome = fuzz(target_of(lambda data: time.sleep(60)), num_inputs=1, seed=1, folder=tmp_path)
    assert isinstance(outcome.failures[0].error, harness.TooSlowError)


def test_the_input_that_killed_the_process_is_left_behind(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DIES, str(tmp_path)],
        cwd=Path(__file__).resolve().parent.parent.parent,
        env=os.environ | {"PYTHONPATH": "."},
        check=False,
    )
    assert done.returncode == 3
    assert read_current(tmp_path / "dying.current") == b"xyz"


def test_inputs_follow_from_seed_and_number() -> None:
    for target in TARGETS:
        again = [input_of(target, seed=3, number=number) for number in range(3)]
        assert again == [input_of(target, seed=3, number=number) for number in range(3)]


def test_mutations_change_bytes_and_json() -> None:
    rng = random.Random(1)
    seed = b'{"a": [1, 2, 3], "b": "text"}' * 4
    assert sum(mutate(rng, [seed]) != seed for _ in range(100)) > 90
    value = {"a": [1, 2, {"b": None}], "c": "d"}
    changed = [json_bytes(mutate_json(rng, [value])) for _ in range(100)]
    assert len(set(changed)) > 50
    assert value == {"a": [1, 2, {"b": None}], "c": "d"}


def test_names_tell_targets_apart_and_hold_no_hyphen() -> None:
    names = [target.name for target in TARGETS]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_is_changed_is_valid_itself(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for data in target.valid():
        target.read(data)
