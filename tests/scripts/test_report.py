"""What a report collects of a run, and the command that writes it."""

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alphago.errors import CheckpointError
from alphago.games import make_game
from alphago.games.notation import replay
from alphago.types import EMPTY
from scripts.main import main
from scripts.report_page.calibration import calibration_of
from scripts.report_page.collect import collect_report
from scripts.report_page.recorded_games import record_files, spread_records
from scripts.report_page.run_log import MAX_ROWS, curves_of, read_log
from scripts.report_page.sample_games import board_of
from selfplay.records import GameRecord
from tests.scripts.report_runs import make_report, make_run, ratings_of
from tests.train.tiny import log_lines, stored_records

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


def write_log(run: Path, *lines: object) -> None:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (run / "log.jsonl").write_text("\n".join(texts), encoding="utf-8")


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
    (copied / "ratings").mkdir()
    ratings = ratings_of((20, 150.0), (10, 200.0))
    (copied / "ratings" / "ratings.json").write_text(json.dumps(ratings), encoding="utf-8")
    report = collect_report(copied, num_games=0)
    assert report["ratings"] == ratings
    assert (report["rating"]["step"], report["rating"]["elo"]) == (20, 150.0)


@pytest.mark.parametrize("text", ["{", "[]", '{"ratings": [{"player": "random"}]}', '{"a": 1}'])
def test_other_ratings_are_refused(copied: Path, text: str) -> None:
    (copied / "ratings").mkdir()
    (copied / "ratings" / "ratings.json").write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"ratings\.json: "):
        collect_report(copied, num_games=0)


# --- games ---


def record(actions: list[int], values: list[float], returns: tuple[float, float]) -> GameRecord:
    """A game of tic-tac-toe whose moves all had a search, which saw the move that was played."""
    num_moves = len(actions)
    return GameRecord(
        game="tic_tac_toe",
        network_version=0,
        seed=np.array([1, 0, 0], np.int64),
        actions=np.array(actions, np.int16),
        target_actions=np.array(actions, np.int16),
        target_shares=np.ones(num_moves, np.float32),
        target_offsets=np.arange(num_moves + 1, dtype=np.int32),
        root_values=np.array(values, np.float32),
        is_target=np.ones(num_moves, np.bool_),
        returns=np.array(returns, np.float32),
        truncated=False,
    )


def test_calibration_by_hand() -> None:
    # X . O / X . O / X . .: X wins; every other position is O's, who has lost.
    won = record([0, 2, 3, 5, 6], [0.5, -0.5, 0.5, -0.9, 0.9], (1.0, -1.0))
    found = calibration_of(TIC_TAC_TOE, [won])
    assert found is not None
    assert (found["num_positions"], found["num_games"]) == (5, 1)
    counts = {round(bin_["low"], 1): bin_["count"] for bin_ in found["bins"] if bin_["count"]}
    assert counts == {-1.0: 1, -0.6: 1, 0.4: 2, 0.8: 1}
    by_low = {round(bin_["low"], 1): bin_ for bin_ in found["bins"]}
    assert by_low[0.4]["value"] == 0.5
    assert by_low[0.4]["result"] == 1.0
    assert by_low[-0.6]["result"] == -1.0
    assert by_low[0.0]["result"] is None
    gaps = [0.5, 0.5, 0.5, 0.1, 0.1]
    assert found["error"] == pytest.approx(sum(gaps) / 5)


def test_games_of_different_lengths_are_calibrated_together() -> None:
    won = record([0, 2, 3, 5, 6], [0.5] * 5, (1.0, -1.0))
    lost = record([8, 0, 7, 1, 3, 2], [0.5] * 6, (-1.0, 1.0))
    both = calibration_of(TIC_TAC_TOE, [won, lost])
    assert both is not None
    (filled,) = [bin_ for bin_ in both["bins"] if bin_["count"]]
    assert filled["count"] == 11
    assert filled["result"] == pytest.approx((3 - 2 - 3 + 3) / 11)


def test_no_game_has_no_calibration() -> None:
    assert calibration_of(TIC_TAC_TOE, []) is None


def test_sample_games_can_be_played_again(run: Path, report: dict[str, Any]) -> None:
    records = stored_records(run)
    assert len(report["samples"]) == NUM_GAMES
    for sample in report["samples"]:
        stored = records[sample["number"]]
        assert [ply["action"] for ply in sample["plies"]] == stored.actions.tolist()
        cells = list(sample["start"])
        assert cells == [EMPTY] * 9
        for number, ply in enumerate(sample["plies"], start=1):
            for cell, owner in ply["changes"]:
                cells[cell] = owner
            state = replay(TIC_TAC_TOE, stored.actions[:number].tolist())
            assert cells == TIC_TAC_TOE.board(state).reshape(-1).tolist()


def test_values_of_sample_games_are_in_the_view_of_player_0(
    run: Path, report: dict[str, Any]
) -> None:
    records = stored_records(run)
    sample = report["samples"][-1]
    stored = records[sample["number"]]
    for number, ply in enumerate(sample["plies"]):
        assert ply["player"] == number % 2
        if number >= sample["num_random"]:
            sign = 1 if number % 2 == 0 else -1
            assert ply["search_value"] == pytest.approx(sign * stored.root_values[number], abs=1e-4)


