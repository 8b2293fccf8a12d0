"""Files of a run that hold what they should not: the page goes without it, or one line says why."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scripts.main import main
from scripts.report_page.collect import collect_report
from scripts.report_page.json_files import number
from scripts.report_page.render import render_page
from tests.scripts.report_runs import make_run, ratings_of, write_log, write_ratings
from tests.train.tiny import log_lines

# As they stand in a file; the last one is nested too deeply to be read.
BAD_VALUES = ("NaN", "1e999", "-Infinity", "1" * 400, '"x"', "null", "true", "[1]", "{}")
DEEP = "[" * 100_000
BAD_TIMES = ("1e300", "-1e300", "1e15")
ITERATION_KEYS = (
    "time",
    "step",
    "time/minutes",
    "selfplay/games",
    "loss/policy",
    "gate/promoted",
    "gate/score",
    "inference/bits",
    "suite/policy",
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without networks, which take a while to be read."""
    run = make_run(tmp_path_factory.mktemp("runs") / "run", "tic_tac_toe")
    shutil.rmtree(run / "checkpoints")
    return run


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    return Path(shutil.copytree(original, tmp_path / "copied"))


def with_value(line: dict[str, Any], key: str, value: str) -> str:
    """Returns a line of JSON in which a key has a value that is written as it is."""
    return json.dumps(line | {key: "PLACE"}).replace('"PLACE"', value)


def report_of(run: Path) -> dict[str, Any]:
    """Returns what a page shows; it can be rendered."""
    report = collect_report(run, num_games=1)
    render_page(report)
    return report


