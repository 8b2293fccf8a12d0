"""What is wrong with a machine, in words, and what to do about it."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scripts.diagnosis.machine import Machine, Place
from scripts.diagnosis.packages import Package
from scripts.ray_session import OBJECT_STORE_BYTES
from scripts.tables import gigabytes

FAULT, NOTE = "fault", "note"
_LEAST_ROOM = 100 * 2**20  # bytes; the first checkpoints and games of a run have room
_LITTLE_ROOM = 2 * 2**30
_LEAST_FREE_SHARE = 0.05  # Ray takes nothing more on a file system that is fuller
_FEW_OPEN_FILES = 1024


class Diagnosis(NamedTuple):
    """One thing that is not as it should be.

    Attributes:
        level: `FAULT` where a run would not work, `NOTE` where it would be slower or smaller.
        what: what is wrong.
        remedy: what to do.
    """

    level: str
    what: str
    remedy: str


def judge_packages(packages: Sequence[Package]) -> list[Diagnosis]:
    """Tells which packages do not fit."""
    return [
        Diagnosis(FAULT, f"{each.name} {each.fault}", f"pip install '{each.name}{each.allowed}'")
        for each in packages
        if each.fault
    ]


def judge_machine(machine: Machine) -> list[Diagnosis]:
    """Tells what is wrong with a machine, faults first."""
    found = [*_processors(machine), *_memory(machine), *_places(machine), *_gpus(machine)]
    return sorted(found, key=lambda each: each.level != FAULT)


def _processors(machine: Machine) -> Iterator[Diagnosis]:
    run, cpus = machine.run, machine.cpus
    if run.fault:
        yield Diagnosis(
            FAULT,
            f"networks cannot be evaluated by {run.backend} in {run.precision}: {run.fault}",
            "try evaluator.backend=torch or evaluator.precision=fp32; reinstall the package",
        )
    if machine.usable_cpus < cpus.host:
        limit = "affinity" if cpus.quota is None or cpus.allowed <= cpus.quota else "a quota"
        yield Diagnosis(
            NOTE,
            f"{limit} leaves {machine.usable_cpus} of {cpus.host} CPUs",
            "give the process or container more, if there are more to give",
        )
    if machine.load > machine.usable_cpus:
        yield Diagnosis(
            NOTE,
            f"other programs keep the CPUs busy (load {machine.load:.1f} on"
            f" {machine.usable_cpus} usable CPUs)",
            "end them, or give the run fewer: selfplay.num_actors=N train.num_threads=1",
        )
    if run.device == "cpu" and run.precision == "fp32":
        yield Diagnosis(
            NOTE,
            "the processor computes neither int8 nor bf16 fast, so networks play in fp32",
            "expect a third of the speed or less; a newer processor has VNNI or AVX-512 bf16",
        )
    if machine.open_files < _FEW_OPEN_FILES:
        yield Diagnosis(
            NOTE,
            f"a process may have only {machine.open_files} files open, and Ray needs more",
            "ulimit -n 65536",
        )


def _memory(machine: Machine) -> Iterator[Diagnosis]:
    memory, needed = machine.memory, machine.run.bytes_needed
    room = memory.available if memory.limit is None else min(memory.available, memory.limit)
    if room < needed:
        yield Diagnosis(
            FAULT,
            f"a run without options takes about {gigabytes(needed)} of memory,"
            f" {gigabytes(room)} are free",
            "end other programs, or lower replay.window_size and selfplay.num_actors",
        )
    shared = machine.shared_memory
    if shared is not None and shared.free_bytes < OBJECT_STORE_BYTES:
        yield Diagnosis(
            NOTE,
            f"{shared.path} has only {gigabytes(shared.free_bytes)} free: Ray keeps in files what"
            " processes share, which is slow",
            "start the container with --shm-size=1g",
        )


def _places(machine: Machine) -> Iterator[Diagnosis]:
    yield from _judge_place(machine.runs, "runs are kept", remedy="name another with run_dir=")
    temporary = machine.temporary
    if temporary is None:
        yield Diagnosis(FAULT, machine.temporary_fault, "set TMPDIR to a short path, or use /tmp")
    else:
        remedy = "make room there, or set TMPDIR to a short path elsewhere"
        yield from _judge_place(temporary, "Ray's files go", remedy=remedy)
        if temporary.free_share < _LEAST_FREE_SHARE:
            yield Diagnosis(
                NOTE,
                f"{temporary.path}: {100 * (1 - temporary.free_share):.0f} % of the file system"
                " are used, and Ray takes nothing more beyond 95 %",
                remedy,
            )
    if machine.kernels.is_relative_to(Path(tempfile.gettempdir())):
        yield Diagnosis(
            NOTE,
            f"compiled kernels are kept in {machine.kernels}, since the home folder is read-only:"
            " they are compiled anew when it is emptied",
            "set XDG_CACHE_HOME to a folder that stays",
        )


def _judge_place(place: Place, use: str, *, remedy: str) -> Iterator[Diagnosis]:
    if place.fault:
        what = f"{place.path}, where {use}, cannot be written to: {place.fault}"
        yield Diagnosis(FAULT, what, remedy)
    elif place.free_bytes < _LITTLE_ROOM:
        level = FAULT if place.free_bytes < _LEAST_ROOM else NOTE
        what = f"{place.path}, where {use}, has only {gigabytes(place.free_bytes)} free"
        yield Diagnosis(level, what, remedy)


def _gpus(machine: Machine) -> Iterator[Diagnosis]:
    names, fault = machine.gpus
    if names and fault is not None:
        yield Diagnosis(
            NOTE,
            f"the driver sees {', '.join(names)}, but torch cannot use it ({fault}); networks run"
            " on the CPU",
            "install a build of torch for the CUDA version of the driver (nvidia-smi shows it)",
        )
