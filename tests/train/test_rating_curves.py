"""The curves of the ratings: written anew each time, and never running backwards."""

import itertools
import re
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout

from alphago.errors import CheckpointError
from train.metrics import MetricsWriter, RatedCheckpoint, write_rating_curves

README = Path(__file__).parents[2] / "train" / "README.md"


def rated(*elos: float, fallen: int | None = None) -> list[RatedCheckpoint]:
    return [
        RatedCheckpoint(
            step=100 * number,
            games=500 * number,
            minutes=1.7 * number,
            elo=elo,
            low=elo - 50,
            high=elo + 60,
            has_fallen=number == fallen,
        )
        for number, elo in enumerate(elos)
    ]


def points(board: EventAccumulator, tag: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in board.Scalars(tag)]


def test_curves_over_steps_games_and_seconds_with_their_intervals(tmp_path: Path) -> None:
    write_rating_curves(tmp_path, rated(0, 400, 300, fallen=2))
    board = EventAccumulator(str(tmp_path / "tensorboard" / "ratings")).Reload()
    assert points(board, "elo/steps") == [(0, 0), (100, 400), (200, 300)]
    assert points(board, "elo/steps_low") == [(0, -50), (100, 350), (200, 250)]
    assert points(board, "elo/games_high") == [(0, 60), (500, 460), (1000, 360)]
    assert points(board, "elo/seconds") == [(0, 0), (102, 400), (204, 300)]
    assert points(board, "elo/alarm") == [(0, 0), (100, 0), (200, 1)]


def test_the_curves_are_those_that_are_documented(tmp_path: Path) -> None:
    write_rating_curves(tmp_path, rated(0, 400))
    board = EventAccumulator(str(tmp_path / "tensorboard" / "ratings")).Reload()
    documented = re.findall(r"^\| `(elo/\w+)` \|", README.read_text(encoding="utf-8"), re.M)
    assert sorted(board.Tags()["scalars"]) == sorted(documented)


def test_a_chart_shows_each_curve_with_its_interval(tmp_path: Path) -> None:
    write_rating_curves(tmp_path, rated(0, 400))
    board = EventAccumulator(str(tmp_path / "tensorboard" / "ratings")).Reload()
    (tensor,) = board.Tensors("custom_scalars__config__")
    layout = Layout.FromString(tensor.tensor_proto.string_val[0])
    (category,) = layout.category
    series = [chart.margin.series[0] for chart in category.chart]
    assert [(one.value, one.lower, one.upper) for one in series] == [
        (f"elo/{axis}", f"elo/{axis}_low", f"elo/{axis}_high")
        for axis in ("steps", "games", "seconds")
    ]


def test_extended_curves_take_the_place_of_the_old_ones(tmp_path: Path) -> None:
    folder = tmp_path / "tensorboard" / "ratings"
    writings = [rated(0, 400), rated(-20, 380, 500), rated(-30, 390, 510, 480)]
    opened = None
    for written in writings:
        write_rating_curves(tmp_path, written)
        opened = opened or EventAccumulator(str(folder))  # a TensorBoard that stays open
        opened.Reload()
        for board in (opened, EventAccumulator(str(folder)).Reload()):
            for tag in board.Tags()["scalars"]:
                steps = [step for step, _ in points(board, tag)]
                assert all(one < other for one, other in itertools.pairwise(steps)), tag
            assert [value for _, value in points(board, "elo/steps")] == [r.elo for r in written]
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("length", [1, 8, 15, 16, 40])
def test_what_a_killed_process_left_of_a_record_does_no_harm(tmp_path: Path, length: int) -> None:
    write_rating_curves(tmp_path, rated(0, 400))
    (path,) = (tmp_path / "tensorboard" / "ratings").iterdir()
    path.write_bytes(path.read_bytes() + path.read_bytes()[:length])
    write_rating_curves(tmp_path, rated(0, 300))
    board = EventAccumulator(str(path.parent)).Reload()
    assert points(board, "elo/steps") == [(0, 0), (100, 300)]


def test_of_two_checkpoints_in_a_second_the_later_is_drawn(tmp_path: Path) -> None:
    quick = [each._replace(minutes=0.004 * each.step / 60) for each in rated(0, 100, 200, 300)]
    write_rating_curves(tmp_path, quick)
    board = EventAccumulator(str(tmp_path / "tensorboard" / "ratings")).Reload()
    assert points(board, "elo/seconds") == [(0, 100), (1, 300)]


def test_the_curves_of_the_run_are_left_alone(tmp_path: Path) -> None:
    metrics = MetricsWriter(tmp_path, first_step=0)
    metrics.scalars(100, {"loss/total": 1.0})
    write_rating_curves(tmp_path, rated(0, 400))
    metrics.scalars(200, {"loss/total": 0.5})
    board = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert points(board, "loss/total") == [(100, 1.0), (200, 0.5)]
    assert not [tag for tag in board.Tags()["scalars"] if tag.startswith("elo/")]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "tensorboard").write_text("a file")
    with pytest.raises(CheckpointError, match="tensorboard/ratings/.*: cannot be written"):
        write_rating_curves(tmp_path, rated(0))
