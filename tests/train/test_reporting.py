"""What a run tells: every documented tag, steps that rise, messages and a log that can be read."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing import plugin_event_accumulator
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import train.metrics
from selfplay.pool import InlinePool
from selfplay.reports import ActorMemory, PlayReport
from tests.train.tiny import FakeProgress, log_lines, tiny_config
from tests.train.tiny import train as train_in
from train import session as session_module
from train.session import Session

README = Path(train.metrics.__file__).with_name("README.md")
EVERYTHING = {"tensors": 0, "images": 0, "scalars": 0}


class MeasuredPool(InlinePool):
    """A pool whose actors claim to have 3 MiB and 5 MiB in turn."""

    size = 3

    def collect(self, timeout_s: float) -> list[PlayReport]:
        self.size = 8 - self.size
        memory = ActorMemory(self.size * 2**20, 2**20, 2**19)
        return [report._replace(memory=memory) for report in super().collect(timeout_s)]


def read(folder: Path) -> EventAccumulator:
    return EventAccumulator(str(folder / "tensorboard"), size_guidance=EVERYTHING).Reload()


def tags(folder: Path) -> set[str]:
    found = read(folder).Tags()
    texts = {tag.removesuffix("/text_summary") for tag in found["tensors"]}
    return set(found["scalars"]) | set(found["images"]) | texts


def all_steps(folder: Path) -> dict[str, list[int]]:
    """Returns the steps of every tag, of numbers, texts and pictures, as TensorBoard reads them."""
    events = plugin_event_accumulator.EventAccumulator(
        str(folder / "tensorboard"), size_guidance=EVERYTHING
    ).Reload()
    found = events.Tags()["tensors"]
    return {tag: [event.step for event in events.Tensors(tag)] for tag in found}


def assert_rising(folder: Path) -> dict[str, list[int]]:
    steps = all_steps(folder)
    assert steps
    for tag, each in steps.items():
        assert all(one < other for one, other in zip(each[:-1], each[1:], strict=True)), tag
    return steps


def test_a_run_writes_every_documented_tag_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        session_module,
        "make_pool",
        lambda setup, *, sitting, **rest: MeasuredPool(setup, actor=sitting),
    )
    file = tmp_path / "suite.json"
    positions = [{"moves": "0 3 1 4", "best": ["2"]}]
    file.write_text(json.dumps({"positions": positions}), encoding="utf-8")
    changes = {
        "suite.file": str(file),
        "suite.every_minutes": 1e-9,
        "yardstick.player": "random",
    }
    progress = FakeProgress()
    train_in(tmp_path / "run", tiny_config(changes, games=24), progress=progress)
    rows = re.findall(r"^\| `([a-z]+/[a-z0-9_]+)` \|", README.read_text(encoding="utf-8"), re.M)
    rows = [row for row in rows if not row.startswith("elo/")]  # of `alphago rate`
    rows = [row for row in rows if not re.search("ownership|score_loss|loss/score", row)]  # of Go
    assert tags(tmp_path / "run") == set(rows)
    assert len(rows) > 30
    assert_rising(tmp_path / "run")
    last = log_lines(tmp_path / "run", "iteration")[-1]
    assert last["memory/largest_actor_mb"] == 5.0
    assert last["memory/actor_trees_mb"] == 1.0
    assert last["memory/actor_caches_mb"] == 0.5
    assert last["memory/replay_mb"] > 0
    assert 0 < last["caps/replay_window"] <= 1
    assert (last["selfplay/actors"], last["selfplay/machines"]) == (1, 1)
    assert set(last) - {"time", "event", "step"} == set(rows) - {"games/sample", "games/position"}


def suite_changes(folder: Path) -> dict[str, object]:
    """Returns options with a suite of one position, a win in one, due after each iteration."""
    file = folder / "wins.json"
    positions = [{"moves": "0 3 1 4", "best": ["2"]}]
    file.write_text(json.dumps({"positions": positions}), encoding="utf-8")
    return {"suite.file": str(file), "suite.num_simulations": 60, "suite.every_minutes": 1e-9}


def test_the_curve_of_the_suite_begins_before_learning(tmp_path: Path) -> None:
    progress, folder = FakeProgress(), tmp_path / "run"
    changes = suite_changes(tmp_path)
    result = train_in(folder, tiny_config(changes, games=12), progress=progress)
    text = (
        r"suite wins before learning: policy \d+\.0 %, search 100\.0 % of 1 positions"
        r" \(60 simulations a move\)"
    )
    assert re.fullmatch(text, progress.messages[0])
    assert progress.phases[:2] == ["suite", "self-play"]
    (line,) = log_lines(folder, "baseline")
    assert (line["step"], line["suite/search"]) == (0, 1.0)
    assert 0 < line["suite/minutes"] < 1
    before = [event.step for event in read(folder).Scalars("suite/search")]
    assert (before[0], before[-1], len(before)) == (0, result.step, 3)
    train_in(folder, tiny_config(changes, games=18), resume=True)
    after = [event.step for event in read(folder).Scalars("suite/search")]
    assert after[:3] == before  # a resumed run has begun already
    assert len(log_lines(folder, "baseline")) == 1


def test_a_target_is_for_what_was_learnt(tmp_path: Path) -> None:
    progress = FakeProgress()
    config = tiny_config(suite_changes(tmp_path), target=0.5, games=600)
    result = train_in(tmp_path / "run", config, progress=progress)
    assert result.stopped_because == "target reached"
    assert 6 <= result.num_games < 12


def test_numbers_of_the_log_are_in_range(tmp_path: Path) -> None:
    progress = FakeProgress()
    config = tiny_config({"evaluator.precision": "int8"}, games=24)
    result = train_in(tmp_path / "run", config, progress=progress)
    text = r"inference: openvino int8; policy KL [0-9.e-]+ nats, value error [0-9.e-]+"
    assert re.fullmatch(text, progress.messages[0])
    lines = log_lines(tmp_path / "run", "iteration")
    assert lines[-1]["step"] == result.step
    assert lines[-1]["selfplay/games"] == result.num_games
    for line in lines:
        for tag in ("draws", "first_player_score", "batch_fill"):
            assert 0 <= line[f"selfplay/{tag}"] <= 1
        assert 5 <= line["selfplay/game_length"] <= 9
        assert line["loss/total"] == pytest.approx(line["loss/policy"] + line["loss/value"])
        assert 0 < line["loss/policy"] < 5
        assert 0 <= line["loss/value"] <= 4
        assert 0 <= line["value/calibration_error"] <= 2
        assert 0 < line["policy/entropy"] <= np.log(9) + 1e-6
        assert line["selfplay/positions_per_s"] > 0
        assert line["replay/samples_per_position"] <= 2.0
        assert line["memory/driver_mb"] > 10
        assert line["inference/bits"] == 8
        assert 0 < line["inference/policy_kl"] < config.evaluator.policy_kl_limit
        assert 0 < line["inference/value_error"] < config.evaluator.value_error_limit
        assert line["optimizer/learning_rate"] == 0.01
    ages = [line["selfplay/weights_age"] for line in lines]
    promoted = [line["gate/promoted"] == 1 for line in lines]
    assert [age == 0 for age in ages] == promoted


def test_steps_rise_without_a_double_after_a_kill(tmp_path: Path) -> None:
    folder, config = tmp_path / "run", tiny_config()
    num_saves = 0

    class KilledSession(Session):
        def save(self) -> None:
            nonlocal num_saves
            num_saves += 1
            if num_saves == 4:  # after the metrics of the third iteration
                raise KeyboardInterrupt
            super().save()

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(session_module, "Session", KilledSession)
        train_in(folder, config)
    before = assert_rising(folder)["loss/total"]
    assert len(before) == 3
    again = train_in(folder, tiny_config(games=40), resume=True)
    after = assert_rising(folder)["loss/total"]
    assert after[:2] == before[:2]
    assert after[-1] == again.step
    sittings = log_lines(folder, "sitting")
    assert [sitting["step"] for sitting in sittings] == [0, before[1]]
    assert [sitting["games"] for sitting in sittings] == [0, 18]  # no game was lost
    assert {sitting["device"] for sitting in sittings} == {"cpu"}
    # What the killed iteration logged for its last step is gone: the resumed run has its own.
    lost = [e for e in log_lines(folder, "iteration") if e["step"] == before[2]][0]
    values = {event.step: event.value for event in read(folder).Scalars("time/minutes")}
    assert values.get(before[2]) != np.float32(lost["time/minutes"])


def test_three_resumes_write_one_line_of_curves(tmp_path: Path) -> None:
    for number in range(4):
        games = 12 * (number + 1)
        result = train_in(tmp_path / "run", tiny_config(games=games), resume=number > 0)
    steps = assert_rising(tmp_path / "run")["loss/total"]
    assert steps[-1] == result.step
    assert len(steps) == len(log_lines(tmp_path / "run", "iteration"))


def test_an_iteration_without_a_step_goes_to_the_log_alone(tmp_path: Path) -> None:
    config = tiny_config({"train.batch_size": 500}, games=12)
    train_in(tmp_path / "run", config)
    lines = log_lines(tmp_path / "run", "iteration")
    assert [line["step"] for line in lines] == [0, 0]
    assert "loss/total" not in lines[0]
    assert tags(tmp_path / "run") == set()


def test_the_terminal_is_told_what_happens(tmp_path: Path) -> None:
    progress = FakeProgress()
    result = train_in(tmp_path / "run", tiny_config(games=12), progress=progress)
    cycle = ["self-play", "learning", "gate"]
    assert progress.phases == cycle * 2
    numbers = progress.numbers
    assert numbers["games"] == result.num_games
    assert numbers["iteration"] == 2
    assert numbers["iteration_games_total"] == 6
    assert numbers["window"] <= numbers["positions"]
    assert numbers["fraction"] == 1.0
    assert numbers["positions_per_s"] > 0
    assert numbers["evaluations_per_s"] > 0
    gates = [message for message in progress.messages if message.startswith("gate at step")]
    assert len(gates) == 2
    score = r"gate at step \d+: \d+\.\d % \(\d won, \d drawn, \d lost; \d distinct games\), "
    assert all(re.match(score + "(promoted|rejected)", message) for message in gates)
