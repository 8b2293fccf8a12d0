"""How many CPUs this process may use, which in a container is fewer than the host has."""

import math
import os
from pathlib import Path

_QUOTA_V2 = Path("/sys/fs/cgroup/cpu.max")  # "max 100000" or "<quota> <period>"
_QUOTA_V1 = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")  # -1 for none
_PERIOD_V1 = Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")


def usable_cpus() -> int:
    """Returns the CPUs allowed by affinity (`taskset`) and by the container's quota, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:  # no Linux
        allowed = os.cpu_count() or 1
    quota = _container_quota()
    return max(1, allowed if quota is None else min(allowed, math.floor(quota)))


def _container_quota() -> float | None:
    """Returns the CPUs of the control group's quota, None without one."""
    try:
        if _QUOTA_V2.exists():
            quota, period = _QUOTA_V2.read_text(encoding="ascii").split()
        else:
            quota = _QUOTA_V1.read_text(encoding="ascii").strip()
            period = _PERIOD_V1.read_text(encoding="ascii").strip()
    except OSError:  # no control groups here
        return None
    return None if quota in ("max", "-1") else int(quota) / int(period)
