"""How many CPUs this process may use, in a container fewer than the host has, and which one."""

import contextlib
import math
import os
import re
import socket
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_OWN_GROUPS = Path("/proc/self/cgroup")  # lines of hierarchy:controllers:path
_MOUNT = Path("/sys/fs/cgroup")
_TOPOLOGY = Path("/sys/devices/system/cpu")
_CLAIM_NAME = "\0alphago.cpu."  # name of the claim of a CPU, without its number; \0: in no folder


class CpuLimits(NamedTuple):
    """What keeps this process from using all CPUs of the host.

    Attributes:
        host: CPUs of the host.
        allowed: those allowed by affinity (`taskset`).
        quota: CPUs of the container's quota, None without one.
    """

    host: int
    allowed: int
    quota: float | None


def cpu_limits() -> CpuLimits:
    """Returns how many CPUs there are, and how many of them affinity and quota allow."""
    folders = control_groups("cpu")
    quotas = [quota for folder in folders if (quota := _quota_of(folder)) is not None]
    return CpuLimits(os.cpu_count() or 1, len(_allowed_cpus()), min(quotas, default=None))


def usable_cpus() -> int:
    """Returns the CPUs allowed by affinity (`taskset`) and by the container's quota, at least 1.

    A quota of two and a half CPUs counts as two: a third thread would be halted half of the time.
    """
    limits = cpu_limits()
    quota = limits.allowed if limits.quota is None else limits.quota
    return max(1, min(limits.allowed, math.floor(quota)))


def claim_cpu(seat: int) -> int | None:
    """Returns an allowed CPU that is this process's until it ends; None off Linux.

    Each one that claims has another CPU, also those of other runs on the machine, and a core of its
    own while there are some. When all are claimed they are shared.

    Args:
        seat: number of the one that claims among those of its run, which are spread by it.
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    cpus = _cores_first(os.sched_getaffinity(0))
    place = seat % len(cpus)
    in_turn = cpus[place:] + cpus[:place]
    return next((cpu for cpu in in_turn if _claim(cpu)), in_turn[0])


def _cores_first(cpus: Collection[int]) -> list[int]:
    """Returns the first thread of each core, then the second one of each, and so on."""
    num_before: Counter[int] = Counter()
    ranked = []
    for cpu in sorted(cpus):
        core = _core_of(cpu)
        ranked.append((num_before[core], core, cpu))
        num_before[core] += 1
    return [cpu for _, _, cpu in sorted(ranked)]


def _claim(cpu: int) -> bool:
    """Claims a CPU, and tells whether that was possible.

    A claim is a socket with a name that only one can have. It is in no folder, and the system frees
    it however the process ends. Containers do not see each other's.
    """
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"{_CLAIM_NAME}{cpu}")
    except OSError:  # another one has it, or the system has no such names
        claim.close()
        return False
    claim.detach()  # kept open
    return True


def keep_thread_on(cpu: int | None) -> None:
    """Binds the calling thread to a CPU, unless it is None. The process's others stay free."""
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})


def most_shares() -> int:
    """Returns among how many processes the CPUs can be divided; off Linux nothing can be bound."""
    return usable_cpus() if hasattr(os, "sched_setaffinity") else 1


def shares_of_cpus(num_shares: int) -> list[list[int]]:
    """Divides the usable CPUs among several processes, equally; what is left over stays idle.

    Args:
        num_shares: how many processes, from 1 to `most_shares()`.

    Returns:
        The CPUs of each. The threads of a core are neighbours in them: two processes on one core
        would slow each other.
    """
    assert 1 <= num_shares <= most_shares()
    size = usable_cpus() // num_shares
    allowed = sorted(_allowed_cpus(), key=lambda cpu: (_core_of(cpu), cpu))
    return [allowed[place * size : (place + 1) * size] for place in range(num_shares)]


def keep_process_on(process_id: int, cpus: Sequence[int]) -> None:
    """Binds a process that has just started to some CPUs; off Linux it is left alone."""
    if hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            os.sched_setaffinity(process_id, cpus)


def _allowed_cpus() -> set[int]:
    """Returns the numbers of the CPUs allowed by affinity; all of the machine off Linux."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _core_of(cpu: int) -> int:
    """Returns the first CPU of the same core, where the system tells ("0,64" or "0-1")."""
    try:
        path = _TOPOLOGY / f"cpu{cpu}" / "topology" / "thread_siblings_list"
        found = re.match("[0-9]+", path.read_text(encoding="ascii"))
    except OSError:
        found = None
    return cpu if found is None else int(found[0])


def control_groups(controller: str) -> Iterator[Path]:
    """Yields the folders of the control groups that this process is in, and of those around them.

    Within a container the path may be that of the host, which is not visible; then the mounted
    folder itself is the container's group.

    Args:
        controller: what they control, such as `cpu` or `memory`.
    """
    try:
        lines = _OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:  # no control groups here
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2; beside version 1 it is mounted apart
            mounts = [_MOUNT, _MOUNT / "unified"]
        elif controller in controllers.split(","):
            mounts = [_MOUNT / controller, _MOUNT / controllers]
        else:
            continue
        inner = [] if ".." in path else [part for part in path.split("/") if part]
        for mount in mounts:
            for depth in range(len(inner) + 1):
                yield mount.joinpath(*inner[:depth])


def _quota_of(folder: Path) -> float | None:
    """Returns the CPUs of a control group's own quota, None without one."""
    try:
        if (folder / "cpu.max").exists():  # version 2: "max 100000" or "<quota> <period>"
            quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text(encoding="ascii").strip()
            period = (folder / "cpu.cfs_period_us").read_text(encoding="ascii").strip()
    except OSError:  # the outermost group has none, nor has one of the host
        return None
    return None if quota in ("max", "-1") else int(quota) / int(period)
