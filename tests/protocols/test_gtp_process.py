"""The engine as a program: pipes, exit codes, other engines."""

import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
GNUGO = shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")
SECONDS = 120  # for what takes a few on an idle machine


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "scripts.main", "gtp", *words]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def run(*words: str, lines: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words), input=lines, capture_output=True, text=True, cwd=cwd,
        env=environment(), timeout=SECONDS, check=False,
    )  # fmt: skip


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=ROOT, env=environment(), bufsize=1,
    )  # fmt: skip


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):  # what was not flushed has no reader
                stream.close()


def ask(process: subprocess.Popen[str], line: str) -> str:
    """Sends a command and returns the text of its success; the pipe stays open."""
    assert process.stdin and process.stdout
    process.stdin.write(line + "\n")
    process.stdin.flush()
    answer = ""
    while not answer.endswith("\n\n"):
        piece = process.stdout.readline()
        assert piece, f"{line}: the program has ended"
        answer += piece
    assert answer.startswith("="), f"{line}: {answer}"
    return answer[1:].strip()


@pytest.fixture
def random_engine() -> Iterator[subprocess.Popen[str]]:
    process = start("random", "game=go_5x5")
    yield process
    end(process)


def test_the_engine_speaks_to_its_pipe_alone(random_engine: subprocess.Popen[str]) -> None:
    assert ask(random_engine, "name") == "alphago"
    process = psutil.Process(random_engine.pid)
    assert [one for each in (process, *process.children()) for one in each.net_connections()] == []


