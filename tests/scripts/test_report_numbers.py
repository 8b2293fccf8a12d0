"""The numbers that a report shows: log, counters, gate and ratings."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from alphago.games import make_game
from scripts.report_page.collect import collect_report
from scripts.report_page.run_log import MAX_ROWS, curves_of, read_log
from tests.scripts.report_runs import make_run, ratings_of, write_log, write_ratings
from tests.train.tiny import log_lines

NUM_GAMES = 3
TIC_TAC_TOE = make_game("tic_tac_toe")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "run", "tic_tac_toe")


@pytest.fixture(scope="module")
def report(run: Path) -> dict[str, Any]:
    return collect_report(run, num_games=NUM_GAMES)


@pytest.fixture
def copied(run: Path, tmp_path: Path) -> Path:
    """A copy of the run, to be changed."""
    return Path(shutil.copytree(run, tmp_path / "copied"))


def iteration(step: int, **tags: object) -> dict[str, object]:
    return {"event": "iteration", "time": 1.0, "step": step, **tags}


def sitting(step: int) -> dict[str, object]:
    return {"event": "sitting", "time": 1.0, "step": step, "games": 0}


# --- numbers ---


def test_curves_are_the_numbers_of_the_log(run: Path, report: dict[str, Any]) -> None:
    lines = log_lines(run, "iteration")
    curves = report["curves"]
    assert len(lines) == 2
    assert curves["x"]["steps"] == [line["step"] for line in lines]
    assert curves["x"]["games"] == [line["selfplay/games"] for line in lines]
    assert curves["x"]["minutes"] == [line["time/minutes"] for line in lines]
    for tag in {tag for line in lines for tag in line} - {"time", "event", "step"}:
        assert curves["tags"][tag] == [line.get(tag) for line in lines], tag


def test_counters_are_those_of_the_run(run: Path, report: dict[str, Any]) -> None:
    state = json.loads((run / "state.json").read_text(encoding="utf-8"))
    counters = report["counters"]
    assert (counters["steps"], counters["games"]) == (state["step"], state["games"])
    assert counters["minutes"] == state["seconds"] / 60
    assert counters["iterations"] == 2
    assert report["network"]["step"] == int(state["best"])


def test_parameters_are_those_that_learn(run: Path, report: dict[str, Any]) -> None:
    from alphago.network.network import make_network
    from tests.train.tiny import NETWORK

    module = make_network(TIC_TAC_TOE.spec, NETWORK, seed=0)
    assert report["network"]["num_parameters"] == sum(p.numel() for p in module.parameters())


def test_what_was_logged_after_the_checkpoint_of_a_resume_is_left_out(tmp_path: Path) -> None:
    write_log(tmp_path, sitting(0), iteration(5), iteration(9), sitting(5), iteration(8))
    log = read_log(tmp_path)
    assert [row["step"] for row in log.iterations] == [5, 8]
    assert len(log.sittings) == 2


def test_numbers_that_are_not_finite_and_broken_lines_do_no_harm(tmp_path: Path) -> None:
    write_log(
        tmp_path,
        '{"event": "iteration", "step": 1, "loss/policy": NaN, "loss/value": 1e999}',
        iteration(2, **{"loss/policy": 0.5, "loss/value": True}),
        '{"event": "iteration", "step": 3, "loss/po',
    )
    log = read_log(tmp_path)
    assert log.num_unreadable == 1
    tags = curves_of(log)["tags"]
    assert tags == {"loss/policy": [None, 0.5], "loss/value": [None, None]}


def test_an_iteration_that_did_nothing_does_not_count(copied: Path) -> None:
    first, second = log_lines(copied, "iteration")
    inference = {"inference/bits": 8, "inference/policy_kl": 0.5, "inference/value_error": 0.25}
    idle = {key: second[key] for key in ("event", "time", "step", "selfplay/games")}
    second = {key: value for key, value in second.items() if key not in inference}
    write_log(copied, first | inference, second, idle | {"selfplay/positions_per_s": 0.0})
    state = json.loads((copied / "state.json").read_text(encoding="utf-8"))
    (copied / "state.json").write_text(json.dumps(state | {"iteration": 3}), encoding="utf-8")
    report = collect_report(copied, num_games=1)
    assert report["counters"]["iterations"] == report["curves"]["num_iterations"] == 2
    assert report["inference"]["precision"] == "int8"
    assert report["inference"]["policy_kl"] == 0.5


def test_an_iteration_that_only_ran_the_suite_counts(tmp_path: Path) -> None:
    write_log(tmp_path, iteration(5), iteration(5, **{"suite/policy": 0.5}), iteration(5))
    assert curves_of(read_log(tmp_path))["tags"] == {"suite/policy": [None, 0.5]}


def test_an_iteration_without_play_has_no_speed(tmp_path: Path) -> None:
    speed = "selfplay/positions_per_s"
    write_log(tmp_path, iteration(5, **{speed: 90.0}), iteration(8, **{speed: 0.0}))
    assert curves_of(read_log(tmp_path))["tags"] == {speed: [90.0, None]}


def test_suite_before_learning_is_the_first_point(tmp_path: Path) -> None:
    baseline = {"event": "baseline", "step": 0, "suite/policy": 0.25, "suite/minutes": 0.5}
    write_log(tmp_path, baseline, iteration(7, **{"suite/policy": 0.75, "time/minutes": 3.0}))
    curves = curves_of(read_log(tmp_path))
    assert curves["x"]["minutes"] == [0.5, 3.0]
    assert curves["x"]["steps"] == [0, 7]
    assert curves["tags"]["suite/policy"] == [0.25, 0.75]
    assert curves["num_iterations"] == 1


def test_long_runs_are_thinned_and_keep_their_end(tmp_path: Path) -> None:
    write_log(tmp_path, *(iteration(step) for step in range(1, 2001)))
    steps = curves_of(read_log(tmp_path))["x"]["steps"]
    assert len(steps) == MAX_ROWS
    assert (steps[0], steps[-1]) == (1, 2000)
    assert steps == sorted(set(steps))


# --- strength ---


def test_gate_counts_every_candidate(copied: Path) -> None:
    write_log(
        copied,
        iteration(1, **{"gate/promoted": 1.0, "gate/score": 0.75}),
        iteration(2),
        iteration(3, **{"gate/promoted": 0.0, "gate/score": 0.25}),
    )
    gate = collect_report(copied, num_games=0)["gate"]
    assert (gate["num_candidates"], gate["num_promoted"]) == (2, 1)
    assert gate["last"] == {"step": 3, "score": 0.25, "promoted": False}
    assert gate["threshold"] == 0.55


def test_ratings_are_shown_and_the_last_checkpoint_counts(copied: Path) -> None:
    ratings = ratings_of((20, 150.0), (10, 200.0))
    write_ratings(copied, ratings)
    report = collect_report(copied, num_games=0)
    for shown, written in zip(report["ratings"]["ratings"], ratings["ratings"], strict=True):
        assert shown == {**dict.fromkeys(shown), "is_fixed": False, **written}
    assert report["ratings"]["alarm"] == "Strength has fallen."
    assert (report["rating"]["step"], report["rating"]["elo"]) == (20, 150.0)
