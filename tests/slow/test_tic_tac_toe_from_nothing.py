"""Tic-tac-toe learnt from nothing in three minutes: with 100 simulations it never loses."""

import subprocess
import sys
from pathlib import Path

import pytest

from alphago.games import make_game
from alphago.players import make_player
from tests.reference.exhaustive import losses_against_all_lines

pytestmark = pytest.mark.slow


def test_it_never_loses_against_any_line_of_play(tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ["train", "experiment=tic_tac_toe_3min", f"run_dir={run}"]
    subprocess.run([sys.executable, "-m", "scripts.main", *words], check=True, timeout=300)
    player = make_player(f"{run}:simulations=100")
    for side in (0, 1):
        lost = losses_against_all_lines(player, make_game("tic_tac_toe"), side=side)
        assert lost == [], f"as player {side} it loses {len(lost)} lines, such as {lost[0]}"
