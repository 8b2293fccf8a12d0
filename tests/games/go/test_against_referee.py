"""Random games against the referee: legal sets, boards and scores equal at every ply."""

import numpy as np
import pytest

from tests.games.go.lockstep import play_random_games

SMALL = [(2, 3), (3, 3), (3, 4), (4, 3), (3, 5)]  # where games run into superko
LARGER = [(5, 5), (6, 4), (7, 9)]


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
def test_random_games(ko: str) -> None:
    rng = np.random.default_rng(1)
    small = play_random_games(ko, sizes=SMALL, num_games=8, rng=rng)
    larger = play_random_games(ko, sizes=LARGER, num_games=4, rng=rng)
    assert (small.num_games, larger.num_games) == (40, 12)  # tests/slow has 2,000
    assert small.num_ko + larger.num_ko > 50
    if ko != "simple":
        assert small.num_superko > 30
