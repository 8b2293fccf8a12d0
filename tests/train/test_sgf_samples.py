"""Self-play games as SGF: rules, result and what the search said of each move; few files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import CheckpointError
from alphago.games import game_text
from alphago.games.go import RULE_SETS, Go
from alphago.games.go.drawing import format_result
from alphago.protocols.sgf import read_sgf, write_sgf
from alphago.protocols.sgf_games import go_of_sgf, replay_sgf
from selfplay.records import GameRecord
from tests.reference.game_records import make_record, random_records
from tests.train.tiny import tiny_config
from tests.train.tiny import train as train_in
from train import sgf_samples
from train.sgf_samples import sgf_of_record, write_samples

GAME = Go(height=5, width=5, rules=replace(RULE_SETS["tromp_taylor"], komi=3.0))


def searched(record: GameRecord) -> GameRecord:
    """Gives the second move of a record a search whose answer is known."""
    return replace(
        record,
        target_actions=np.array([3, 12, 25], np.int16),
        target_shares=np.array([0.25, 0.7, 0.05], np.float32),
        target_offsets=np.array([0, 0, *[3] * (len(record.actions) - 1)], np.int32),
        root_values=np.array([0, -0.5, *[0] * (len(record.actions) - 2)], np.float32),
    )


def test_comments_tell_value_and_policy_of_the_player_who_moves() -> None:
    record = searched(make_record(GAME, [12, 11, 25, 25]))
    sgf = sgf_of_record(GAME, record)
    comments = [node.comment for node in sgf.nodes[1:]]
    assert comments[1] == "value -0.500, wins 25.0 %\npolicy C3 70.0 %, D5 25.0 %, pass 5.0 %"
    assert comments[0] == comments[2] == comments[3] == ""
    assert (sgf.black_name, sgf.white_name) == ("network 7", "network 7")


def test_result_is_the_score_by_colour() -> None:
    # Both alone on the board: nobody's points but the stones', so that komi decides.
    assert sgf_of_record(GAME, make_record(GAME, [12, 11, 25, 25])).result == "W+3"
    assert sgf_of_record(GAME, make_record(GAME, [12, 25, 25])).result == "B+22"
    level = GAME.with_rules(replace(GAME.rules, komi=25.0))
    assert sgf_of_record(level, make_record(level, [12, 25, 25])).result == "0"


def test_files_are_read_back_and_agree_with_the_records(tmp_path: Path) -> None:
    records = random_records(GAME, num_games=12, seed=5)
    for record in records:
        (sgf,) = read_sgf(write_sgf(sgf_of_record(GAME, record)).encode())
        game = go_of_sgf(sgf)
        assert game_text(game.spec) == game_text(GAME.spec)
        assert [move.action for move in sgf.moves] == record.actions.tolist()
        end = replay_sgf(game, sgf).states[-1]
        assert sgf.result == format_result(float(game.score(end)[0]))
        assert {"B": 1.0, "W": -1.0, "0": 0.0}[sgf.result[0]] == record.returns[0]


def test_truncated_game_says_so() -> None:
    game = Go(height=5, width=5, rules=GAME.rules, max_moves=3)
    sgf = sgf_of_record(game, make_record(game, [12, 11, 13]))
    assert "Truncated after 3 moves" in sgf.nodes[0].comment
    assert sgf.result == "W+2"
    whole = sgf_of_record(GAME, make_record(GAME, [12, 25, 25]))
    assert "Truncated" not in whole.nodes[0].comment


def test_few_games_of_an_iteration_and_few_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sgf_samples, "MOST_FILES", 6)
    records = random_records(GAME, num_games=10, seed=5)
    write_samples(tmp_path, GAME, records[:2], end=2)
    (tmp_path / "games" / "000000009.sgf.tmp").touch()  # of a run that was killed
    write_samples(tmp_path, GAME, records, end=12)
    names = sorted(path.name for path in (tmp_path / "games").iterdir())
    assert names == [f"{number:09d}.sgf" for number in (0, 1, 8, 9, 10, 11)]
    (newest,) = read_sgf(tmp_path / "games" / names[-1])
    assert [move.action for move in newest.moves] == records[-1].actions.tolist()
    write_samples(tmp_path, GAME, records, end=22)
    names = sorted(path.name for path in (tmp_path / "games").iterdir())
    assert names == [f"{number:09d}.sgf" for number in (10, 11, 18, 19, 20, 21)]


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "games").touch()
    with pytest.raises(CheckpointError, match="games: cannot be written: File exists"):
        write_samples(tmp_path, GAME, [], end=0)


def test_a_run_of_go_leaves_games_and_one_of_another_game_none(tmp_path: Path) -> None:
    train_in(tmp_path / "go", tiny_config({"game.name": "go_3x3"}, games=6))
    files = sorted((tmp_path / "go" / "games").iterdir())
    assert files
    for path in files:
        (sgf,) = read_sgf(path)
        replay_sgf(go_of_sgf(sgf), sgf)
        assert any("wins" in node.comment for node in sgf.nodes)
    train_in(tmp_path / "other", tiny_config({}, games=6))
    assert not (tmp_path / "other" / "games").exists()
