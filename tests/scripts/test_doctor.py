"""`alphago doctor`: what is wrong with made-up machines, and that it works on this one."""

import fcntl
import importlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from packaging.requirements import Requirement

from alphago.network.hardware import instruction_sets
from scripts.arguments import CommandLineError
from scripts.diagnosis import machine, packages
from scripts.diagnosis.faults import FAULT, judge_machine, judge_packages
from scripts.diagnosis.machine import DefaultRun, Gpus, Machine, Memory, Place, look_at
from scripts.diagnosis.packages import Package, check_package
from scripts.doctor import describe, to_json
from scripts.main import main
from selfplay.cpus import CpuLimits

GIB = 2**30
PLACE = Place(Path("/runs"), free_bytes=100 * GIB, free_share=0.5, fault="")
RUN = DefaultRun(
    game="go_9x9",
    num_actors=8,
    groups_per_actor=1,
    actor_threads=1,
    trainer_threads=8,
    device="cpu",
    backend="openvino",
    precision="int8",
    bytes_needed=7 * GIB,
    fault="",
)
MACHINE = Machine(
    processor="A processor",
    cpus=CpuLimits(host=8, allowed=8, quota=None),
    usable_cpus=8,
    load=0.5,
    instruction_sets=["AVX2", "VNNI"],
    memory=Memory(total=32 * GIB, available=24 * GIB, limit=None),
    gpus=Gpus([], "no CUDA device"),
    runs=PLACE,
    temporary=PLACE._replace(path=Path("/tmp")),
    temporary_fault="",
    socket_bytes=20,
    shared_memory=PLACE._replace(path=Path("/dev/shm")),
    kernels=Path("/home/somebody/.cache/alphago/kernels"),
    open_files=65536,
    gnugo="/usr/games/gnugo",
    run=RUN,
)


def found(**changes: Any) -> list[tuple[str, str, str]]:
    """Returns what is said of a machine that differs in something from a sound one."""
    return [tuple(each) for each in judge_machine(MACHINE._replace(**changes))]


def test_a_sound_machine_has_no_fault() -> None:
    assert found() == []
    text = describe([Package("numpy", ">=2", "2.4.0", "")], MACHINE, [])
    assert text.endswith("nothing is wrong")
    assert "8 usable of 8 (affinity 8), load 0.5" in text
    assert "go_9x9: 8 actors, 1 groups of games and 1 threads each; 8 threads to learn" in text
    assert "openvino in int8" in text


@pytest.mark.parametrize(
    ("changes", "level", "what", "remedy"),
    [
        (
            {"cpus": CpuLimits(64, 64, 8.0)},
            "note",
            "a quota leaves 8 of 64 CPUs",
            "give the process",
        ),
        ({"cpus": CpuLimits(64, 8, None)}, "note", "affinity leaves 8 of 64 CPUs", "give the"),
        ({"load": 30.0}, "note", "keep the CPUs busy (load 30.0 on 8", "selfplay.num_actors=N"),
        ({"run": RUN._replace(precision="fp32")}, "note", "neither int8 nor bf16", "VNNI"),
        ({"run": RUN._replace(fault="E: no")}, "fault", "cannot be evaluated", "backend=torch"),
        ({"open_files": 256}, "note", "only 256 files open", "ulimit -n"),
        (
            {"memory": Memory(32 * GIB, 24 * GIB, 4 * GIB)},
            "fault",
            "takes about 7.0 GiB of memory, 4.0 GiB are free",
            "replay.window_size",
        ),
        (
            {"shared_memory": PLACE._replace(path=Path("/dev/shm"), free_bytes=64 * 2**20)},
            "note",
            "/dev/shm has only 0.1 GiB free",
            "--shm-size=1g",
        ),
        (
            {"runs": PLACE._replace(fault="Read-only file system")},
            "fault",
            "/runs, where runs are kept, cannot be written to: Read-only file system",
            "run_dir=",
        ),
        ({"runs": PLACE._replace(free_bytes=GIB)}, "note", "has only 1.0 GiB free", "run_dir="),
        ({"runs": PLACE._replace(free_bytes=0)}, "fault", "has only 0.0 GiB free", "run_dir="),
        (
            {"temporary": None, "temporary_fault": "no folder for Ray's sockets: /tmp"},
            "fault",
            "no folder for Ray's sockets",
            "TMPDIR",
        ),
        ({"temporary": PLACE._replace(free_share=0.03)}, "note", "97 % of the file", "make room"),
        (
            {"kernels": Path(tempfile.gettempdir()) / "kernels"},
            "note",
            "compiled kernels are kept in",
            "XDG_CACHE_HOME",
        ),
        (
            {"gpus": Gpus(["A GPU"], "the driver is too old")},
            "note",
            "the driver sees A GPU, but torch cannot use it (the driver is too old)",
            "install a build of torch",
        ),
    ],
)
def test_what_is_wrong_is_told_with_what_to_do(
    changes: dict[str, Any], level: str, what: str, remedy: str
) -> None:
    ((got_level, got_what, got_remedy),) = found(**changes)
    assert got_level == level
    assert what in got_what
    assert remedy in got_remedy


