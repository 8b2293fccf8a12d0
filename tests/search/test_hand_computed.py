"""Three simulations on tic-tac-toe, worked out with paper and pencil.

    X O X
    X O O      X to move; 6 wins at once, 7 and 8 do not, and no O move on 6, 7 or 8 ends the game.
    . . .

For N = 1, 2, 3, c(N) sqrt(N) = (1.25 + ln((N + 19653) / 19652)) sqrt(N) is 1.250102, 1.767983,
2.165416.
"""

import math

import numpy as np
import pytest

from alphago.games import make_game
from alphago.search import run_search
from alphago.types import SearchResult
from tests.search.evaluators import FixedEvaluator
from tests.search.positions import search_config, state_after

MOVES = [0, 1, 2, 4, 3, 5]
VALUE = 0.1  # of every position, in the view of its player to move


def search(priors: list[float], *, num_simulations: int, root_fpu_reduction: float) -> SearchResult:
    """Searches with priors of actions 6, 7, 8 (where one is taken, the others in proportion)."""
    logits = [5.0] * 6 + [math.log(prior) for prior in priors]
    game = make_game("tic_tac_toe")
    return run_search(
        game,
        FixedEvaluator(logits, VALUE),
        state_after(game, MOVES),
        search_config(root_fpu_reduction=root_fpu_reduction),
        num_simulations=num_simulations,
    )


def assert_result(
    result: SearchResult, *, visits: list[int], action_values: list[float], root_value: float
) -> None:
    """Compares actions 6, 7, 8; the others are illegal."""
    assert result.visit_counts[0].tolist() == [0] * 6 + visits
    np.testing.assert_allclose(result.action_values[0], [0.0] * 6 + action_values, atol=1e-6)
    np.testing.assert_allclose(result.root_values, [root_value], atol=1e-6)
    shares = np.array([0] * 6 + visits) / sum(visits)
    np.testing.assert_allclose(result.policy_target[0], shares, atol=1e-7)


def test_priors_are_the_softmax_over_legal_actions() -> None:
    """The logit 5 of the illegal actions plays no part."""
    result = search([0.2, 0.5, 0.3], num_simulations=1, root_fpu_reduction=0.4)
    np.testing.assert_allclose(result.priors[0], [0.0] * 6 + [0.2, 0.5, 0.3], atol=1e-6)


def test_first_simulation_takes_the_highest_prior() -> None:
    """All score 0.1 + 1.250102 P. O's 0.1 behind 7 is -0.1 for X: the root has (0.1 - 0.1) / 2."""
    result = search([0.2, 0.5, 0.3], num_simulations=1, root_fpu_reduction=0.4)
    assert_result(result, visits=[0, 1, 0], action_values=[0.0, -0.1, 0.0], root_value=0.0)


def test_second_simulation_with_a_reduced_first_play_value() -> None:
    """7 is tried again.

    7: -0.1 + 1.767983 * 0.5 / 2 = 0.341996; the unvisited start at 0 - 0.4 sqrt(0.5) = -0.282843:
    6: -0.282843 + 1.767983 * 0.2 = 0.070754, 8: -0.282843 + 1.767983 * 0.3 = 0.247552. Below 7 it
    is O's turn, priors 0.4 and 0.6 for 6 and 8; X's 0.1 after 8 makes O's mean (0.1 - 0.1) / 2.
    """
    result = search([0.2, 0.5, 0.3], num_simulations=2, root_fpu_reduction=0.4)
    assert_result(result, visits=[0, 2, 0], action_values=[0.0, 0.0, 0.0], root_value=0.1 / 3)


def test_second_simulation_without_reduction() -> None:
    """The unvisited start at 0: 8 scores 1.767983 * 0.3 = 0.530395 against 0.341996 of 7."""
    result = search([0.2, 0.5, 0.3], num_simulations=2, root_fpu_reduction=0.0)
    assert_result(result, visits=[0, 1, 1], action_values=[0.0, -0.1, -0.1], root_value=-0.1 / 3)


