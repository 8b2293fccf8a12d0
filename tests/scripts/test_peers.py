"""The comparison with other frameworks: how it measures and fails, not how fast anything is.

No peer is installed: runners made here, in the interpreter of the tests, take their place.
"""

import ast
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.composition import compose_config, to_run_config
from scripts.overrides import expand
from scripts.peers import __main__ as program
from scripts.peers import environments, run_ours, tasks
from scripts.peers.comparison import Figure, Plan, Result, compare, describe
from scripts.peers.environments import PeerError
from scripts.peers.tasks import OURS, TASKS, Runner, Task
from tests.scripts.tiny_run import TINY

FOLDER = Path(tasks.__file__).parent
PEER_FILES = sorted({FOLDER / runner.file for task in TASKS for runner in task.peers})
OWN_PACKAGES = {"alphago", "configs", "eval", "scripts", "selfplay", "tests", "train"}

COUNTS = """
def prepare(settings):
    print("a library that talks")
    return "nothing", lambda: settings["amount"]
"""
CANNOT_START = """
import no_such_library
"""
FAILS_LATER = """
def prepare(settings):
    calls = []
    def work():
        calls.append(1)
        assert len(calls) < 2, "two calls\\nare too many"
        return 1.0
    return "nothing", work
"""
CRASHES = """
import os
def prepare(settings):
    return "nothing", lambda: os._exit(3)
"""


