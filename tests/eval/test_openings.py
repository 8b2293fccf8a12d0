from collections import Counter

import numpy as np
import pytest

from alphago.errors import ConfigError
from alphago.games import make_game
from alphago.games.notation import replay
from eval.openings import paired_openings

TIC_TAC_TOE = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")


def positions(game, openings):
    return [replay(game, opening).tobytes() for opening in openings]


@pytest.mark.parametrize(
    ("game", "num_plies", "num_positions"),
    [
        (CONNECT_FOUR, 1, 7),
        (CONNECT_FOUR, 2, 49),
        (CONNECT_FOUR, 3, 238),
        (TIC_TAC_TOE, 3, 252),
        (TIC_TAC_TOE, 0, 1),
    ],
)
def test_all_positions_there_are_occur_once(game, num_plies, num_positions):
    openings = paired_openings(game, num_pairs=num_positions, num_plies=num_plies, seed=1)
    assert {len(opening) for opening in openings} == {num_plies}
    assert len(set(positions(game, openings))) == num_positions


def test_repeats_are_even_where_the_game_has_too_few():
    openings = paired_openings(CONNECT_FOUR, num_pairs=17, num_plies=1, seed=1)
    assert sorted(Counter(map(tuple, openings)).values()) == [2, 2, 2, 2, 3, 3, 3]


def test_no_opening_ends_the_game():
    for num_plies in (6, 7, 8, 9, 20):
        openings = paired_openings(TIC_TAC_TOE, num_pairs=50, num_plies=num_plies, seed=2)
        states = np.concatenate([replay(TIC_TAC_TOE, opening) for opening in openings])
        assert not TIC_TAC_TOE.is_over(states).any()


def test_seeds_decide():
    first, same, other = (
        paired_openings(CONNECT_FOUR, num_pairs=20, num_plies=4, seed=seed) for seed in (1, 1, 2)
    )
    assert first == same
    assert first != other


def test_nonsense_is_refused():
    with pytest.raises(ConfigError, match="opening_plies: got -1"):
        paired_openings(CONNECT_FOUR, num_pairs=1, num_plies=-1, seed=0)
    with pytest.raises(ConfigError, match="num_pairs: got -1"):
        paired_openings(CONNECT_FOUR, num_pairs=-1, num_plies=1, seed=0)
    assert paired_openings(CONNECT_FOUR, num_pairs=0, num_plies=1, seed=0) == []
