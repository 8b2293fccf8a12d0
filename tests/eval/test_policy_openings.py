from collections import Counter

import numpy as np
import pytest

from alphago.errors import ConfigError, EvaluationError
from alphago.games import make_game
from alphago.games.notation import replay
from alphago.types import Evaluation
from eval.policy_openings import policy_openings
from tests.eval.test_matches import network_player
from tests.search.evaluators import HashEvaluator, UniformEvaluator

TIC_TAC_TOE = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")
LOGITS = np.log([0.4, 0.3, 0.1, 0.05, 0.05, 0.04, 0.03, 0.02, 0.01]).astype(np.float32)


class Fixed:
    """Has the same opinion of every position."""

    def __init__(self, logits):
        self.logits = logits

    def evaluate(self, states):
        rows = np.tile(self.logits, (len(states), 1))
        return Evaluation(rows, np.zeros(len(states), np.float32))


def player(evaluator, game=TIC_TAC_TOE):
    return network_player(evaluator, "network", game=game)


def draw(evaluator, *, game=TIC_TAC_TOE, num_pairs, num_plies, seed=0):
    return policy_openings(
        player(evaluator, game), num_pairs=num_pairs, num_plies=num_plies, seed=seed
    )


def positions(game, openings):
    return [replay(game, opening).tobytes() for opening in openings]


@pytest.mark.parametrize(
    ("game", "num_plies", "num_positions"),
    [(CONNECT_FOUR, 2, 49), (CONNECT_FOUR, 3, 238), (TIC_TAC_TOE, 3, 252), (TIC_TAC_TOE, 0, 1)],
)
def test_all_positions_there_are_occur_once(game, num_plies, num_positions):
    openings = draw(
        HashEvaluator(game, 1.0), game=game, num_pairs=num_positions, num_plies=num_plies
    )
    assert len(set(positions(game, openings))) == num_positions
    assert {len(opening) for opening in openings} == {num_plies}
    more = draw(
        HashEvaluator(game, 1.0), game=game, num_pairs=num_positions + 3, num_plies=num_plies
    )
    assert len(more) == num_positions + 3
    counts = Counter(map(tuple, more)).values()
    assert max(counts) - min(counts) <= 1 or num_positions == 1


def test_even_a_policy_that_is_nearly_sure_gives_different_openings():
    logits = np.full(7, -50.0, np.float32)
    logits[3] = 0.0
    openings = draw(Fixed(logits), game=CONNECT_FOUR, num_pairs=200, num_plies=4)
    assert len(set(positions(CONNECT_FOUR, openings))) == 200
    assert openings[0] == [3, 3, 3, 3]
    assert all(opening.count(3) >= 1 for opening in openings[:100])


def test_the_first_is_drawn_by_the_policy_and_the_second_from_the_others():
    num_draws = 3000
    drawn = Counter(
        tuple(opening[0] for opening in draw(Fixed(LOGITS), num_pairs=2, num_plies=1, seed=seed))
        for seed in range(num_draws)
    )
    policy = np.exp(LOGITS.astype(np.float64))
    for one in range(4):
        for other in {0, 1, 2} - {one}:
            expected = policy[one] * policy[other] / (1 - policy[one])
            spread = np.sqrt(expected * (1 - expected) / num_draws)
            assert drawn[one, other] / num_draws == pytest.approx(expected, abs=4 * spread)


def test_lines_to_one_position_add_up():
    # X at a and c with O at b: two orders, each of probability p(a) p(b | not a) p(c | neither).
    num_draws = 3000
    policy = np.exp(LOGITS.astype(np.float64))
    expected = sum(
        policy[a] * policy[1] / (1 - policy[a]) * policy[c] / (1 - policy[a] - policy[1])
        for a, c in ((0, 2), (2, 0))
    )
    target = replay(TIC_TAC_TOE, [0, 1, 2]).tobytes()
    hits = sum(
        positions(TIC_TAC_TOE, draw(Fixed(LOGITS), num_pairs=1, num_plies=3, seed=seed)) == [target]
        for seed in range(num_draws)
    )
    spread = np.sqrt(expected * (1 - expected) / num_draws)
    assert hits / num_draws == pytest.approx(expected, abs=4 * spread)


def test_openings_are_legal_end_no_game_and_are_those_of_the_seed():
    for num_plies in (5, 7, 8):
        openings = draw(HashEvaluator(TIC_TAC_TOE, 1.0), num_pairs=30, num_plies=num_plies)
        states = np.concatenate([replay(TIC_TAC_TOE, opening) for opening in openings])
        assert not TIC_TAC_TOE.is_over(states).any()
    evaluator = UniformEvaluator(CONNECT_FOUR)
    first, same, other = (
        draw(evaluator, game=CONNECT_FOUR, num_pairs=20, num_plies=4, seed=seed)
        for seed in (1, 1, 2)
    )
    assert first == same != other


def test_nonsense_is_refused():
    evaluator = UniformEvaluator(TIC_TAC_TOE)
    with pytest.raises(ConfigError, match="opening_plies: got 9, allowed: fewer: every line"):
        draw(evaluator, num_pairs=4, num_plies=9)
    with pytest.raises(ConfigError, match="opening_plies: got 12, allowed: fewer: every line"):
        draw(evaluator, num_pairs=4, num_plies=12)
    with pytest.raises(ConfigError, match="opening_plies: got -1"):
        draw(evaluator, num_pairs=4, num_plies=-1)
    with pytest.raises(ConfigError, match="num_pairs: got 0"):
        draw(evaluator, num_pairs=0, num_plies=1)
    with pytest.raises(EvaluationError, match="not finite"):
        draw(Fixed(np.full(9, np.nan, np.float32)), num_pairs=4, num_plies=2)
