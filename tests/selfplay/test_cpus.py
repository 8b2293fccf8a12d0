"""How many CPUs may be used, with made-up affinity and control groups."""

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from scripts.machine import memory_limit
from selfplay import cpus
from selfplay.cpus import (
    claim_cpu,
    cpu_limits,
    keep_process_on,
    most_shares,
    shares_of_cpus,
    usable_cpus,
)


class Host:
    """A host of 64 CPUs, all allowed, whose control groups are files of a test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.own_groups = folder / "own"
        self.mount = folder / "mount"
        self.topology = folder / "topology"

    def is_in(self, *lines: str) -> None:
        """Says which groups this process is in."""
        self.own_groups.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def limit(self, group: str, text: str) -> None:
        """Sets the quota of a group of version 2, by its path below the mount."""
        self._write(group, "cpu.max", text)

    def limit_version_1(self, group: str, quota: str, period: str = "100000") -> None:
        self._write(group, "cpu.cfs_quota_us", quota)
        self._write(group, "cpu.cfs_period_us", period)

    def has_siblings(self, cpu: int, text: str) -> None:
        """Says which CPUs are threads of the same core."""
        folder = self.topology / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{text}\n", encoding="ascii")

    def _write(self, group: str, name: str, text: str) -> None:
        folder = self.mount / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n", encoding="ascii")


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    host = Host(tmp_path)
    monkeypatch.setattr(cpus, "_OWN_GROUPS", host.own_groups)
    monkeypatch.setattr(cpus, "_MOUNT", host.mount)
    monkeypatch.setattr(cpus, "_TOPOLOGY", host.topology)
    return host


def test_without_quota_the_allowed_cpus_count(monkeypatch: pytest.MonkeyPatch) -> None:
    assert usable_cpus() == 64
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 7})  # taskset -c 3,7
    assert usable_cpus() == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max 100000", 64),
        ("200000 100000", 2),
        ("150000 100000", 1),  # one and a half
        ("290000 100000", 2),
        ("50000 100000", 1),  # a half: at least one
        ("400000 50000", 8),
        ("12800000 100000", 64),  # more than there are
    ],
)
def test_quota_of_a_container_with_control_groups_2(text: str, expected: int, host: Host) -> None:
    host.is_in("0::/")
    host.limit(".", text)
    assert usable_cpus() == expected


@pytest.mark.parametrize(("quota", "expected"), [("-1", 64), ("300000", 3), ("10000", 1)])
@pytest.mark.parametrize(
    ("controllers", "folder"), [("cpu", "cpu"), ("cpu,cpuacct", "cpu,cpuacct")]
)
def test_quota_of_a_container_with_control_groups_1(
    controllers: str, folder: str, quota: str, expected: int, host: Host
) -> None:
    host.is_in("5:memory:/", f"3:{controllers}:/", "0::/")
    host.limit_version_1(folder, quota)
    host.limit_version_1("memory", "100000")  # a group that has nothing to do with CPUs
    assert usable_cpus() == expected


def test_nested_groups_count_from_the_own_one_outwards(host: Host) -> None:
    host.is_in("0::/system.slice/run-1.scope/inner")
    host.limit("system.slice/other.scope", "100000 100000")  # not ours
    assert usable_cpus() == 64
    host.limit("system.slice/run-1.scope", "300000 100000")
    assert usable_cpus() == 3
    host.limit("system.slice/run-1.scope/inner", "max 100000")
    assert usable_cpus() == 3
    host.limit("system.slice/run-1.scope/inner", "1000000 100000")  # more than its parent has
    assert usable_cpus() == 3
    host.limit("system.slice/run-1.scope/inner", "200000 100000")
    assert usable_cpus() == 2
    host.limit("system.slice", "100000 100000")
    assert usable_cpus() == 1


def test_nested_groups_of_version_1(host: Host) -> None:
    host.is_in("4:cpu,cpuacct:/slurm/job 7", "0::/slurm/job 7")
    host.limit_version_1("cpu/slurm/job 7", "500000")
    assert usable_cpus() == 5
    host.limit("unified/slurm", "400000 100000")
    assert usable_cpus() == 4


@pytest.mark.parametrize("path", ["/docker/0123456789ab", "/../../user.slice"])
def test_a_path_of_the_host_leaves_the_mounted_group(path: str, host: Host) -> None:
    host.is_in(f"0::{path}")
    host.limit(".", "200000 100000")
    assert usable_cpus() == 2


def test_the_smaller_of_affinity_and_quota_counts(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.is_in("0::/")
    host.limit(".", "400000 100000")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2})
    assert usable_cpus() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    assert usable_cpus() == 4


def test_limits_tell_what_keeps_cpus_from_being_used(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cpu_limits() == (64, 64, None)
    host.is_in("0::/")
    host.limit(".", "250000 100000")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2})
    assert cpu_limits() == (64, 3, 2.5)


@pytest.mark.parametrize(
    ("line", "group", "name"),
    [
        ("0::/pod", "pod", "memory.max"),
        ("9:memory:/pod", "memory/pod", "memory.limit_in_bytes"),
    ],
)
def test_memory_of_a_container_is_limited(line: str, group: str, name: str, host: Host) -> None:
    host.is_in(line)
    assert memory_limit() is None
    folder = host.mount / group
    folder.mkdir(parents=True)
    (folder / name).write_text("4294967296\n", encoding="ascii")
    assert memory_limit() == 2**32
    (folder / name).write_text("max\n", encoding="ascii")
    assert memory_limit() is None


def test_where_there_is_no_affinity_the_cpus_of_the_machine_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cpus() == 64
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cpus() == 1


@pytest.fixture
def no_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the test's claims have names of their own; they end with this process."""
    monkeypatch.setattr(cpus, "_CLAIM_NAME", f"\0alphago.test.{uuid.uuid4()}.")