@pytest.mark.parametrize("root_fpu_reduction", [0.4, 0.0])
def test_third_simulation(root_fpu_reduction: float) -> None:
    """Either way 7 ends with two visits and 8 with one; the root has (0.1 - 0.1 + 0.1 - 0.1) / 4.

    Reduction 0.4: 7: 0 + 2.165416 * 0.5 / 3 = 0.360903; the unvisited start at 0.033333 - 0.282843,
    6: 0.183574, 8: 0.400115. Without: 7: -0.1 + 2.165416 * 0.5 / 2 = 0.441354,
    8: -0.1 + 2.165416 * 0.3 / 2 = 0.224812, 6: -0.033333 + 2.165416 * 0.2 = 0.399750.
    """
    result = search([0.2, 0.5, 0.3], num_simulations=3, root_fpu_reduction=root_fpu_reduction)
    assert_result(result, visits=[0, 2, 1], action_values=[0.0, 0.0, -0.1], root_value=0.0)


def test_an_action_of_prior_0_is_never_tried() -> None:
    """After 7 and 8, both -0.1, the root is worth -0.033: 6 would be next without any prior."""
    game = make_game("tic_tac_toe")
    for logit, visits in ((-100.0, [1, 1, 1]), (-110.0, [0, 2, 1])):
        result = run_search(
            game,
            FixedEvaluator([5.0] * 6 + [logit, 0.5, 0.0], VALUE),
            state_after(game, MOVES),
            search_config(exploration_init=0.0),
            num_simulations=3,
        )
        assert result.visit_counts[0, 6:].tolist() == visits
        assert (result.priors[0, 6] > 0) == (visits[0] > 0)


def test_tie_and_a_win_behind_it() -> None:
    """Priors 0.3, 0.4, 0.3 without reduction: 7, then 6 (a win), then 6 again.

    Second: 7: -0.1 + 1.767983 * 0.4 / 2 = 0.253597, 6 and 8: 1.767983 * 0.3 = 0.530395, so 6.
    The root then has (0.1 - 0.1 + 1) / 3. Third: 6: 1 + 2.165416 * 0.3 / 2 = 1.324812,
    7: -0.1 + 2.165416 * 0.4 / 2 = 0.333083, 8: 0.333333 + 2.165416 * 0.3 = 0.982958.
    """
    result = search([0.3, 0.4, 0.3], num_simulations=3, root_fpu_reduction=0.0)
    assert_result(result, visits=[2, 1, 0], action_values=[1.0, -0.1, 0.0], root_value=0.5)


@pytest.mark.parametrize("num_simulations", [1, 2, 3])
def test_each_visit_to_a_finished_leaf_counts_its_exact_value(num_simulations: int) -> None:
    """The winning 6 with prior 0.5 is chosen each time: the root has (0.1 + n) / (1 + n).

    Second: 6: 1 + 1.767983 * 0.5 / 2 = 1.441996, 8: 0.55 - 0.282843 + 1.767983 * 0.3 = 0.797552.
    Third: 6: 1 + 2.165416 * 0.5 / 3 = 1.360903, 8: 0.7 - 0.282843 + 2.165416 * 0.3 = 1.066782.
    """
    result = search([0.5, 0.2, 0.3], num_simulations=num_simulations, root_fpu_reduction=0.4)
    root_value = (0.1 + num_simulations) / (1 + num_simulations)
    assert_result(
        result,
        visits=[num_simulations, 0, 0],
        action_values=[1.0, 0.0, 0.0],
        root_value=root_value,
    )


def test_exploration_grows_with_the_visits() -> None:
    """Base 1 gives c(2) = 1.25 + ln 4 = 2.636294, and the second simulation leaves 7 for 8.

    7: -0.1 + 2.636294 * 1.414214 * 0.5 / 2 = 0.832071; 8: -0.282843 + 3.728283 * 0.3 = 0.835642.
    With c(1) = 1.25 + ln 3 = 2.348612 it would be 0.730360 against 0.713589, and 7 again.
    """
    logits = [5.0] * 6 + [math.log(prior) for prior in (0.2, 0.5, 0.3)]
    game = make_game("tic_tac_toe")
    result = run_search(
        game,
        FixedEvaluator(logits, VALUE),
        state_after(game, MOVES),
        search_config(exploration_base=1.0, root_fpu_reduction=0.4),
        num_simulations=2,
    )
    assert result.visit_counts[0].tolist() == [0] * 7 + [1, 1]