def test_instruction_sets_are_those_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("avx2", "avx512", "avx512_bf16", "vnni", "amx_tile"):
        monkeypatch.setattr(torch.cpu, f"_is_{name}_supported", lambda: False)
    assert instruction_sets() == []
    monkeypatch.setattr(torch.cpu, "_is_avx2_supported", lambda: True)
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: True)
    assert instruction_sets() == ["AVX2", "VNNI"]


def test_faults_come_first() -> None:
    levels = [level for level, _, _ in found(load=99.0, temporary=None, open_files=1)]
    assert levels == ["fault", "note", "note"]


def test_folders_are_tried_and_left_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = look_at(tmp_path)
    assert place.fault == ""
    assert place.free_bytes > 0
    assert 0 < place.free_share <= 1

    def no_locks(file: object, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert look_at(tmp_path).fault == "No locks available"
    assert list(tmp_path.iterdir()) == []


def test_no_folder_for_sockets_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_long() -> Path:
        raise CommandLineError("no folder for Ray's sockets: /tmp: longer")

    monkeypatch.setattr(machine, "short_folder", too_long)
    said = "no folder for Ray's sockets: /tmp: longer"
    assert machine._temporary_place() == (None, said, 0)


def test_packages_that_do_not_fit_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = check_package(Requirement("numpy>=2"))
    assert (sound.name, sound.allowed, sound.fault) == ("numpy", ">=2", "")
    assert "allowed: >=99" in check_package(Requirement("numpy>=99")).fault
    missing = check_package(Requirement("no-such-package-here<3"))
    assert (missing.installed, missing.fault) == (None, "is not installed")

    def broken(name: str) -> None:
        raise OSError("libfoo.so: cannot open\nshared object file")

    with monkeypatch.context() as patch:
        patch.setattr(importlib, "import_module", broken)
        fault = check_package(Requirement("numpy>=2")).fault
    assert fault == "cannot be imported: OSError: libfoo.so: cannot open shared object file"
    (said,) = judge_packages([sound, missing])
    assert said.level == FAULT
    assert said.remedy == "pip install 'no-such-package-here<3'"


def test_with_a_package_that_does_not_fit_the_machine_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = Package("torch", "<2.14", None, "is not installed")
    monkeypatch.setattr(packages, "check_packages", lambda: [bad])
    assert main(["doctor"]) == 1
    out, err = capsys.readouterr()
    assert "fault: torch is not installed" in out
    assert "-> pip install 'torch<2.14'" in out
    assert err == "alphago doctor: error: a run would not work here\n"
    assert to_json([bad], None, judge_packages([bad]))["machine"] is None


def test_this_machine_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = main(["doctor", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert code == (0 if told["works"] else 1)
    machine = told["machine"]
    assert machine["run"]["game"].startswith("go_9x9")
    assert machine["run"]["fault"] == ""
    assert machine["run"]["num_actors"] >= 1
    assert machine["runs"]["path"] == str(tmp_path)
    assert machine["memory"]["total"] > 0
    assert 0 < machine["socket_bytes"] <= 40
    assert {"torch", "ray", "numba"} <= {package["name"] for package in told["packages"]}
    assert list(tmp_path.iterdir()) == []
