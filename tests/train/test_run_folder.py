"""The run's folder: the lock and the small files."""

import fcntl
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from alphago.errors import CheckpointError
from train.run_folder import begin_sitting, is_in_use, locked, write_state, write_text


def test_a_second_lock_is_refused_by_the_owner_and_freed_at_the_end(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(CheckpointError, match=rf"in use by another process \(process {os.getpid()}"),
        locked(tmp_path),
    ):
        pass
    with locked(tmp_path):
        pass


def test_the_lock_is_freed_by_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), locked(tmp_path):
        raise RuntimeError
    with locked(tmp_path):
        pass


def test_a_killed_process_leaves_no_lock_behind(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from train.run_folder import locked\n"
        "with locked(Path(sys.argv[1])):\n"
        "    print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        with pytest.raises(CheckpointError, match=f"process {process.pid}"), locked(tmp_path):
            pass
        process.kill()
        process.wait()
        with locked(tmp_path):  # the file is still there, the lock is not
            text = (tmp_path / "lock").read_text(encoding="utf-8")
            assert text == f"process {os.getpid()}"


def test_a_folder_is_in_use_while_its_lock_is_held(tmp_path: Path) -> None:
    assert not is_in_use(tmp_path)
    with locked(tmp_path):
        assert is_in_use(tmp_path)
    assert not is_in_use(tmp_path)


def test_who_looks_keeps_nobody_out(tmp_path: Path) -> None:
    with locked(tmp_path):
        pass
    looking = (tmp_path / "lock").open("rb")
    fcntl.flock(looking, fcntl.LOCK_SH)  # as `is_in_use` does, only longer
    threading.Timer(0.15, looking.close).start()
    with locked(tmp_path):
        assert looking.closed


def test_sittings_are_counted_over_processes(tmp_path: Path) -> None:
    assert [begin_sitting(tmp_path) for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize(
    "content", [b"", b"many", b"-1", b"\xff\xfe", b"9" * 5000, "²".encode()], ids=len
)
def test_a_count_of_sittings_that_is_none_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "sittings").write_bytes(content)
    with pytest.raises(
        CheckpointError, match="sittings: got '.{0,40}', allowed: how often.*--repair"
    ):
        begin_sitting(tmp_path)
    assert (tmp_path / "sittings").read_bytes() == content


def test_a_folder_in_place_of_the_count_of_sittings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sittings").mkdir()
    with pytest.raises(CheckpointError, match="sittings: cannot be read: Is a directory"):
        begin_sitting(tmp_path)


def test_state_is_json_and_replaced_as_a_whole(tmp_path: Path) -> None:
    write_state(tmp_path, {"step": 1, "best": "00000001"})
    write_state(tmp_path, {"step": 2, "best": "00000001"})
    text = (tmp_path / "state.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"step": 2, "best": "00000001"}
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_text_keeps_every_letter(tmp_path: Path) -> None:
    write_text(tmp_path / "a.yaml", "Größe: 1 # ½\n")
    assert (tmp_path / "a.yaml").read_text(encoding="utf-8") == "Größe: 1 # ½\n"
