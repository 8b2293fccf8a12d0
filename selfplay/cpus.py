"""How many CPUs this process may use, which in a container is fewer than the host has."""

import contextlib
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

_OWN_GROUPS = Path("/proc/self/cgroup")  # lines of hierarchy:controllers:path
_MOUNT = Path("/sys/fs/cgroup")


def usable_cpus() -> int:
    """Returns the CPUs allowed by affinity (`taskset`) and by the container's quota, at least 1.

    A quota of two and a half CPUs counts as two: a third thread would be halted half of the time.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:  # no Linux
        allowed = os.cpu_count() or 1
    quotas = [quota for folder in _control_groups() if (quota := _quota_of(folder)) is not None]
    return max(1, min(allowed, math.floor(min(quotas, default=allowed))))


def numbered_cpu(number: int) -> int | None:
    """Returns an allowed CPU, another one for each number while there are some; None off Linux."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[number % len(allowed)]


def keep_thread_on(cpu: int | None) -> None:
    """Binds the calling thread to a CPU, unless it is None. The process's others stay free."""
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})


def shares_of_cpus(num_shares: int) -> list[list[int] | None]:
    """Divides the allowed CPUs among several processes; where there are too few, some share one.

    Returns:
        The CPUs of each, to be kept on them; None off Linux.
    """
    if not hasattr(os, "sched_getaffinity"):
        return [None] * num_shares
    allowed = sorted(os.sched_getaffinity(0))
    return [
        allowed[place::num_shares] or [allowed[place % len(allowed)]] for place in range(num_shares)
    ]


def keep_process_on(process_id: int, cpus: Sequence[int] | None) -> None:
    """Binds a process that has just started to some CPUs, unless they are None."""
    if cpus is not None:
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            os.sched_setaffinity(process_id, cpus)


def _control_groups() -> Iterator[Path]:
    """Yields the folders of the control groups that this process is in, and of those around them.

    Within a container the path may be that of the host, which is not visible; then the mounted
    folder itself is the container's group.
    """
    try:
        lines = _OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:  # no control groups here
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2; beside version 1 it is mounted apart
            mounts = [_MOUNT, _MOUNT / "unified"]
        elif "cpu" in controllers.split(","):
            mounts = [_MOUNT / "cpu", _MOUNT / controllers]
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
