"""The yardstick: what is allowed, and what a run shows of it."""

from pathlib import Path

import pytest

from alphago.errors import ConfigError
from alphago.games import make_game
from eval.yardstick import YardstickConfig, check_yardstick
from tests.train.tiny import FakeProgress, log_lines, tiny_config, train


@pytest.mark.parametrize("player", [None, "random", "uct:playouts=3", "alphabeta:depth=2"])
def test_players_that_play_by_themselves_are_allowed(player: str | None) -> None:
    config = YardstickConfig(player=player, num_games=2, opening_plies=0)
    check_yardstick(config, make_game("tic_tac_toe"))


@pytest.mark.parametrize(
    "player",
    [
        "human",
        "gtp:gnugo --mode gtp",
        "runs/demo",  # may be another network tomorrow
        "nobody",
        "uct:playouts=0",
        "uct:depth=3",
        "uct:playouts=3,playouts=4",
        "minimax",  # too many positions
        "",
    ],
)
def test_all_others_are_refused_by_the_name_of_the_option(player: str) -> None:
    config = YardstickConfig(player=player, num_games=2, opening_plies=0)
    with pytest.raises(ConfigError, match=r"yardstick\.player") as caught:
        check_yardstick(config, make_game("connect_four"))
    assert repr(player) in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"), [("num_games", 0), ("num_games", 3), ("opening_plies", -1)]
)
def test_wrong_numbers_are_refused(key: str, value: int) -> None:
    settings = {"player": None, "num_games": 2, "opening_plies": 0, key: value}
    with pytest.raises(ConfigError, match=f"yardstick.{key}"):
        YardstickConfig(**settings)


def test_a_run_shows_and_logs_its_score(tmp_path: Path) -> None:
    changes = {
        "yardstick.player": "random",
        "yardstick.num_games": 6,
        "suite.every_minutes": 1e-9,
        "suite.num_simulations": 200,
    }
    progress = FakeProgress()
    train(tmp_path / "run", tiny_config(changes, games=6), progress=progress)
    assert "yardstick" in progress.phases
    score = log_lines(tmp_path / "run", "iteration")[-1]["yardstick/score"]
    assert score > 0.5  # 200 simulations see every win in two moves, random moves none
    shown = [text for text in progress.messages if text.startswith("yardstick after")]
    assert len(shown) == 1
    assert f"{100 * score:.0f} % of 6 games against random (200 simulations a move)" in shown[0]


def test_equal_runs_score_equally(tmp_path: Path) -> None:
    changes = {
        "yardstick.player": "random",
        "yardstick.num_games": 6,
        "suite.every_minutes": 1e-9,
    }
    for name in ("a", "b"):
        train(tmp_path / name, tiny_config(changes, games=30))
    a, b = (
        [line["yardstick/score"] for line in log_lines(tmp_path / name, "iteration")]
        for name in ("a", "b")
    )
    assert len(set(a)) > 1
    assert a == b


def test_without_a_yardstick_none_is_played(tmp_path: Path) -> None:
    progress = FakeProgress()
    train(tmp_path / "run", tiny_config({"suite.every_minutes": 1e-9}, games=6), progress=progress)
    assert "yardstick" not in progress.phases
