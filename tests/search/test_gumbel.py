"""Gumbel's rule: its schedule, its equations by hand, and what holds for every search by it."""

import itertools
import math

import numpy as np
import pytest

from alphago.errors import ConfigError
from alphago.games.game import Game
from alphago.games.notation import replay
from alphago.search import BatchSearch, gumbel_numbers, run_search
from alphago.search.formulas import mixed_value, value_slope
from alphago.search.gumbel import considered_visits
from alphago.types import Evaluation, Evaluator, States
from tests.reference.gumbel import schedule
from tests.search.comparison import assert_same_bits, result_rows
from tests.search.evaluators import FixedEvaluator, HashEvaluator
from tests.search.gumbel_searches import Found, drawn_numbers, gumbel_config, search_by_gumbel
from tests.search.positions import (
    EVALUATOR_KINDS,
    GAME_NAMES,
    evaluator_of_kind,
    game_named,
    random_states,
    run_to_end,
    search_config,
    state_after,
)


def halving_search(
    game: Game,
    evaluator: Evaluator,
    *,
    num_rows: int,
    max_simulations: int,
    num_considered: int = 16,
) -> BatchSearch:
    """Returns a search whose rows may go by Gumbel's rule."""
    return BatchSearch(
        game,
        evaluator,
        search_config(),
        num_rows=num_rows,
        max_simulations=max_simulations,
        gumbel_config=gumbel_config(num_considered=num_considered),
    )


# ----- the schedule


def final_visits(num_considered: int, num_simulations: int) -> list[int]:
    """Returns the visits at the end where the first actions are always the better ones."""
    visits = [0] * num_considered
    for count in considered_visits(num_considered, num_simulations).tolist():
        visits[visits.index(count)] += 1
    return visits


def test_schedules_of_mctx() -> None:
    assert considered_visits(16, 16).tolist() == [0] * 16
    expected = [0] * 16 + [1] * 8 + [2] * 4 + [3] * 4
    assert considered_visits(16, 32).tolist() == expected
    assert considered_visits(4, 2).tolist() == [0, 0]
    assert considered_visits(1, 5).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("num_simulations", "visits"),
    [
        (32, [4] * 4 + [2] * 4 + [1] * 8),
        (50, [12, 12, 5, 5, 2, 2, 2, 2] + [1] * 8),
        (64, [15, 15, 7, 7, 3, 3, 3, 3] + [1] * 8),
        (200, [49, 49, 21, 21, 9, 9, 9, 9] + [3] * 8),
    ],
)
def test_final_visits_of_mctx(num_simulations: int, visits: list[int]) -> None:
    assert final_visits(16, num_simulations) == visits


def test_schedules_are_those_of_a_plain_sequential_halving() -> None:
    for num_considered, num_simulations in itertools.product(range(1, 34), (0, 1, 2, 7, 32, 100)):
        found = considered_visits(num_considered, num_simulations)
        assert found.tolist() == schedule(num_considered, num_simulations)


# ----- by hand


def test_mixed_value() -> None:
    """(0.5 + 4 * (0.2 * 0.1 + 0.3 * -0.4) / (0.2 + 0.3)) / 5 = (0.5 - 0.8) / 5."""
    product_sum = 0.2 * 0.1 + 0.3 * -0.4
    assert mixed_value(0.5, 4, 0.5, product_sum) == pytest.approx(-0.06)
    assert mixed_value(0.5, 0, 0.0, 0.0) == 0.5


def test_value_slope() -> None:
    """(50 + 7) * 0.1 over a range of 0.5; equal values are not torn apart."""
    assert value_slope(0.5, 7, 0.1, 50.0) == pytest.approx(11.4)
    assert value_slope(0.0, 7, 0.1, 50.0) == pytest.approx(5700.0)


def search_three_moves(*, numbers: list[float], num_considered: int, num_simulations: int) -> Found:
    """Searches the position of `test_hand_computed.py`: priors 0.2, 0.5, 0.3 of 6, 7, 8.

    Every position has the value 0.1 for its player to move; 6 wins at once.
    """
    game = game_named("tic_tac_toe")
    return search_by_gumbel(
        game,
        FixedEvaluator([5.0] * 6 + [math.log(prior) for prior in (0.2, 0.5, 0.3)], 0.1),
        state_after(game, [0, 1, 2, 4, 3, 5]),
        gumbel_config(num_considered=num_considered),
        numbers=np.array([[9.0] * 6 + numbers], np.float32),
        num_simulations=num_simulations,
    )