def test_policies_of_sample_games_are_those_of_record_and_network(
    run: Path, report: dict[str, Any]
) -> None:
    from alphago.players.loading import load_network_player

    player = load_network_player(
        run, game=None, step=None, num_simulations=0, precision="fp32", name="", seed=0
    )
    sample = report["samples"][-1]
    stored = stored_records(run)[sample["number"]]
    for number, ply in enumerate(sample["plies"]):
        entries = slice(stored.target_offsets[number], stored.target_offsets[number + 1])
        target = dict(
            zip(stored.target_actions[entries].tolist(), stored.target_shares[entries], strict=True)
        )
        if stored.is_target[number]:
            assert dict(ply["search"]) == pytest.approx(target, abs=1e-4)
        else:
            assert ply["search"] is None
        result = player.search(replay(TIC_TAC_TOE, stored.actions[:number].tolist()))
        for action, share in ply["network"]:
            assert share == pytest.approx(result.priors[0, action], abs=1e-3)
        shares = [share for _, share in ply["network"]]
        assert shares == sorted(shares, reverse=True)


def test_sample_games_are_spread_from_the_first_to_the_newest(run: Path) -> None:
    files = record_files(run)
    numbers = [each.number for each in spread_records(TIC_TAC_TOE, files, 4)]
    assert numbers == sorted(set(numbers))
    assert numbers[0] < 3
    assert numbers[-1] >= 9
    assert [each.number for each in spread_records(TIC_TAC_TOE, files, 100)] == list(range(12))
    assert len(spread_records(TIC_TAC_TOE, files, 1)) == 1
    assert spread_records(TIC_TAC_TOE, files, 0) == []
    assert spread_records(TIC_TAC_TOE, [], 4) == []


def test_broken_files_of_games_are_left_out_with_a_warning(
    copied: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = sorted((copied / "records").glob("*.npz"))[0]
    broken.write_bytes(b"broken")
    with caplog.at_level(logging.WARNING):
        samples = collect_report(copied, num_games=50)["samples"]
    assert 0 < len(samples) < 12
    assert broken.name in caplog.text
    assert broken.exists()


@pytest.mark.parametrize(
    ("name", "style", "actions", "columns"),
    [
        ("tic_tac_toe", "tic_tac_toe", "cells", []),
        ("connect_four", "connect_four", "columns", list("1234567")),
        ("go_9x9", "go", "cells", list("ABCDEFGHJ")),
    ],
)
def test_boards(name: str, style: str, actions: str, columns: list[str]) -> None:
    board = board_of(make_game(name))
    assert (board["style"], board["actions"], board["columns"]) == (style, actions, columns)
    if style == "go":
        assert board["rows"] == list("987654321")
        assert 40 in board["stars"]
        assert board["moves"][0] == "A9"


# --- runs of all kinds ---


def test_a_run_that_has_just_begun_has_a_report(copied: Path, tmp_path: Path) -> None:
    young = tmp_path / "young"
    young.mkdir()
    shutil.copy(copied / "config.yaml", young)
    report = collect_report(young, num_games=NUM_GAMES)
    assert report["counters"] == {
        "iterations": 0,
        "steps": 0,
        "games": 0,
        "minutes": 0,
        "best": None,
    }
    assert report["samples"] == []
    assert report["calibration"] is None
    assert report["network"]["num_parameters"] is None
    assert make_report(young).is_file()


def test_a_run_of_an_older_version_has_a_report(copied: Path) -> None:
    kept = ("time", "event", "step", "loss/policy", "selfplay/games", "time/minutes")
    lines = [{key: line[key] for key in kept if key in line} for line in log_lines(copied)]
    write_log(copied, *lines)
    config = (copied / "config.yaml").read_text(encoding="utf-8").splitlines()
    unknown_then = ("  handicap_bonus:", "  backend:", "  cache_size:", "  policy_kl_limit:")
    older = [line for line in config if not line.startswith(unknown_then)]
    (copied / "config.yaml").write_text("\n".join(older), encoding="utf-8")
    report = collect_report(copied, num_games=NUM_GAMES)
    assert list(report["curves"]["tags"]) == ["loss/policy", "selfplay/games", "time/minutes"]
    assert report["inference"]["precision"] is None
    assert len(report["samples"]) == NUM_GAMES
    assert make_report(copied).is_file()


def test_a_broken_network_is_left_out_with_a_warning(
    copied: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for weights in (copied / "checkpoints").glob("*/best.safetensors"):
        weights.write_bytes(b"broken")
    with caplog.at_level(logging.WARNING):
        report = collect_report(copied, num_games=1)
    assert report["samples"][0]["plies"][0]["network"] is None
    assert "best.safetensors" in caplog.text


# --- the command ---


def test_nothing_but_the_page_is_written(copied: Path) -> None:
    def contents() -> dict[Path, bytes]:
        files = (path for path in copied.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in files}

    before = contents()
    page = make_report(copied)
    after = contents()
    assert after.pop(page)
    assert after == before


def test_page_goes_where_it_is_asked_for(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(run), f"out={page}", "games=1"]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert capsys.readouterr().out.startswith(f"{page}: 0.")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing"], "missing: no such folder"),
        (["empty"], "empty: is not a run, it has no config.yaml"),
        (["run", "games=-1"], "games: got '-1', allowed: an integer from 0 to 50"),
        (["run", "game=3"], "game: unknown key; nearest: games; allowed: out, games"),
        (["run", "out=missing/page.html"], "out: missing: no such folder"),
        (["run", "out=empty"], "out: empty is a folder; name a file"),
    ],
)
def test_wrong_input_ends_with_one_line(
    words: list[str],
    message: str,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "run").symlink_to(run)
    assert main(["report", *words]) == 2
    assert capsys.readouterr().err == f"alphago report: error: {message}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "run"]


def test_a_configuration_that_is_none_ends_with_one_line(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied / "config.yaml").write_text("game: {name: chess}", encoding="utf-8")
    assert main(["report", str(copied)]) == 2
    assert "config.yaml: game: game: got 'chess'" in capsys.readouterr().err
    (copied / "config.yaml").write_text("a: [", encoding="utf-8")
    assert main(["report", str(copied)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (copied / "report.html").exists()
