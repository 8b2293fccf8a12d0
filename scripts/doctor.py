"""`alphago doctor`: what this machine has, what a run would use of it, and what is wrong."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from alphago.errors import FaultsFoundError
from scripts.arguments import Parser
from scripts.ray_session import MAX_FOLDER_BYTES
from scripts.tables import format_table, gigabytes

if TYPE_CHECKING:
    from scripts.diagnosis.faults import Diagnosis
    from scripts.diagnosis.machine import Machine, Place
    from scripts.diagnosis.packages import Package


def main(argv: Sequence[str]) -> None:
    """Looks at the machine and prints what was found.

    Raises:
        FaultsFoundError: if a run without options would not work.
    """
    parser = Parser(
        "doctor",
        description=(
            "Show what this machine has (CPUs, instruction sets, memory, disks, GPUs, packages),\n"
            "what a run without options would use of it, and in words what is wrong and what to\n"
            "do. Call it in the folder where runs go. The exit code is 0 where a run would work."
        ),
        examples=("alphago doctor", "alphago doctor --json"),
        usage="[--json]",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    arguments = parser.parse(argv)
    report(as_json=arguments.json)


def report(*, as_json: bool) -> None:
    """Prints what was found.

    Raises:
        FaultsFoundError: if a run without options would not work.
    """
    from scripts.diagnosis.faults import FAULT, judge_machine, judge_packages
    from scripts.diagnosis.packages import check_packages

    packages = check_packages()
    diagnoses = judge_packages(packages)
    machine = None
    if not diagnoses:  # what looks at the machine needs them
        from scripts.diagnosis.machine import look_around

        machine = look_around()
        diagnoses = judge_machine(machine)
    if as_json:
        print(json.dumps(to_json(packages, machine, diagnoses)))
    else:
        print(describe(packages, machine, diagnoses))
    if any(each.level == FAULT for each in diagnoses):
        raise FaultsFoundError("a run would not work here")


def to_json(
    packages: Sequence["Package"], machine: "Machine | None", diagnoses: Sequence["Diagnosis"]
) -> dict[str, Any]:
    """Returns all of it as data for JSON; `machine` is null where packages are missing."""
    from scripts.diagnosis.faults import FAULT

    return {
        "works": all(each.level != FAULT for each in diagnoses),
        "packages": [each._asdict() for each in packages],
        "machine": None if machine is None else _plain(machine),
        "found": [each._asdict() for each in diagnoses],
    }


def describe(
    packages: Sequence["Package"], machine: "Machine | None", diagnoses: Sequence["Diagnosis"]
) -> str:
    """Returns all of it as a table, and one line per thing that is wrong, with what to do."""
    rows = [("Python", f"{sys.version.split()[0]} ({sys.executable})")]
    if machine is not None:
        rows += _machine_rows(machine)
    rows.append(("packages", ", ".join(f"{p.name} {p.installed or '-'}" for p in packages)))
    lines = [format_table(rows), ""]
    lines += [f"{each.level}: {each.what}\n       -> {each.remedy}" for each in diagnoses]
    lines += [] if diagnoses else ["nothing is wrong"]
    return "\n".join(lines)


def _machine_rows(machine: "Machine") -> list[tuple[str, str]]:
    cpus, memory, run = machine.cpus, machine.memory, machine.run
    quota = "" if cpus.quota is None else f", quota {cpus.quota:g}"
    limit = "" if memory.limit is None else f", limit {gigabytes(memory.limit)}"
    gpus = ", ".join(machine.gpus.names) or "none"
    works = "" if machine.gpus.fault is None else f" ({machine.gpus.fault})"
    return [
        ("processor", f"{machine.processor}: {', '.join(machine.instruction_sets) or 'none'}"),
        (
            "CPUs",
            f"{machine.usable_cpus} usable of {cpus.host} (affinity {cpus.allowed}{quota}),"
            f" load {machine.load:.1f}",
        ),
        ("memory", f"{gigabytes(memory.available)} free of {gigabytes(memory.total)}{limit}"),
        ("GPU", f"{gpus}{works}"),
        ("runs", _place_text(machine.runs)),
        (
            "temporary",
            f"{_place_text(machine.temporary)}; a path of {machine.socket_bytes} bytes for Ray's"
            f" sockets, at most {MAX_FOLDER_BYTES}",
        ),
        ("shared memory", _place_text(machine.shared_memory)),
        ("kernels", str(machine.kernels)),
        ("open files", f"{machine.open_files:,}"),
        ("GNU Go", machine.gnugo or "not installed (an opponent on Go boards; apt install gnugo)"),
        (
            "a run",
            f"{run.game}: {run.num_actors} actors, {run.groups_per_actor} groups of games and"
            f" {run.actor_threads} threads each; {run.trainer_threads} threads to learn",
        ),
        ("", f"networks on the {run.device}, {run.backend} in {run.precision}"),
        ("", f"about {gigabytes(run.bytes_needed)} of memory"),
    ]


def _place_text(place: "Place | None") -> str:
    if place is None:
        return "none"
    state = place.fault or f"{gigabytes(place.free_bytes)} free"
    return f"{place.path.absolute()}: {state}"


def _plain(value: Any) -> Any:
    """Returns named tuples as mappings, and paths as texts."""
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float | None) else str(value)
