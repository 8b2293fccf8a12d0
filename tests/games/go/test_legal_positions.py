"""Number of legal positions by enumeration: every colouring, judged by the engine's chains."""

import numpy as np
import pytest

from alphago.errors import RulesError
from tests.games.go.colorings import all_colorings, chains_have_liberties, count_legal
from tests.games.go.engine import make_go
from tests.reference.go_referee import Geometry

# Tromp and Farneback, "Combinatorics of Go"; OEIS A094777 for squares. 4x4 is in tests/slow.
NUM_LEGAL = {(1, 1): 1, (1, 2): 5, (1, 3): 15, (1, 4): 41, (2, 2): 57, (2, 3): 489, (3, 3): 12_675}


@pytest.mark.parametrize(("height", "width"), NUM_LEGAL)
def test_number_of_legal_positions(height: int, width: int) -> None:
    assert count_legal(height, width) == NUM_LEGAL[height, width]
    assert count_legal(width, height) == NUM_LEGAL[height, width]


@pytest.mark.parametrize(("height", "width"), [(1, 4), (2, 2), (2, 3), (3, 2)])
def test_set_up_positions_are_judged_alike_and_as_by_the_referee(height: int, width: int) -> None:
    go = make_go(height, width, ko="positional", suicide=False)
    geometry = Geometry(height, width)
    boards = all_colorings(height * width)
    legal = chains_have_liberties(boards.reshape(-1, height, width))
    for board, is_legal in zip(boards, legal, strict=True):
        assert is_legal == geometry.is_legal_board(tuple(board.tolist()))
        stones = [np.flatnonzero(board == player).tolist() for player in (0, 1)]
        if is_legal:
            assert np.array_equal(go.board(go.position(*stones, 0)).reshape(-1), board)
        else:
            with pytest.raises(RulesError):
                go.position(*stones, 0)
