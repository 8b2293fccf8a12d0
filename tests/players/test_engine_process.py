import os
import sys
from pathlib import Path

import psutil
import pytest

from alphago.errors import PlayerError
from alphago.players.engine_process import (
    CommandRefusedError,
    EngineFaultError,
    EngineProcess,
    find_program,
)

FAKE = str(Path(__file__).parents[1] / "reference" / "fake_gtp_engine.py")
PATIENCE_S = 60.0  # for answers that do come, on a busy machine


@pytest.fixture
def start():
    """Starts fake engines; afterwards none is left, neither running nor as a zombie."""
    started = []

    def start_engine(*arguments):
        process = EngineProcess([sys.executable, FAKE, *arguments])
        started.append(process)
        return process

    yield start_engine
    for process in started:
        process.close()
        assert not process.is_running
    assert psutil.Process().children(recursive=True) == []


def ask(process, command, timeout_s=PATIENCE_S):
    return process.ask(command, timeout_s=timeout_s)


def fault_of(process, command, timeout_s=PATIENCE_S):
    with pytest.raises(EngineFaultError) as caught:
        ask(process, command, timeout_s)
    assert not process.is_running
    assert "\n" not in str(caught.value)
    return caught.value


def test_answers_come_without_their_frame(start):
    engine = start()
    assert ask(engine, "protocol_version") == "2"
    assert ask(engine, "boardsize 9") == ""
    assert "genmove" in ask(engine, "list_commands").split("\n")
    assert [ask(engine, "genmove b") for _ in range(3)] == ["A1", "B1", "C1"]


def test_lines_may_end_as_on_windows(start):
    engine = start("--flaw=crlf")
    assert ask(engine, "name") == "Fake"
    assert ask(engine, "name") == "Fake"


def test_a_refusal_leaves_the_program_running(start):
    engine = start()
    with pytest.raises(CommandRefusedError, match="unknown command"):
        ask(engine, "win")
    assert ask(engine, "name") == "Fake"


def test_a_crash_tells_exit_code_and_last_words(start):
    engine = start("--flaw=crash:2")
    ask(engine, "genmove b")
    fault = fault_of(engine, "genmove w")
    assert fault.kind == "crash"
    assert "exit code 3" in str(fault)
    assert "'about to crash'" in str(fault)
    assert "'genmove w'" in str(fault)


def test_a_program_that_ends_at_once_is_a_crash(start):
    fault = fault_of(start("--flaw=crash-at-start"), "name")
    assert fault.kind == "crash"
    assert "exit code 1" in str(fault)
    assert "no network file" in str(fault)


def test_a_killed_program_is_a_crash_by_its_signal(start):
    engine = start()
    ask(engine, "name")
    child = psutil.Process().children()[0]
    child.kill()
    assert "SIGKILL" in str(fault_of(engine, "name"))


def test_no_answer_in_time(start):
    engine = start("--flaw=hang:1")
    ask(engine, "name")
    fault = fault_of(engine, "genmove b", 0.2)
    assert fault.kind == "timeout"
    assert "within 0.2 s" in str(fault)


@pytest.mark.parametrize(
    ("flaw", "words"),
    [
        ("banner", "'Welcome to Fake!'"),
        ("garbage", "'info: not GTP'"),
        ("wrong-id", "'=2 Fake'"),
        ("endless", "without an end"),
    ],
)
def test_anything_but_gtp_is_a_protocol_error(start, flaw, words):
    fault = fault_of(start(f"--flaw={flaw}"), "name")
    assert fault.kind == "protocol error"
    assert words in str(fault)


def test_a_flood_on_standard_error_blocks_nobody(start):
    engine = start("--flaw=stderr-flood")
    assert ask(engine, "name") == "Fake"
    assert ask(engine, "genmove b") == "A1"


@pytest.mark.parametrize("flaw", ["", "dies-at-quit", "crash-at-start", "stderr-flood"])
def test_closing_ends_every_program(start, flaw):
    engine = start(f"--flaw={flaw}")
    engine.close()
    engine.close()


def test_closing_ends_a_program_that_does_not_quit(start, monkeypatch):
    monkeypatch.setattr("alphago.players.engine_process._QUIT_S", 0.2)
    start("--flaw=ignores-quit").close()


def test_no_open_files_are_left(start):
    before = len(os.listdir("/proc/self/fd"))
    start("--flaw=crash:1").close()
    fault_of(start("--flaw=crash:1"), "genmove b")
    assert len(os.listdir("/proc/self/fd")) == before


def test_programs_are_found_on_the_path_then_among_the_games(tmp_path, monkeypatch):
    for folder in ("path", "games"):
        (tmp_path / folder).mkdir()
        for name in ("both", folder):
            program = tmp_path / folder / name
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr("alphago.players.engine_process.GAMES_FOLDER", str(tmp_path / "games"))
    assert find_program(["both", "-x"]) == [str(tmp_path / "path" / "both"), "-x"]
    assert find_program(["games"]) == [str(tmp_path / "games" / "games")]
    with pytest.raises(PlayerError, match="gnuwent: no such program"):
        find_program(["gnuwent", "--level", "10"])
    with pytest.raises(PlayerError, match="no command"):
        find_program([])


def test_a_file_that_is_no_program_cannot_be_started(tmp_path):
    program = tmp_path / "engine"
    program.write_bytes(b"\x00\x01")
    program.chmod(0o755)
    with pytest.raises(PlayerError, match="cannot be started"):
        EngineProcess([str(program)])
