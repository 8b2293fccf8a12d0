"""What a measurement was made on, and what the machine allows."""

import platform
import sys
from importlib.metadata import version
from pathlib import Path

import torch

from alphago.network.evaluator import cuda_fault
from selfplay.cpus import control_groups, usable_cpus

_LIBRARIES = ("torch", "openvino", "numba", "numpy", "ray")


def describe_machine() -> dict[str, object]:
    """Returns processor, usable CPUs, GPU and versions, ready for JSON."""
    has_cuda = cuda_fault() is None
    return {
        "processor": processor(),
        "usable_cpus": usable_cpus(),
        "gpu": torch.cuda.get_device_name() if has_cuda else None,
        "system": platform.platform(),
        "python": sys.version.split()[0],
        **{name: version(name) for name in _LIBRARIES},
    }


def processor() -> str:
    """Returns the processor's name, which Python itself does not know on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # no Linux
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def memory_limit() -> int | None:
    """Returns the bytes of memory that the container's control groups allow, None without limit."""
    texts = []
    for folder in control_groups("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):  # of version 2 and 1
            try:
                texts.append((folder / name).read_text(encoding="ascii").strip())
            except OSError:  # the outermost group has none, nor has one of the host
                continue
    return min((int(text) for text in texts if text != "max"), default=None)
