"""The games that a report shows, and the calibration by them."""

import dataclasses
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alphago.games import make_game
from alphago.games.notation import replay
from alphago.types import EMPTY
from scripts.report_page import recorded_games
from scripts.report_page.calibration import calibration_of
from scripts.report_page.collect import collect_report
from scripts.report_page.recorded_games import spread_records
from scripts.report_page.sample_games import board_of
from selfplay.record_store import record_files
from selfplay.records import GameName, GameRecord
from tests.scripts.report_runs import make_run
from tests.train.tiny import stored_records

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


def record(actions: list[int], values: list[float], returns: tuple[float, float]) -> GameRecord:
    """A game of tic-tac-toe whose moves all had a search, which saw the move that was played."""
    num_moves = len(actions)
    return GameRecord(
        game="tic_tac_toe",
        network_version=0,
        name=GameName(1, 0, 0),
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
    from alphago.players.loading import find_network, make_network_player

    found = find_network(run, step=None)
    player = make_network_player(
        found, game=None, num_simulations=0, precision="fp32", name="", seed=0
    )
    sample = report["samples"][-1]
    stored = stored_records(run)[sample["number"]]
    for number, ply in enumerate(sample["plies"]):
        actions, shares = stored.policy_target(number)
        target = dict(zip(actions.tolist(), shares, strict=True))
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
    files = record_files(run / "records")
    numbers = [each.number for each in spread_records(TIC_TAC_TOE, files, 4)]
    assert numbers == sorted(set(numbers))
    assert numbers[0] < 3
    assert numbers[-1] >= 9
    assert [each.number for each in spread_records(TIC_TAC_TOE, files, 100)] == list(range(12))
    assert len(spread_records(TIC_TAC_TOE, files, 1)) == 1
    assert spread_records(TIC_TAC_TOE, files, 0) == []
    assert spread_records(TIC_TAC_TOE, [], 4) == []


def test_only_games_that_are_shown_are_replayed_and_files_are_read_once(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: object) -> Any:
            asked.append(name)
            return function(*arguments)

        return wrapped

    for name in ("replay", "read_records"):
        monkeypatch.setattr(recorded_games, name, noting(name, getattr(recorded_games, name)))
    files = record_files(run / "records")
    assert len(spread_records(TIC_TAC_TOE, files, 12)) == 12
    assert asked.count("replay") == 12
    assert asked.count("read_records") == len(files)


def test_a_game_that_does_not_replay_gives_way_to_its_neighbour(
    run: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    files = record_files(run / "records")
    (chosen,) = spread_records(TIC_TAC_TOE, files, 1)
    read_records = recorded_games.read_records

    def read_spoilt(path: Path) -> list[GameRecord]:
        spoilt = {"actions": np.zeros_like(chosen.record.actions)}
        return [
            dataclasses.replace(one, **spoilt) if one.name == chosen.record.name else one
            for one in read_records(path)
        ]

    monkeypatch.setattr(recorded_games, "read_records", read_spoilt)
    (other,) = spread_records(TIC_TAC_TOE, files, 1)
    assert other.number != chosen.number
    assert "is left out" in caplog.text


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