def test_nothing_but_gtp_on_standard_output(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    lines = "name\nversion\nprotocol_version\ngenmove b\nquit\n"
    done = run("uct:playouts=20", "game=go_5x5", f"log={log}", lines=lines)
    assert done.returncode == 0
    assert re.fullmatch(
        r"= alphago\n\n= [\w.+-]+\n\n= 2\n\n= ([A-E][1-5]|pass)\n\n=\n\n", done.stdout
    )
    assert "no noise" in done.stderr
    logged = log.read_text()
    assert "< genmove b" in logged and "> = alphago" in logged


def test_prints_of_python_and_of_c_go_to_standard_error() -> None:
    program = (
        "import os, sys\n"
        "import alphago.players.random_player as module\n"
        "old = module.RandomPlayer.choose_actions\n"
        "def choose(self, states):\n"
        "    print('printed'); os.write(1, b'written\\n')\n"
        "    return old(self, states)\n"
        "module.RandomPlayer.choose_actions = choose\n"
        "from scripts.main import main\n"
        "sys.exit(main(['gtp', 'random', 'game=go_5x5']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input="genmove b\nquit\n", capture_output=True, text=True,
        cwd=ROOT, env=environment(), timeout=SECONDS, check=True,
    )  # fmt: skip
    assert re.fullmatch(r"= ([A-E][1-5]|pass)\n\n=\n\n", done.stdout)
    assert "printed" in done.stderr and "written" in done.stderr


def test_answers_come_at_once_and_fifty_in_order(random_engine: subprocess.Popen[str]) -> None:
    assert ask(random_engine, "name") == "alphago"
    ask(random_engine, "genmove b")
    started = time.monotonic()
    assert ask(random_engine, "protocol_version") == "2"
    assert time.monotonic() - started < 1
    assert random_engine.stdin and random_engine.stdout
    lines = [f"{i} {'name' if i % 2 else 'nosuch'}" for i in range(50)]
    random_engine.stdin.write("\n".join(lines) + "\n# comment\n\n50 quit\n")
    random_engine.stdin.close()
    answers = random_engine.stdout.read().split("\n\n")
    expected = [f"={i} alphago" if i % 2 else f"?{i} unknown command" for i in range(50)]
    assert answers == [*expected, "=50", ""]
    assert random_engine.wait(SECONDS) == 0


def test_end_of_input_ends_the_program_and_a_last_line_without_end_counts() -> None:
    done = run("random", "game=go_5x5", lines="1 name\n2 version")
    assert done.returncode == 0
    assert done.stdout.startswith("=1 alphago\n\n=2 ")
    assert done.stdout.endswith("\n\n")


def test_analysis_ends_with_the_input() -> None:
    done = run("uct:playouts=20", "game=go_5x5", lines="lz-analyze b 10\n")
    assert done.returncode == 0
    assert done.stdout.startswith("=\ninfo move ")
    assert done.stdout.endswith("\n\n")


def test_reader_that_goes_away_ends_the_program_quietly(
    random_engine: subprocess.Popen[str],
) -> None:
    ask(random_engine, "name")
    assert random_engine.stdin and random_engine.stdout and random_engine.stderr
    random_engine.stdout.close()
    random_engine.stdin.write("name\n" * 100)
    random_engine.stdin.flush()
    assert random_engine.wait(SECONDS) == 0
    assert "Traceback" not in random_engine.stderr.read()


# A network's search without a network; what comes before `main` is part of the program.
NETWORK = """
import sys
import alphago.players
from scripts.main import main
from tests.protocols.gtp_helpers import network
alphago.players.make_player = lambda text, *, game, seed: network(100_000)(game)
alphago.players.game_of_player = lambda text: "go_5x5"
sys.exit(main(["gtp", "network"]))
"""


@pytest.mark.parametrize("end", ["quit\n", ""])
def test_search_of_many_simulations_ends_with_the_session(end: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", NETWORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, cwd=ROOT, env=environment(),
    ) as process:  # fmt: skip
        ask(process, "time_settings 0 1 1")
        for color in "bw":  # short ones, after which everything is compiled
            ask(process, f"genmove {color}")
        ask(process, "time_settings 0 1 0")
        assert process.stdin and process.stdout
        process.stdin.write("genmove b\n" + end)
        process.stdin.close()
        started = time.monotonic()
        assert process.wait(SECONDS) == 0
        assert time.monotonic() - started < 5
        answers = process.stdout.read()
        assert re.fullmatch(r"= ([A-E][1-5]|pass)\n\n" + ("=\n\n" if end else ""), answers)


@pytest.mark.parametrize(
    ("player", "rest"),
    [
        *itertools.product(["network", "uct:playouts=300000"], ["name\nquit\n", "name\n", "na"]),
        ("flat_mc:playouts=1000000", "name\nquit\n"),
        ("alphabeta:depth=40,nodes=1000000000", "name\nquit\n"),
    ],
)
def test_search_ends_with_the_session_though_a_line_comes_first(player: str, rest: str) -> None:
    words = ["-c", NETWORK] if player == "network" else command(player, "game=go_5x5")[1:]
    with subprocess.Popen(
        [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, cwd=ROOT, env=environment(),
    ) as process:  # fmt: skip
        ask(process, "time_settings 0 1 1")
        ask(process, "genmove b")  # a short one, after which everything is compiled
        ask(process, "time_settings 0 1 0")
        assert process.stdin and process.stdout
        process.stdin.write("genmove b\n" + rest)
        process.stdin.close()
        started = time.monotonic()
        assert process.wait(SECONDS) == 0
        assert time.monotonic() - started < 5
        assert re.match(r"= ([A-E][1-5]|pass)\n\n[=?]", process.stdout.read())


def test_search_ends_when_the_reader_goes_away() -> None:
    process = start("uct:playouts=300000", "game=go_5x5")
    try:
        ask(process, "time_settings 0 1 1")
        ask(process, "genmove b")
        ask(process, "time_settings 0 1 0")
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write("genmove b\n")
        process.stdin.flush()
        process.stdout.close()
        started = time.monotonic()
        assert process.wait(SECONDS) == 0
        assert time.monotonic() - started < 5
        assert "Traceback" not in process.stderr.read()
    finally:
        end(process)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize(
    ("words", "redirection", "named"),
    [
        ("", ">&-", "standard output is closed"),
        ("", ">/dev/full", "standard output: cannot be written (No space left on device)"),
        ("log=/dev/full", "", "log: /dev/full: cannot be written (No space left on device)"),
    ],
)
def test_output_that_cannot_be_written_is_one_line(
    words: str, redirection: str, named: str
) -> None:
    program = " ".join(command("random", "game=go_5x5", words))
    done = subprocess.run(
        ["sh", "-c", f"exec {program} {redirection}"], input="name\nname\nquit\n",
        capture_output=True, text=True, cwd=ROOT, env=environment(), timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"alphago gtp: error: {named}"
    assert done.stderr.count("\n") <= 2  # the first tells what plays
    assert "Traceback" not in done.stderr


def test_closed_standard_error_leaves_standard_output_to_gtp() -> None:
    program = " ".join(command("random", "game=go_5x5"))
    done = subprocess.run(
        ["sh", "-c", f"exec {program} 2>&-"], input="name\nquit\n", stdout=subprocess.PIPE,
        text=True, cwd=ROOT, env=environment(), timeout=SECONDS, check=True,
    )  # fmt: skip
    assert done.stdout == "= alphago\n\n=\n\n"


def test_interrupt_ends_the_program(random_engine: subprocess.Popen[str]) -> None:
    ask(random_engine, "name")
    random_engine.send_signal(signal.SIGINT)
    assert random_engine.wait(SECONDS) == 130
    assert random_engine.stderr and "Traceback" not in random_engine.stderr.read()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["checkpoint=/no/such"], "checkpoint: unknown key"),
        (["/no/such"], "/no/such"),
        (["/etc/passwd"], "/etc/passwd"),
        (["/etc"], "/etc"),
        (["random", "game=connect_four"], "connect_four"),
        (["random", "game=go_99x99"], "go_99x99"),
        (["random", "game=go_9x9:handicap=2"], "fixed_handicap"),
        (["random", "game=go_9x9:max_moves=50"], "max_moves"),
        (["random", "rules=nosuch"], "nosuch"),
        (["random", "komi=x"], "komi"),
        (["random", "komi=6.7"], "6.7"),
        (["random", "ponder=maybe"], "ponder"),
        (["random", "resign=2"], "resign"),
        (["random", "seconds=0"], "seconds"),
        (["random", "log=/no/such/file"], "/no/such/file"),
        (["random", "nosuch=1"], "nosuch"),
        (["human"], "human"),
        (["gtp:gnugo --mode gtp", "game=go_9x9"], "is a GTP engine itself"),
        (["game=go_5x5:rules=nosuch"], "nosuch"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_start_failure_is_one_line_on_standard_error(
    words: list[str], named: str, capfd: pytest.CaptureFixture[str]
) -> None:
    from scripts.main import main

    assert main(["gtp", *words]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("alphago gtp: error: ") and err.count("\n") == 1
    assert named in err


def test_start_failure_ends_the_program_from_any_folder() -> None:
    done = run("/no/such", cwd=Path("/"), lines="name\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "/no/such" in done.stderr


@pytest.mark.skipif(GNUGO is None, reason="GNU Go is not installed")
@pytest.mark.parametrize("seed", range(3))
def test_gnugo_agrees_on_legality_and_stones(seed: int) -> None:
    """Random games, every move and the stones at the end compared under the same rules."""
    assert GNUGO is not None
    rules = ["--chinese-rules", "--positional-superko", "--forbid-suicide", "--capture-all-dead"]
    ours = start("random", "game=go_9x9", f"seed={seed}")
    theirs = subprocess.Popen(
        [GNUGO, "--mode", "gtp", "--level", "0", *rules], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    both = (ours, theirs)
    try:
        for process in both:
            for line in ("boardsize 9", "clear_board", "komi 7.5"):
                ask(process, line)
        for ply in range(120):
            color = "bw"[ply % 2]
            vertex = ask(ours, f"genmove {color}")
            assert ask(theirs, f"is_legal {color} {vertex}") == "1"
            ask(theirs, f"play {color} {vertex}")
        for color in "bw":
            stones = [set(ask(process, f"list_stones {color}").split()) for process in both]
            assert stones[0] == stones[1]
    finally:
        for process in both:
            end(process)
