"""The Go rules at length: 6,000 random games, all move sequences counted, all 4x4 boards."""

from typing import Any

import numpy as np
import pytest

from tests.games.go.colorings import count_legal
from tests.games.go.engine import perft_rows
from tests.games.go.lockstep import play_random_games
from tests.games.go.perft import count_levels

pytestmark = pytest.mark.slow

GAMES_BY_SIZE = {
    (3, 3): 400,
    (4, 3): 300,
    (4, 4): 300,
    (3, 5): 240,
    (5, 5): 240,
    (6, 6): 160,
    (5, 7): 120,
    (7, 7): 100,
    (6, 9): 60,
    (8, 8): 40,
    (9, 9): 40,
}


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
def test_two_thousand_random_games(ko: str) -> None:
    tally = play_random_games(ko, GAMES_BY_SIZE, rng=np.random.default_rng(2))
    assert tally.num_games == 2_000
    if ko != "simple":
        assert tally.num_superko > 500


@pytest.mark.parametrize("row", perft_rows(), ids=str)
def test_number_of_move_sequences_of_every_known_length(row: dict[str, Any]) -> None:
    assert count_levels(row, num_levels=len(row["perft"])) == row["perft"]


def test_number_of_legal_positions_on_4x4() -> None:
    assert count_legal(4, 4) == 24_318_165