def test_two_simulations_by_hand() -> None:
    """7 and 8 are considered, both -0.1; v_mix = (0.1 + 2 * -0.1) / 3 = -0.0333 is the highest.

    sigma(6) = (50 + 1) * 0.1 = 5.1, the others 0: weights 0.2 e^5.1 = 32.804, 0.5 and 0.3.
    """
    found = search_three_moves(numbers=[0.0, 0.0, 0.0], num_considered=2, num_simulations=2)
    assert found.result.visit_counts[0, 6:].tolist() == [0, 1, 1]
    expected = np.array([0.2 * math.exp(5.1), 0.5, 0.3])
    np.testing.assert_allclose(
        found.policy_targets[0], [0.0] * 6 + (expected / expected.sum()).tolist(), rtol=1e-5
    )
    assert found.actions.tolist() == [7]  # of the two that were visited, equal in value


def test_numbers_decide_what_is_considered_and_what_is_played() -> None:
    """ln 0.3 + 0.6 is above ln 0.5: 8 comes first, and is the better of two equal values."""
    one = search_three_moves(numbers=[0.0, 0.0, 0.6], num_considered=1, num_simulations=1)
    assert one.actions.tolist() == [8]
    two = search_three_moves(numbers=[0.0, 0.0, 0.6], num_considered=2, num_simulations=2)
    assert two.result.visit_counts[0, 6:].tolist() == [0, 1, 1]
    assert two.actions.tolist() == [8]


def test_a_winning_move_is_taken_once_considered() -> None:
    """6 and 7 are considered; sigma(6) - sigma(7) = 5.1 is more than the 1 that 6 has less."""
    found = search_three_moves(numbers=[0.7, 0.8, 0.0], num_considered=2, num_simulations=3)
    assert found.result.visit_counts[0, 6:].tolist() == [2, 1, 0]
    assert found.actions.tolist() == [6]


def test_below_the_root_by_hand() -> None:
    """All simulations go through 7; behind it O has the priors 0.4 of 6 and 0.6 of 8.

    The second takes 8, worth -0.1 for O. v_mix = (0.1 - 0.1) / 2 = 0 is higher: pi'(6) =
    0.4 e^5.1 / (0.4 e^5.1 + 0.6) = 0.99 against 0.01 - 1 / 2, so the third takes 6, worth -0.1 too.
    Nothing is untried then and the values are equal: 0.4 - 1 / 3 against 0.6 - 1 / 3, the fourth
    takes 8. The simulations that take 8 end in 6, X's, and so on: O's visits stay 2 and 1.
    """
    game = game_named("tic_tac_toe")
    evaluator = FixedEvaluator([5.0] * 6 + [math.log(prior) for prior in (0.2, 0.5, 0.3)], 0.1)
    search = halving_search(game, evaluator, num_rows=1, max_simulations=4, num_considered=1)
    rows = np.array([0])
    search.start(rows, state_after(game, [0, 1, 2, 4, 3, 5]), np.array([4]))
    search.run_simulation()
    search.explore_by_halving(rows, np.zeros((1, 9), np.float32))
    seen = []
    for _ in range(4):
        search.run_simulation()
        child = int(search.root_edges(rows).children[0, 7])
        seen.append(search.edges(0, child).visits[0, 6:].tolist())
    assert seen == [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 2]]


# ----- what holds for every search


@pytest.mark.parametrize("kind", EVALUATOR_KINDS)
@pytest.mark.parametrize("game_name", [*GAME_NAMES, "go_3x3"])
def test_sums_and_illegal_actions(game_name: str, kind: str) -> None:
    game = game_named(game_name)
    states = random_states(game, np.random.default_rng(90), num_states=16)
    legal = game.legal_actions(states)
    for num_simulations in (1, 6, 40):
        found = search_by_gumbel(
            game,
            evaluator_of_kind(kind, game),
            states,
            gumbel_config(num_considered=4),
            numbers=drawn_numbers(game, states, seed=num_simulations),
            num_simulations=num_simulations,
        )
        counts = found.result.visit_counts
        assert (counts.sum(axis=1) == num_simulations).all()
        assert not counts[~legal].any()
        assert ((counts > 0).sum(axis=1) <= np.minimum(4, legal.sum(axis=1))).all()
        assert not found.policy_targets[~legal].any()
        assert (found.policy_targets >= 0).all()
        np.testing.assert_allclose(found.policy_targets.sum(axis=1), 1.0, atol=1e-5)
        played = np.take_along_axis(counts, found.actions[:, np.newaxis], axis=1)[:, 0]
        assert (played == counts.max(axis=1)).all()


