import time

import numpy as np
import pytest

from alphago.games import make_game
from alphago.players.transposition_table import Bound, Entry, TranspositionTable

GAME = make_game("tic_tac_toe")
STATES = GAME.step(GAME.initial_states(9), range(9))
EXACT = Entry(depth=3, score=10, bound=Bound.EXACT, is_proven=False, best_child=0)


def state(row):
    return STATES[row : row + 1]


def test_positions_are_known_by_their_bytes():
    table = TranspositionTable(STATES.dtype.itemsize)
    table.put(state(4), EXACT)
    assert table.get(state(4).copy()) == EXACT
    assert table.get(state(3)) is None
    table.put(state(4), EXACT._replace(depth=5))
    assert table.get(state(4)).depth == 5
    assert len(table) == 1


def test_the_oldest_entry_makes_room():
    table = TranspositionTable(STATES.dtype.itemsize, max_bytes=1000)
    room = 1000 // (STATES.dtype.itemsize + 300)
    for row in range(9):
        table.put(state(row), EXACT)
        assert len(table) <= room
    assert [row for row in range(9) if table.get(state(row))] == list(range(9 - room, 9))


def test_an_entry_that_is_put_again_is_no_longer_the_oldest():
    table = TranspositionTable(STATES.dtype.itemsize, max_bytes=2 * (STATES.dtype.itemsize + 300))
    for row in (0, 1, 0, 2):
        table.put(state(row), EXACT)
    assert [row for row in range(9) if table.get(state(row))] == [0, 2]


def test_full_tables_of_any_size_take_as_long():
    rows = np.arange(60_000).reshape(-1, 1)

    def seconds_to_put(room):
        table = TranspositionTable(8, max_bytes=room * 308)
        for row in rows[:room]:
            table.put(row, EXACT)
        assert len(table) == room
        start = time.process_time()
        for row in rows[room : room + 10_000]:
            table.put(row, EXACT)
        return time.process_time() - start

    small, large = (min(seconds_to_put(room) for _ in range(3)) for room in (2_000, 50_000))
    assert large < 4 * small  # 25 times as large


def test_a_table_without_room_stays_empty():
    table = TranspositionTable(STATES.dtype.itemsize, max_bytes=0)
    table.put(state(0), EXACT)
    assert len(table) == 0


@pytest.mark.parametrize(
    ("bound", "window", "settled"),
    [
        (Bound.EXACT, (0, 5), True),
        (Bound.AT_LEAST, (0, 10), True),
        (Bound.AT_LEAST, (0, 11), False),
        (Bound.AT_MOST, (10, 20), True),
        (Bound.AT_MOST, (9, 20), False),
    ],
)
def test_a_bound_settles_a_window_beyond_it(bound, window, settled):
    entry = EXACT._replace(bound=bound)
    assert entry.settles(depth=3, alpha=window[0], beta=window[1]) is settled


@pytest.mark.parametrize(
    ("depth", "is_proven", "settled"),
    [(3, False, True), (2, False, False), (4, False, False), (4, True, True), (2, True, False)],
)
def test_an_entry_settles_its_own_depth_and_a_proven_one_larger_ones(depth, is_proven, settled):
    entry = EXACT._replace(is_proven=is_proven)
    assert entry.settles(depth=depth, alpha=0, beta=20) is settled