def imported_packages(path: Path) -> set[str]:
    """Returns the top-level packages that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


# --- the files that run in environments of peers ---


@pytest.mark.parametrize("path", PEER_FILES, ids=lambda path: path.stem)
def test_runner_of_a_peer_imports_nothing_of_ours(path: Path) -> None:
    assert not imported_packages(path) & OWN_PACKAGES


def test_serve_needs_the_standard_library_alone() -> None:
    assert imported_packages(FOLDER / "serve.py") <= sys.stdlib_module_names


def test_every_environment_is_used() -> None:
    used = {runner.environment for task in TASKS for runner in task.peers}
    assert used == set(environments.REQUIREMENTS)


# --- our side ---


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.text)
def test_our_configuration_is_that_of_the_peers(task: Task) -> None:
    overrides = task.ours.settings["overrides"]
    assert isinstance(overrides, list)
    (job,) = expand(overrides, multirun=False)
    config = to_run_config(compose_config(job))
    sizes = {
        "num_blocks": config.network.num_blocks,
        "num_channels": config.network.num_channels,
        "num_simulations": config.selfplay.num_simulations,
        "num_games": config.selfplay.num_games,
    }
    for peer in task.peers:
        assert {key: peer.settings.get(key, sizes[key]) for key in sizes} == sizes
    assert config.selfplay.full_search_probability == 1
    assert config.evaluator.num_threads == 1
    assert task.ours.settings["unit"] == task.unit


def test_ours_counts_positions_or_simulations() -> None:
    overrides = [*TINY, "selfplay.num_simulations=4", "selfplay.random_opening_probability=0"]
    amounts = []
    for unit in ("positions", "simulations"):
        computed_by, play = run_ours.prepare({"overrides": overrides, "unit": unit})
        assert computed_by.startswith("openvino fp32")
        amounts.append(play())
    num_positions, num_simulations = amounts
    assert num_simulations == 4 * num_positions
    assert num_positions >= 5  # the shortest game of tic-tac-toe


# --- measuring ---


@pytest.fixture
def runner(tmp_path: Path) -> Callable[..., Runner]:
    """Returns a function that writes a runner file and returns its runner."""

    def make(source: str, *, name: str, environment: str = "here", **settings: object) -> Runner:
        path = tmp_path / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        return Runner(name=name, environment=environment, file=str(path), settings=settings)

    return make


def make_task(ours: Runner, *peers: Runner) -> Task:
    return Task(text="a task", unit="positions", ours=ours, peers=peers)


def make_plan(tmp_path: Path, failures: list[str]) -> Plan:
    python = Path(sys.executable)
    return Plan(
        seconds=0.01,
        rounds=2,
        core=min(os.sched_getaffinity(0)),
        pythons={OURS: python, "here": python},
        logs=tmp_path,
        report=failures.append,
    )


def test_ratio_is_of_two_rates(runner: Callable[..., Runner], tmp_path: Path) -> None:
    failures: list[str] = []
    ours = runner(COUNTS, name="ours", environment=OURS, amount=200.0)
    peer = runner(COUNTS, name="peer", amount=1.0)
    result = compare(make_task(ours, peer), make_plan(tmp_path, failures))
    assert failures == []
    assert (result.task, result.unit, result.ours.ratio) == ("a task", "positions", None)
    (figure,) = result.peers
    assert (figure.program, figure.computed_by) == ("peer", "nothing")
    assert figure.per_second is not None and result.ours.per_second is not None
    assert result.ours.per_second > figure.per_second > 0
    assert figure.ratio == pytest.approx(result.ours.per_second / figure.per_second)
    assert figure.core_share is not None and 0 < figure.core_share < 1.5


def test_a_failing_peer_is_one_line_and_leaves_the_others_measured(
    runner: Callable[..., Runner], tmp_path: Path
) -> None:
    failures: list[str] = []
    task = make_task(
        runner(COUNTS, name="ours", environment=OURS, amount=2.0),
        runner(CANNOT_START, name="cannot_start"),
        runner(FAILS_LATER, name="fails_later"),
        runner(CRASHES, name="crashes"),
        runner(COUNTS, name="not_installed", environment="elsewhere", amount=1.0),
        runner(COUNTS, name="good", amount=1.0),
    )
    result = compare(task, make_plan(tmp_path, failures))
    assert result.ours.per_second
    assert [peer.program for peer in result.peers if peer.ratio is not None] == ["good"]
    assert [peer.per_second for peer in result.peers[:4]] == [None] * 4
    assert len(failures) == 3  # of the one that is not installed its installation has told
    for name, text in (
        ("cannot_start", "no_such_library"),
        ("fails_later", "two calls are too many"),
        ("crashes", "exit code 3"),
    ):
        (line,) = [line for line in failures if line.startswith(f"a task: {name}: ")]
        assert text in line
        assert "\n" not in line
        assert Path(line.rpartition("see ")[2]).is_file()


def test_what_a_library_prints_is_in_the_log(runner: Callable[..., Runner], tmp_path: Path) -> None:
    ours = runner(COUNTS, name="ours", environment=OURS, amount=2.0)
    compare(make_task(ours), make_plan(tmp_path, []))
    assert "a library that talks" in (tmp_path / "a-task-ours.log").read_text(encoding="utf-8")


def test_where_ours_fails_the_peer_has_its_figure_and_no_ratio(
    runner: Callable[..., Runner], tmp_path: Path
) -> None:
    failures: list[str] = []
    ours = runner(CANNOT_START, name="ours", environment=OURS)
    peer = runner(COUNTS, name="peer", amount=1.0)
    result = compare(make_task(ours, peer), make_plan(tmp_path, failures))
    assert result.ours.per_second is None
    assert result.peers[0].per_second is not None and result.peers[0].ratio is None
    assert len(failures) == 1


# --- the table ---

RESULT = Result(
    task="a task",
    unit="positions",
    ours=Figure(program="ours", computed_by="b int8", per_second=2500.0, core_share=0.99),
    peers=(
        Figure(program="peer", computed_by="c", per_second=1.25, core_share=1.0, ratio=2000.0),
        Figure(program="another"),
    ),
)


def test_table_has_a_line_for_each_program() -> None:
    assert [line.split() for line in describe([RESULT]).splitlines()] == [
        ["a", "task", "positions/s", "ours", "/", "theirs", "computed", "by"],
        ["ours", "2,500", "b", "int8"],
        ["peer", "1.25", "2,000", "c"],
        ["another", "failed"],
    ]


def test_table_says_that_the_machine_was_busy() -> None:
    busy = replace(RESULT, ours=replace(RESULT.ours, core_share=0.6))
    tables, _, last = describe([RESULT, busy]).rpartition("\n\n")
    assert tables == describe([RESULT, RESULT])
    assert "40%" in last


# --- the command line ---


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["seconds=0"], ["seconds", "'0'"]),
        (["seconds=nan"], ["seconds", "'nan'"]),
        (["rounds=0"], ["rounds", "'0'"]),
        (["rounds=1.5"], ["rounds", "'1.5'"]),
        (["core=-1"], ["core", "'-1'"]),
        (["peers=mctx,mctz"], ["peers", "'mctz'", "nearest: mctx"]),
        (["peers="], ["peers", "allowed: openspiel, alpha_zero_general, mctx"]),
        (["alpha_zero_general=/nowhere"], ["alpha_zero_general", "/nowhere", "Coach.py"]),
        (["folder=/dev/null/x"], ["folder", "/dev/null/x"]),
        (["second=1"], ["second", "nearest: seconds"]),
        (["seconds=1", "seconds=2"], ["seconds", "twice"]),
        (["--seconds", "1"], ["options are written seconds=1"]),
        (["mctx"], ["mctx", "expected key=value"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_wrong_words_are_one_line(
    words: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(words) == 2
    err = capsys.readouterr().err
    assert err.startswith("python -m scripts.peers: error: ")
    assert err.count("\n") == 1
    for text in expected:
        assert text in err


def test_help_names_every_key_and_peer(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--help"]) == 0
    out = capsys.readouterr().out
    for word in (*program.KEYS, *environments.REQUIREMENTS):
        assert word in out


@pytest.fixture
def two_peers(runner: Callable[..., Runner], monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts runners of this file in the place of all tasks; `mctx` cannot be installed."""

    def make(name: str, *, folder: Path) -> Path:
        if name == "mctx":
            raise PeerError("`pip install` failed; see a log")
        return Path(sys.executable)

    ours = runner(COUNTS, name="ours", environment=OURS, amount=2.0)
    peers = [
        runner(COUNTS, name=name, environment=name, amount=1.0) for name in ("openspiel", "mctx")
    ]
    monkeypatch.setattr(program, "TASKS", (make_task(ours, *peers),))
    monkeypatch.setattr(program, "make_environment", make)