def test_without_simulations_the_move_is_a_draw_from_the_policy() -> None:
    """The highest number + logit, and the target is the prior."""
    game = game_named("connect_four")
    states = np.repeat(game.initial_states(1), 4000)
    evaluator = HashEvaluator(game, spread=1.0)
    numbers = drawn_numbers(game, states, seed=3)
    found = search_by_gumbel(
        game, evaluator, states, gumbel_config(), numbers=numbers, num_simulations=0
    )
    np.testing.assert_allclose(found.policy_targets, found.result.priors, atol=1e-6)
    shares = np.bincount(found.actions, minlength=7) / len(states)
    np.testing.assert_allclose(shares, found.result.priors[0], atol=0.03)


def test_rows_of_both_rules_do_not_see_each_other() -> None:
    """Gumbel's rows and PUCT's, some with noise, in one batch: equal to each alone, bit for bit."""
    game = game_named("connect_four")
    states = random_states(game, np.random.default_rng(91), num_states=12)
    evaluator = HashEvaluator(game, spread=2.0)
    numbers = drawn_numbers(game, states, seed=4)
    halved, plain = np.arange(0, 12, 2), np.arange(1, 12, 2)
    search = halving_search(game, evaluator, num_rows=12, max_simulations=40, num_considered=5)
    for _ in range(2):  # rows that went by the other rule before
        halved, plain = plain, halved
        search.start(np.arange(12), states, np.full(12, 40))
        search.run_simulation()
        assert search.evaluated_roots().tolist() == list(range(12))
        search.explore_by_halving(halved, numbers[halved])
        run_to_end(search, list(range(12)), max_calls=40)
        assert search.evaluated_roots().size == 0
    expected = run_search(game, evaluator, states[plain], search_config(), num_simulations=40)
    assert_same_bits(search.result(plain), expected)
    improved = search.gumbel_result(halved)
    for k, row in enumerate(halved.tolist()):
        alone = search_by_gumbel(
            game,
            evaluator,
            states[row : row + 1],
            gumbel_config(num_considered=5),
            numbers=numbers[row : row + 1],
            num_simulations=40,
        )
        assert_same_bits(search.result(np.array([row])), result_rows(alone.result, [0]))
        assert alone.policy_targets[0].tobytes() == improved.policy_targets[k].tobytes()
        assert alone.actions[0] == improved.actions[k]


class EvenEvaluator:
    """The same value for player 0 in every position, and equal priors."""

    def __init__(self, game: Game, value: float) -> None:
        self.game = game
        self.value = value

    def evaluate(self, states: States) -> Evaluation:
        logits = np.zeros((len(states), self.game.spec.num_actions), np.float32)
        values = np.where(self.game.to_play(states) == 0, self.value, -self.value)
        return Evaluation(logits, values.astype(np.float32))


@pytest.mark.parametrize("num_simulations", [64, 160, 400])
def test_the_value_is_that_of_the_improved_policy(num_simulations: int) -> None:
    """One move of seven saves the game: halving visits the others as well, and they lose."""
    game = game_named("connect_four")
    states = replay(game, [1, 4, 2, 6, 3])
    found = search_by_gumbel(
        game,
        EvenEvaluator(game, 0.0),
        states,
        gumbel_config(),
        numbers=drawn_numbers(game, states, seed=1),
        num_simulations=num_simulations,
    )
    assert found.actions[0] == 0
    assert found.policy_targets[0, 0] > 0.95
    assert abs(found.values[0]) < 0.06
    assert found.result.root_values[0] < found.values[0]


@pytest.mark.parametrize("num_simulations", [32, 64, 160])
def test_equal_values_are_not_torn_apart_by_rounding(num_simulations: int) -> None:
    """0.3 is no sum of powers of two, so that means of it differ in the last digit."""
    game = game_named("connect_four")
    states = game.initial_states(1)
    found = search_by_gumbel(
        game,
        EvenEvaluator(game, 0.3),
        states,
        gumbel_config(),
        numbers=drawn_numbers(game, states, seed=1),
        num_simulations=num_simulations,
    )
    np.testing.assert_allclose(found.policy_targets[0], 1 / 7, atol=0.01)


def best_value(game: Game, state: States) -> float:
    """Returns the value of a position [1] under best play, of games that alternate."""
    if game.is_over(state)[0]:
        return float(game.returns(state)[0, game.to_play(state)[0]])
    actions = np.flatnonzero(game.legal_actions(state)[0])
    return max(-best_value(game, game.step(state, [action])) for action in actions)


