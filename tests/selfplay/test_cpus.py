"""How many CPUs may be used, with made-up affinity and control groups."""

import os
from pathlib import Path

import pytest

from selfplay import cpus
from selfplay.cpus import usable_cpus


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host of 64 CPUs, all allowed, without any control group."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    for name in ("_QUOTA_V2", "_QUOTA_V1", "_PERIOD_V1"):
        monkeypatch.setattr(cpus, name, tmp_path / name)
    return tmp_path


def test_without_quota_the_allowed_cpus_count(monkeypatch: pytest.MonkeyPatch) -> None:
    assert usable_cpus() == 64
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 7})  # taskset -c 3,7
    assert usable_cpus() == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max 100000\n", 64),
        ("200000 100000\n", 2),
        ("150000 100000\n", 1),  # one and a half
        ("50000 100000\n", 1),  # a half: at least one
        ("400000 50000\n", 8),
        ("12800000 100000\n", 64),  # more than there are
    ],
)
def test_quota_of_control_groups_2(text: str, expected: int, host: Path) -> None:
    (host / "_QUOTA_V2").write_text(text, encoding="ascii")
    assert usable_cpus() == expected


@pytest.mark.parametrize(("quota", "expected"), [("-1\n", 64), ("300000\n", 3), ("10000\n", 1)])
def test_quota_of_control_groups_1(quota: str, expected: int, host: Path) -> None:
    (host / "_QUOTA_V1").write_text(quota, encoding="ascii")
    (host / "_PERIOD_V1").write_text("100000\n", encoding="ascii")
    assert usable_cpus() == expected


def test_the_smaller_of_affinity_and_quota_counts(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (host / "_QUOTA_V2").write_text("400000 100000", encoding="ascii")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2})
    assert usable_cpus() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    assert usable_cpus() == 4


def test_where_there_is_no_affinity_the_cpus_of_the_machine_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cpus() == 64
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cpus() == 1