def test_seats_have_a_cpu_each_and_go_round_when_all_are_claimed(
    no_claims: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {9, 2, 5})
    assert [claim_cpu(seat) for seat in range(5)] == [2, 5, 9, 2, 5]
    monkeypatch.delattr(os, "sched_getaffinity")
    assert claim_cpu(0) is None


def test_seats_are_on_cores_of_their_own_before_they_share_any(
    no_claims: None, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3, 5})
    for cpu, text in enumerate(["0-1", "0-1", "2-3", "2-3", "4-5", "4-5"]):
        host.has_siblings(cpu, text)
    assert [claim_cpu(seat) for seat in range(5)] == [0, 2, 5, 1, 3]


def test_actors_of_two_runs_have_different_cpus(
    no_claims: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)))
    first = [claim_cpu(seat) for seat in range(2)]
    second = [claim_cpu(seat) for seat in range(3)]
    assert first == [0, 1]
    assert second == [2, 3, 4]


def test_a_claim_ends_with_its_process(no_claims: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    program = (
        "import sys; from selfplay import cpus; cpus._CLAIM_NAME = chr(0) + sys.argv[1];"
        " cpus._claim(0); print(flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-W", "error", "-c", program, cpus._CLAIM_NAME[1:]]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert claim_cpu(0) == 1
        other.kill()
        other.wait()
    assert claim_cpu(0) == 0


def test_shares_are_equal_and_what_is_left_over_stays_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {8, 4, 5, 6, 7})
    assert shares_of_cpus(1) == [[4, 5, 6, 7, 8]]
    assert shares_of_cpus(2) == [[4, 5], [6, 7]]
    assert shares_of_cpus(5) == [[4], [5], [6], [7], [8]]
    assert most_shares() == 5
    with pytest.raises(AssertionError):
        shares_of_cpus(6)


def test_shares_stay_within_the_quota_of_a_container(host: Host) -> None:
    host.is_in("0::/")
    host.limit(".", "500000 100000")
    assert shares_of_cpus(2) == [[0, 1], [2, 3]]
    assert most_shares() == 5


def test_the_threads_of_a_core_are_not_shared_out(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    for cpu, text in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        host.has_siblings(cpu, text)
    assert shares_of_cpus(2) == [[0, 2], [1, 3]]


def test_off_linux_there_is_one_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(os, "sched_setaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert most_shares() == 1
    assert shares_of_cpus(1) == [[0, 1, 2]]
    keep_process_on(os.getpid(), [0])


def test_one_cpu_of_taskset_is_one_cpu() -> None:
    program = (
        "import os; os.sched_setaffinity(0, {max(os.sched_getaffinity(0))});"
        " from selfplay.cpus import usable_cpus; print(usable_cpus())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")
