"""Random games against the referee: legal sets, boards and scores equal at every ply."""

import numpy as np
import pytest

from tests.games.go.lockstep import play_random_games

# The small ones, where games run into superko, more often; tests/slow plays 2,000 games a rule.
SMALL = {(2, 3): 8, (3, 3): 8, (3, 4): 8, (4, 3): 8, (3, 5): 8}
LARGER = {(5, 5): 4, (6, 4): 4, (7, 9): 4}


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
def test_random_games(ko: str) -> None:
    tally = play_random_games(ko, SMALL | LARGER, rng=np.random.default_rng(1))
    assert tally.num_games == 52
    assert tally.num_ko > 50
    if ko != "simple":
        assert tally.num_superko > 30
