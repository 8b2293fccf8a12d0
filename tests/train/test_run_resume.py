"""Going on with a run that was harmed, or with other options."""

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import CheckpointError
from alphago.network.weights import load_player_network
from alphago.types import Weights
from selfplay.records import read_records, write_records
from tests.train.tiny import (
    FakeProgress,
    log_lines,
    stored_records,
    tiny_config,
    train,
)
from train.checkpoint import newest_checkpoint, save_checkpoint

NEVER, ALWAYS = {"gate.threshold_percent": 101}, {"gate.threshold_percent": 0}


def same(one: Weights, other: Weights) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of three iterations."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    train(folder, tiny_config(NEVER, games=18))
    return folder


@pytest.fixture
def stopped(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, to be harmed and resumed."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def checkpoints(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoints").iterdir())


def test_a_broken_newest_checkpoint_is_named_and_the_one_before_taken(
    stopped: Path, caplog: pytest.LogCaptureFixture
) -> None:
    newest, before = checkpoints(stopped)[-1], checkpoints(stopped)[-2]
    weights = stopped / "checkpoints" / newest / "trainer.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    num_games = len(stored_records(stopped))
    result = train(stopped, tiny_config(NEVER, games=num_games + 1), resume=True)
    assert f"checkpoint {newest} is broken" in caplog.text
    assert log_lines(stopped, "sitting")[-1]["step"] == int(before)
    assert result.num_games > num_games
    found = newest_checkpoint(stopped)
    assert found is not None
    assert found[1].step == result.step


def test_a_broken_checkpoint_does_not_push_a_sound_one_out(stopped: Path) -> None:
    newest = stopped / "checkpoints" / checkpoints(stopped)[-1]
    far = newest.rename(newest.with_name("00009999"))  # a step that is not reached again
    (far / "weights.safetensors").unlink()
    config = tiny_config(NEVER, games=24, keep_checkpoints=1)
    result = train(stopped, config, resume=True)
    found = newest_checkpoint(stopped)
    assert found is not None
    assert found[1].step == result.step > 0
    assert checkpoints(stopped) == ["00000000", f"{result.step:08d}", "broken"]
    assert (far.parent / "broken" / far.name).is_dir()