class ExactEvaluator(HashEvaluator):
    """Pseudo-random logits, and the value under best play."""

    def evaluate(self, states: States) -> Evaluation:
        logits = super().evaluate(states).prior_logits
        game = game_named("tic_tac_toe")
        values = [best_value(game, states[row : row + 1]) for row in range(len(states))]
        return Evaluation(logits, np.array(values, np.float32))


def test_the_improved_policy_is_better_than_the_prior() -> None:
    """Where every action was tried once and its value is known, in every position."""
    game = game_named("tic_tac_toe")
    states = random_states(game, np.random.default_rng(92), num_states=40)
    states = states[game.legal_actions(states).sum(axis=1) <= 6]
    evaluator = ExactEvaluator(game, spread=3.0)
    num_better = 0
    for num_legal in range(1, 7):
        some = states[game.legal_actions(states).sum(axis=1) == num_legal]
        if len(some) == 0:
            continue
        found = search_by_gumbel(
            game,
            evaluator,
            some,
            gumbel_config(),
            numbers=drawn_numbers(game, some, seed=5),
            num_simulations=num_legal,
        )
        values = found.result.action_values
        before = (found.result.priors * values).sum(axis=1)
        after = (found.policy_targets * values).sum(axis=1)
        assert (after >= before - 1e-6).all()
        num_better += int((after > before + 0.01).sum())
    assert num_better >= 10


def test_numbers_have_the_mean_and_spread_of_gumbel() -> None:
    """Euler's constant and pi / sqrt(6); none where an action is illegal."""
    legal = np.ones(20_000, np.bool_)
    legal[::2] = False
    numbers = gumbel_numbers(legal, rng=np.random.default_rng(6))
    assert numbers.dtype == np.float32
    assert not numbers[~legal].any()
    assert numbers[legal].mean() == pytest.approx(0.5772, abs=0.05)
    assert numbers[legal].std() == pytest.approx(math.pi / math.sqrt(6), abs=0.05)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_considered", 0),
        ("num_considered", True),
        ("num_considered", math.nan),
        ("value_scale", -0.1),
        ("value_scale", math.nan),
        ("value_scale", 2e6),  # 1e300 times a visit is no number any more
        ("visit_init", math.inf),
        ("visit_init", math.nan),
    ],
)
def test_constants_are_checked(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"^gumbel\.{key}: got {value}, allowed: "):
        gumbel_config(**{key: value})


def test_the_largest_constants_leave_policies_finite() -> None:
    game = game_named("connect_four")
    states = random_states(game, np.random.default_rng(93), num_states=8)
    for evaluator in (FixedEvaluator([0.0] * 7, 0.3), HashEvaluator(game, spread=8.0)):
        found = search_by_gumbel(
            game,
            evaluator,
            states,
            gumbel_config(value_scale=1e6, visit_init=1e6),
            numbers=drawn_numbers(game, states, seed=7),
            num_simulations=40,
        )
        np.testing.assert_allclose(found.policy_targets.sum(axis=1), 1.0, atol=1e-5)
        assert game.legal_actions(states)[np.arange(8), found.actions].all()


def test_a_search_without_the_constants_halves_nothing() -> None:
    """And has no memory for it."""
    game = game_named("tic_tac_toe")
    evaluator = HashEvaluator(game, 1.0)
    search = BatchSearch(game, evaluator, search_config(), num_rows=2, max_simulations=9)
    with_constants = halving_search(game, evaluator, num_rows=2, max_simulations=9)
    assert with_constants.num_bytes - search.num_bytes == 2 * 4 * (9 + 9)
    search.start(np.array([0]), game.initial_states(1), np.array([4]))
    search.run_simulation()
    with pytest.raises(AssertionError, match="without the constants"):
        search.explore_by_halving(np.array([0]), np.zeros((1, 9), np.float32))


def test_a_halving_is_not_prolonged() -> None:
    game = game_named("tic_tac_toe")
    search = halving_search(game, HashEvaluator(game, 1.0), num_rows=1, max_simulations=9)
    rows = np.array([0])
    search.start(rows, game.initial_states(1), np.array([4]))
    search.run_simulation()
    search.explore_by_halving(rows, np.zeros((1, 9), np.float32))
    run_to_end(search, [0], max_calls=4)
    with pytest.raises(AssertionError, match="ends with its budget"):
        search.resume(0, 1)
    assert search.advance(0, int(search.gumbel_result(rows).actions[0]))
    search.resume(0, 3)  # what is kept goes on by PUCT
    run_to_end(search, [0], max_calls=3)