def test_peer_that_cannot_be_installed_is_told_of_and_others_are_measured(
    two_peers: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"folder={tmp_path}", "seconds=0.01", "rounds=1", "peers=openspiel,mctx", "--json"]
    assert program.main(words) == 1
    captured = capsys.readouterr()
    facts = json.loads(captured.out)
    assert "torch" in facts["machine"]
    (task,) = facts["tasks"]
    openspiel, mctx = task["peers"]
    assert openspiel["ratio"] > 0
    assert mctx["per_second"] is None and task["ours"]["per_second"] > 0
    (error,) = [line for line in captured.err.splitlines() if "error" in line]
    assert error == "python -m scripts.peers: error: mctx: `pip install` failed; see a log"


def test_only_the_peers_asked_for_are_measured(
    two_peers: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"folder={tmp_path}", "seconds=0.01", "rounds=1", "peers=openspiel"]
    assert program.main(words) == 0
    heading, ours, peer, *others = capsys.readouterr().out.splitlines()
    assert heading.startswith("a task")
    assert (ours.split()[0], peer.split()[0]) == ("ours", "openspiel")
    assert not any("mctx" in line for line in others)


def test_clone_is_handed_to_the_runner_that_needs_it() -> None:
    every = program.tasks_of(list(environments.REQUIREMENTS), settings={"clone": "/a/clone"})
    with_clone = [
        peer.environment for task in every for peer in task.peers if "clone" in peer.settings
    ]
    assert with_clone == ["alpha_zero_general"]
    assert [task.text for task in program.tasks_of(["mctx"], settings={})] == [
        task.text for task in TASKS[1:]
    ]