def test_the_best_network_is_found_after_a_promotion_was_lost(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(folder, tiny_config(NEVER, games=18, keep_checkpoints=2))
    before = newest_checkpoint(folder)
    train(folder, tiny_config(ALWAYS, games=24, keep_checkpoints=2), resume=True)
    newest = folder / "checkpoints" / checkpoints(folder)[-1]
    assert "00000000" not in checkpoints(folder)  # it is not the best any more
    (newest / "best.safetensors").write_bytes(b"")
    result = train(folder, tiny_config(NEVER, games=30, keep_checkpoints=2), resume=True)
    _, best, _ = load_player_network(folder / "checkpoints" / result.best, which="best")
    assert before is not None
    assert same(best, before[1].best_weights)


def test_a_run_without_a_sound_checkpoint_is_refused(stopped: Path) -> None:
    for name in checkpoints(stopped):
        (stopped / "checkpoints" / name / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match="all 4 checkpoints are broken"):
        train(stopped, tiny_config(games=600), resume=True)
    shutil.rmtree(stopped / "checkpoints")
    with pytest.raises(CheckpointError, match="no checkpoint"):
        train(stopped, tiny_config(games=600), resume=True)


@pytest.mark.parametrize("loop", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("which", ["first", "newest", "all"])
def test_a_run_goes_on_without_records_that_were_lost(which: str, loop: str, stopped: Path) -> None:
    files = sorted((stopped / "records").glob("*.npz"))
    lost = {"first": files[:1], "newest": files[-1:], "all": files}[which]
    for path in lost:
        path.unlink()
    kept = {path.name: path.read_bytes() for path in files if path not in lost}
    # The counters allow steps at once, though there may be no position to learn from.
    config = tiny_config({"replay.samples_per_position": 50.0}, games=24, loop=loop)
    result = train(stopped, config, resume=True)
    assert result.step > 0
    assert result.num_games >= 24
    for name, content in kept.items():
        assert (stopped / "records" / name).read_bytes() == content


def test_a_record_with_nan_is_refused_on_resume_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "run"
    train(folder, tiny_config(games=12))
    path = sorted((folder / "records").glob("*.npz"))[-1]
    with np.load(path) as archive:
        columns = dict(archive)
    columns["root_values"][0] = np.nan
    with path.open("wb") as file:
        np.savez_compressed(file, **columns)
    result = train(folder, tiny_config(games=18), resume=True)
    assert result.num_games >= 18
    assert "refused 1 games" in caplog.text


def test_games_that_are_gone_are_counted_in_one_warning(
    stopped: Path, caplog: pytest.LogCaptureFixture
) -> None:
    num_games = len(stored_records(stopped))
    lost = sorted((stopped / "records").glob("*.npz"))[-1]
    num_lost = int(lost.stem.split("-")[1])
    lost.unlink()
    train(stopped, tiny_config(games=num_games), resume=True)
    missing = [r.message for r in caplog.records if "missing" in r.message]
    assert len(missing) == 1
    assert f"{num_lost} of {num_games} games are missing" in missing[0]
    assert str(stopped / "records") in missing[0]


def test_lost_games_keep_their_numbers_and_counters_do_not_fall(stopped: Path) -> None:
    num_games = len(stored_records(stopped))
    for path in sorted((stopped / "records").glob("*.npz"))[-2:]:
        path.unlink()
    result = train(stopped, tiny_config(games=num_games + 6), resume=True)
    assert result.num_games >= num_games + 6
    counts = [line["games"] for line in log_lines(stopped, "sitting")]
    counts += [line["selfplay/games"] for line in log_lines(stopped, "iteration")][-1:]
    assert counts == [0, num_games, result.num_games]


@pytest.mark.parametrize("is_later", [False, True], ids=["in the window", "after the checkpoint"])
def test_stored_games_that_do_not_replay_are_left_out_in_one_warning(
    is_later: bool, stopped: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = sorted((stopped / "records").glob("*.npz"))[-1]
    if is_later:
        newest = stopped / "checkpoints" / checkpoints(stopped)[-1]
        shutil.rmtree(newest)
    records = read_records(path)
    for record in records[:2]:
        record.actions[1] = record.actions[0]  # the cell is taken
    write_records(path, records)
    num_games = len(stored_records(stopped))
    result = train(stopped, tiny_config(games=num_games + 6), resume=True)
    assert result.num_games >= num_games + 6
    (warning,) = [r.message for r in caplog.records if "do not replay" in r.message]
    assert "2 games do not replay" in warning
    assert str(records[0]) in warning
    assert "move 1 is illegal" in warning


# ----- changed options


@pytest.mark.parametrize(
    "changes",
    [
        {"selfplay.num_games": 2},
        {"selfplay.num_games": 9},
        {"selfplay.num_simulations": 2, "selfplay.fast_num_simulations": 9},
        {"replay.window_size": 30},
        {"replay.window_size": 5000},
        {"replay.holdout_fraction": 0.0},
        {"replay.holdout_fraction": 0.5},
        {"train.batch_size": 4},
        {"train.learning_rate": 1e-4, "train.schedule": "cosine"},
        {"gate.mode": "off"},
    ],
    ids=str,
)
def test_a_run_goes_on_with_changed_options(changes: dict[str, object], stopped: Path) -> None:
    num_games = len(stored_records(stopped))
    result = train(stopped, tiny_config(changes, games=num_games + 6), resume=True)
    assert result.num_games >= num_games + 6


def test_changed_options_take_effect(stopped: Path) -> None:
    before = log_lines(stopped, "iteration")[-1]
    assert before["optimizer/learning_rate"] != pytest.approx(1e-4)
    assert before["selfplay/full_budget"] != 9
    changes: dict[str, object] = {"train.learning_rate": 1e-4, "selfplay.num_simulations": 9}
    train(stopped, tiny_config(changes, games=len(stored_records(stopped)) + 6), resume=True)
    after = log_lines(stopped, "iteration")[-1]
    assert after["optimizer/learning_rate"] == pytest.approx(1e-4)
    assert after["selfplay/full_budget"] == 9


def test_another_loop_and_smaller_keep_go_on(stopped: Path) -> None:
    config = tiny_config(NEVER, games=24, loop="asynchronous", keep_checkpoints=1)
    result = train(stopped, config, resume=True)
    assert checkpoints(stopped) == ["00000000", f"{result.step:08d}"]


def test_a_candidate_is_not_judged_a_second_time_after_a_resume(stopped: Path) -> None:
    progress = FakeProgress()
    config = tiny_config({"replay.samples_per_position": 0.01}, games=24)
    train(stopped, config, resume=True, progress=progress)
    assert progress.phases == ["self-play", "learning"]  # nothing new was learnt


def test_another_mode_of_self_play_does_not_use_a_stream_twice(stopped: Path) -> None:
    # What a resumed run finds when its last sitting played with Ray: no unfinished games.
    found = newest_checkpoint(stopped)
    assert found is not None
    state = found[1].state | {"selfplay": None}
    save_checkpoint(stopped, dataclasses.replace(found[1], state=state))
    before = {record.name for record in stored_records(stopped)}
    train(stopped, tiny_config(games=24), resume=True)
    names = [record.name for record in stored_records(stopped)]
    assert len(names) > len(before)
    assert len(set(names)) == len(names)
