"""TensorBoard and the log, read back as a person's tools would read them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.train.tiny import log_lines
from train import metrics
from train.metrics import MetricsWriter


@pytest.fixture
def writer(tmp_path: Path) -> MetricsWriter:
    return MetricsWriter(tmp_path, first_step=1)


def read(folder: Path) -> EventAccumulator:
    return EventAccumulator(str(folder / "tensorboard")).Reload()


def points(folder: Path, tag: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in read(folder).Scalars(tag)]


def test_numbers_reach_tensorboard_and_the_log_at_once(
    tmp_path: Path, writer: MetricsWriter
) -> None:
    assert writer.scalars(3, {"loss/total": 1.5, "replay/window": 7})
    assert points(tmp_path, "loss/total") == [(3, 1.5)]  # while the run goes on
    assert points(tmp_path, "replay/window") == [(3, 7.0)]
    (line,) = log_lines(tmp_path, "iteration")
    assert (line["step"], line["loss/total"], line["replay/window"]) == (3, 1.5, 7)
    assert line["time"] > 1.6e9


def test_a_tag_has_one_value_per_step(tmp_path: Path, writer: MetricsWriter) -> None:
    assert writer.scalars(3, {"loss/total": 1.5})
    assert not writer.scalars(3, {"loss/total": 2.5})  # an iteration without a step
    assert writer.scalars(4, {"loss/total": 3.5})
    assert points(tmp_path, "loss/total") == [(3, 1.5), (4, 3.5)]
    assert [line["loss/total"] for line in log_lines(tmp_path, "iteration")] == [1.5, 2.5, 3.5]


def test_a_resumed_sitting_replaces_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    killed = MetricsWriter(tmp_path, first_step=1)
    for step in (10, 20, 30, 40):
        killed.scalars(step, {"loss/total": float(step)})
    # No close: the process was killed. The checkpoint was of step 20.
    resumed = MetricsWriter(tmp_path, first_step=21)
    assert not resumed.scalars(20, {"loss/total": -1.0})
    for step in (25, 35, 45):
        resumed.scalars(step, {"loss/total": -step})
    assert points(tmp_path, "loss/total") == [
        (10, 10.0),
        (20, 20.0),
        (25, -25.0),
        (35, -35.0),
        (45, -45.0),
    ]
    steps = [line["step"] for line in log_lines(tmp_path, "iteration")]
    assert steps == [10, 20, 30, 40, 20, 25, 35, 45]  # the log forgets nothing


def test_the_untrained_network_has_step_0_for_itself(tmp_path: Path) -> None:
    writer = MetricsWriter(tmp_path, first_step=0)
    writer.baseline({"suite/policy": 0.25})
    assert not writer.scalars(0, {"suite/policy": 0.5})  # an iteration without a step
    writer.scalars(4, {"suite/policy": 0.75})
    assert points(tmp_path, "suite/policy") == [(0, 0.25), (4, 0.75)]
    (line,) = log_lines(tmp_path, "baseline")
    assert (line["step"], line["suite/policy"]) == (0, 0.25)
    MetricsWriter(tmp_path, first_step=5)  # a resume keeps it
    assert points(tmp_path, "suite/policy") == [(0, 0.25), (4, 0.75)]


def test_text_and_picture_come_back(tmp_path: Path) -> None:
    writer = MetricsWriter(tmp_path, first_step=1)
    pixels = np.zeros((4, 6, 3), np.uint8)
    pixels[:, :, 0] = 255
    writer.text(2, "games/sample", "1 2\n3")
    writer.image(2, "games/position", pixels)
    events = read(tmp_path)
    (text,) = events.Tensors("games/sample/text_summary")
    assert text.tensor_proto.string_val[0] == b"    1 2\n    3"
    (image,) = events.Images("games/position")
    assert (image.step, image.height, image.width) == (2, 4, 6)


def test_a_line_of_the_log_is_whole_before_the_next_begins(tmp_path: Path) -> None:
    writer = MetricsWriter(tmp_path, first_step=1)
    writer.event("sitting", {"step": 0, "what": 'a "quoted" line\nand another'})
    lines = (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["sitting"]


def test_tensorboard_needs_nothing_that_new_setuptools_lack() -> None:
    """Version 82 removed `pkg_resources`; TensorBoard asks for it up to 2.20."""
    program = (
        "import sys; sys.modules['pkg_resources'] = None;"
        " import tensorboard.main; from torch.utils.tensorboard import SummaryWriter"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=False)
    assert done.returncode == 0


def test_a_clock_that_was_set_back_does_not_hide_what_comes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for sitting, seconds in enumerate((2e9, 1.9e9, 1.9e9)):
        with monkeypatch.context() as patch:
            patch.setattr(metrics.time, "time", lambda seconds=seconds: seconds)
            MetricsWriter(tmp_path, first_step=sitting + 1).scalars(sitting + 1, {"loss/total": 1})
    assert [step for step, _ in points(tmp_path, "loss/total")] == [1, 2, 3]
    assert len(list((tmp_path / "tensorboard").iterdir())) == 3
