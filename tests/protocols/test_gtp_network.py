"""The engine with a network of a run, on Go of 5x5."""

from pathlib import Path

import pytest

from alphago.players import make_player
from scripts.main import main
from tests.protocols.gtp_helpers import Gtp
from tests.scripts.tiny_run import TINY


def train(folder: Path, heads: str) -> Path:
    """Makes a run of eight games; returns its folder."""
    options = [word for word in TINY if not word.startswith("game=")]
    words = ["game=go_5x5", *options, f"network.heads={heads}", f"run_dir={folder}"]
    assert main(["train", *words]) == 0
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose network plays boards of one size."""
    return train(tmp_path_factory.mktemp("runs") / "fixed", heads="fixed")


def engine(run: Path, *, seed: int = 1) -> Gtp:
    text = f"{run}:step=latest,simulations=60"
    return Gtp(lambda game: make_player(text, game=game, seed=seed), size=(5, 5))


def test_a_fresh_engine_makes_the_same_moves_with_any_seed(run: Path) -> None:
    games = set()
    for seed in range(5):
        gtp = engine(run, seed=seed)
        games.add(tuple(gtp(f"genmove {color}") for color in "bwbw"))
    assert len(games) == 1


def test_files_are_read_once(run: Path, tmp_path: Path) -> None:
    moved = run.rename(tmp_path / "moved")
    gtp = engine(moved)
    gtp("genmove b")
    moved.rename(run)
    for line in ("komi 0.5", "kata-set-rules japanese", "clear_board"):
        gtp(line)
        assert gtp("genmove b")


def test_boards_of_another_size_are_refused_with_the_reason(run: Path) -> None:
    gtp = engine(run)
    gtp.play("b C3")
    for line in ("boardsize 9", "rectangular_boardsize 5 7"):
        reason = gtp.refusal(line)
        assert reason.startswith("unacceptable size: ") and "go_5x5" in reason
    assert gtp.stones("b") == {"C3"}
    assert gtp("genmove w")


def test_rules_and_komi_may_be_any(run: Path) -> None:
    gtp = engine(run)
    for line in ("komi 0.5", "kata-set-rules tromp-taylor", "fixed_handicap 2", "clear_board"):
        gtp.raw(line)
        assert gtp("genmove b")
    assert gtp.raw("lz-analyze w 1").startswith("=\ninfo move ")


def test_network_of_every_size_plays_them(tmp_path: Path) -> None:
    gtp = engine(train(tmp_path / "pooled", heads="pooled"))
    for line in ("boardsize 9", "rectangular_boardsize 7 5", "boardsize 2"):
        assert gtp(line) == ""
        assert gtp("genmove b")