def complaint(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Makes a report in vain; returns the one line that says why."""
    assert main(["report", str(run)]) == 2
    assert not (run / "report.html").exists()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, 7),
        (-0.5, -0.5),
        (10**308, 10**308),
        (10**400, None),
        (float("nan"), None),
        (float("-inf"), None),
        (True, None),
        ("7", None),
        (None, None),
    ],
)
def test_numbers(value: object, expected: float | None) -> None:
    assert number(value) == expected


@pytest.mark.parametrize("value", BAD_VALUES)
@pytest.mark.parametrize("key", ITERATION_KEYS)
def test_values_of_an_iteration_that_are_no_numbers_are_left_out(
    run: Path, key: str, value: str
) -> None:
    first, last = log_lines(run, "iteration")
    write_log(run, first, with_value(last, key, value))
    curves = report_of(run)["curves"]
    assert curves["num_iterations"] == (1 if key == "step" else 2)
    assert curves["tags"].get(key, [None])[-1] is None or key == "step"


@pytest.mark.parametrize("value", (*BAD_VALUES, *BAD_TIMES))
@pytest.mark.parametrize("key", ["time", "step", "games"])
def test_values_of_a_sitting_that_are_no_numbers_are_left_out(
    run: Path, key: str, value: str
) -> None:
    sitting = {"event": "sitting", "time": 1.0, "step": 0, "games": 0}
    write_log(run, with_value(sitting, key, value), *log_lines(run, "iteration"))
    (shown,) = report_of(run)["sittings"]
    if key == "time" or value in BAD_VALUES:
        assert not shown[key]


def test_lines_of_a_log_that_are_too_deep_are_counted_as_unreadable(run: Path) -> None:
    write_log(run, *log_lines(run, "iteration"), DEEP)
    assert report_of(run)["num_unreadable_lines"] == 1


@pytest.mark.parametrize("value", BAD_VALUES)
@pytest.mark.parametrize("key", ["step", "games", "minutes", "num_games", "score", "kind"])
def test_ratings_may_lack_all_but_elo(run: Path, key: str, value: str) -> None:
    ratings = ratings_of((10, 100.0), (20, 250.0))
    anchor, first, last = ratings["ratings"]
    players = ", ".join([json.dumps(anchor), json.dumps(first), with_value(last, key, value)])
    write_ratings(run, f'{{"draw_elo": NaN, "simulations": {value}, "ratings": [{players}]}}')
    report = report_of(run)
    assert report["ratings"]["simulations"] is None
    assert report["rating"]["elo"] == (100.0 if key in ("step", "kind") else 250.0)


@pytest.mark.parametrize("value", BAD_VALUES)
@pytest.mark.parametrize("key", ["elo", "low", "high"])
def test_ratings_without_elo_are_refused(
    run: Path, key: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    player = with_value(ratings_of()["ratings"][0], key, value)
    write_ratings(run, f'{{"ratings": [{player}]}}')
    assert "ratings.json: got other JSON, allowed: the ratings" in complaint(run, capsys)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no JSON"),
        (DEEP, "no JSON (nested too deeply)"),
        ("1" * 5000, "no JSON"),
        ("[]", "got other JSON, allowed: a mapping"),
        ("null", "got other JSON, allowed: a mapping"),
        ('{"a": 1}', "got other JSON, allowed: the ratings of `alphago rate`"),
        ('{"ratings": [{"player": "random"}]}', "got other JSON, allowed: the ratings"),
        ('{"ratings": [[]]}', "got other JSON, allowed: the ratings"),
    ],
)
def test_files_that_are_no_ratings_are_refused(
    run: Path, content: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_ratings(run, content)
    assert f"ratings.json: {message}" in complaint(run, capsys)


@pytest.mark.parametrize("value", (*BAD_VALUES, "5"))
def test_counters_are_numbers(run: Path, value: str) -> None:
    keys = ("iteration", "step", "games", "seconds", "best")
    state = ", ".join(f'"{key}": {value}' for key in keys)
    (run / "state.json").write_text(f"{{{state}}}", encoding="utf-8")
    last = log_lines(run, "iteration")[-1]
    counters = report_of(run)["counters"]
    assert counters["iterations"] == (5 if value == "5" else 2)
    assert counters["steps"] == max(last["step"], 5 if value == "5" else 0)
    assert counters["best"] == ("x" if value == '"x"' else None)


@pytest.mark.parametrize("content", ["{", DEEP, "[]", "7"])
def test_a_state_that_is_none_is_refused(
    run: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "state.json").write_text(content, encoding="utf-8")
    assert "state.json: " in complaint(run, capsys)


GAME = "game: {name: tic_tac_toe}"


@pytest.mark.parametrize("value", [".nan", ".inf", "[1]", "{a: 1}", "2020-01-01", "1" * 400])
def test_settings_of_a_wrong_type_are_not_shown(run: Path, value: str) -> None:
    sections = {
        "network": ("num_blocks", "num_channels"),
        "evaluator": ("precision",),
        "gate": ("mode", "num_games", "threshold_percent"),
        "suite": ("file",),
    }
    lines = [GAME]
    for section, keys in sections.items():
        lines += [f"{section}:", *(f"  {key}: {value}" for key in keys)]
    (run / "config.yaml").write_text("\n".join(lines), encoding="utf-8")
    report = report_of(run)
    shown = [report["network"]["num_blocks"], report["network"]["num_channels"]]
    shown += [report["inference"]["wanted"], report["suite"]["file"]]
    shown += [report["gate"][key] for key in ("mode", "num_games", "threshold")]
    assert shown == [None] * 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "no YAML"),
        ("[" * 2_000, "no YAML"),
        ("when: 2020-99-99", "no configuration of a run"),
        ("7", "no configuration of a run (it is no mapping)"),
        ("game: {}", "no configuration of a run (it names no game)"),
        ("game: chess", "game: got 'chess', allowed: a mapping"),
        ("game: {name: chess}", "game: game: got 'chess'"),
        ("game: {name: [1]}", "no configuration of a run (it names no game)"),
        ("game: {name: go_5x5, komi: .inf}", "game: "),
        (f"{GAME}\nsuite: x", "suite: got 'x', allowed: a mapping"),
        (f"{GAME}\ngate: 7", "gate: got 7, allowed: a mapping"),
        (f"{GAME}\nnetwork: [1]", "network: got [1], allowed: a mapping"),
    ],
)
def test_a_configuration_that_is_none_is_refused(
    run: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "config.yaml").write_text(text, encoding="utf-8")
    assert f"config.yaml: {message}" in complaint(run, capsys)
