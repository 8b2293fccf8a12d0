"""What must hold for every search, whatever the network says."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from alphago.errors import ConfigError, EvaluationError, FinishedGameError, StateError
from alphago.search import run_search
from alphago.types import Evaluation, SearchResult, States
from tests.search.comparison import assert_same_bits, result_rows
from tests.search.evaluators import (
    FixedEvaluator,
    HashEvaluator,
    RecordingEvaluator,
    SpoiledEvaluator,
    UniformEvaluator,
)
from tests.search.positions import (
    EVALUATOR_KINDS,
    GAME_NAMES,
    evaluator_of_kind,
    game_named,
    random_states,
    search_config,
    state_after,
)


@pytest.mark.parametrize("kind", EVALUATOR_KINDS)
@pytest.mark.parametrize("game_name", GAME_NAMES)
@pytest.mark.parametrize("num_simulations", [0, 1, 5, 64])
def test_sums_and_ranges(game_name: str, kind: str, num_simulations: int) -> None:
    """Visits sum to the budget, targets and priors to 1, and nothing leaves its range."""
    game = game_named(game_name)
    states = random_states(game, np.random.default_rng(30), num_states=16)
    evaluator = evaluator_of_kind(kind, game)
    result = run_search(game, evaluator, states, search_config(), num_simulations=num_simulations)
    visited = result.visit_counts > 0
    assert (result.visit_counts.sum(axis=1) == num_simulations).all()
    assert (result.visit_counts >= 0).all()
    assert not result.visit_counts[~game.legal_actions(states)].any()
    for shares in (result.policy_target, result.priors):
        assert (shares >= 0).all()
        assert not shares[~game.legal_actions(states)].any()
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-5)
    assert (np.abs(result.root_values) <= 1).all()
    assert (np.abs(result.action_values) <= 1).all()
    assert not result.action_values[~visited].any()


def test_shapes_and_types() -> None:
    """The arrays are those that `SearchResult` promises."""
    game = game_named("connect_four")
    states = game.initial_states(3)
    result = run_search(game, UniformEvaluator(game), states, search_config(), num_simulations=4)
    shapes = {name: getattr(result, name).shape for name in SearchResult._fields}
    assert shapes == {name: (3, 7) for name in SearchResult._fields} | {"root_values": (3,)}
    types = {name: getattr(result, name).dtype for name in SearchResult._fields}
    assert types == {name: np.float32 for name in SearchResult._fields} | {"visit_counts": np.int32}


@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_no_simulations_give_the_raw_policy(game_name: str) -> None:
    """A budget of 0 is the network alone."""
    game = game_named(game_name)
    states = random_states(game, np.random.default_rng(31), num_states=8)
    evaluator = HashEvaluator(game, spread=2.0)
    result = run_search(game, evaluator, states, search_config(), num_simulations=0)
    logits, values = evaluator.evaluate(states)
    weights = np.where(game.legal_actions(states), np.exp(logits), 0.0)
    np.testing.assert_allclose(
        result.priors, weights / weights.sum(axis=1, keepdims=True), atol=1e-6
    )
    assert result.policy_target.tobytes() == result.priors.tobytes()
    np.testing.assert_allclose(result.root_values, values, atol=1e-7)
    assert not result.visit_counts.any()
    assert not result.action_values.any()


@pytest.mark.parametrize("kind", EVALUATOR_KINDS)
@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_rows_do_not_see_each_other(game_name: str, kind: str) -> None:
    """A batch of 64, each row alone, and the batch in another order: equal in every bit."""
    game = game_named(game_name)
    rng = np.random.default_rng(32)
    states = random_states(game, rng, num_states=64)
    evaluator = evaluator_of_kind(kind, game)
    together = run_search(game, evaluator, states, search_config(), num_simulations=30)
    for row in range(len(states)):
        alone = run_search(
            game, evaluator, states[row : row + 1], search_config(), num_simulations=30
        )
        assert_same_bits(alone, result_rows(together, [row]))
    order = rng.permutation(len(states))
    shuffled = run_search(game, evaluator, states[order], search_config(), num_simulations=30)
    assert_same_bits(shuffled, result_rows(together, order.tolist()))


@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_same_arguments_same_result(game_name: str) -> None:
    """Without noise and with noise from equal generators; no search changes a later one."""
    game = game_named(game_name)
    states = random_states(game, np.random.default_rng(33), num_states=16)
    evaluator = HashEvaluator(game, spread=2.0)
    runs = []
    for _ in range(2):
        plain = run_search(game, evaluator, states, search_config(), num_simulations=40)
        rng = np.random.default_rng(5)
        noisy = run_search(game, evaluator, states, search_config(), num_simulations=40, rng=rng)
        runs.append((plain, noisy))
    assert_same_bits(runs[0][0], runs[1][0])
    assert_same_bits(runs[0][1], runs[1][1])


@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_one_evaluator_call_per_simulation(game_name: str) -> None:
    """One batch for the roots and one for each simulation, none larger than the batch of games."""
    game = game_named(game_name)
    states = random_states(game, np.random.default_rng(34), num_states=16)
    evaluator = RecordingEvaluator(UniformEvaluator(game))
    run_search(game, evaluator, states, search_config(), num_simulations=25)
    assert len(evaluator.batches) <= 26
    assert max(len(batch) for batch in evaluator.batches) <= len(states)


def test_arguments_and_answers_are_left_alone() -> None:
    """States and the evaluator's arrays may be read-only, as arrays from Ray's object store are."""

    class ReadOnlyEvaluator(HashEvaluator):
        def evaluate(self, states: States) -> Evaluation:
            evaluation = super().evaluate(states)
            for array in evaluation:
                array.flags.writeable = False
            return evaluation

    game = game_named("connect_four")
    states = random_states(game, np.random.default_rng(35), num_states=4)
    before = states.tobytes()
    states.flags.writeable = False
    evaluator = ReadOnlyEvaluator(game, spread=1.0)
    run_search(game, evaluator, states, search_config(), num_simulations=20)
    assert states.tobytes() == before


@pytest.mark.parametrize("game_name", ["tic_tac_toe", "connect_four"])
def test_finished_root_is_refused(game_name: str) -> None:
    """One finished game among the rows is enough."""
    game = game_named(game_name)
    won = {"tic_tac_toe": [0, 3, 1, 4, 2], "connect_four": [0, 1, 0, 1, 0, 1, 0]}[game_name]
    states = np.concatenate([state_after(game, won[:-1]), state_after(game, won)])
    with pytest.raises(FinishedGameError):
        run_search(game, UniformEvaluator(game), states, search_config(), num_simulations=8)


def _spoil_logit(number: float) -> SpoiledEvaluator:
    def spoil(evaluation: Evaluation) -> None:
        evaluation.prior_logits[-1, 4] = number

    return SpoiledEvaluator(game_named("tic_tac_toe"), spoil, from_call=0)


def _spoil_value(number: float, *, from_call: int = 0) -> SpoiledEvaluator:
    def spoil(evaluation: Evaluation) -> None:
        evaluation.value[-1] = number

    return SpoiledEvaluator(game_named("tic_tac_toe"), spoil, from_call=from_call)


@pytest.mark.parametrize("logit", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("num_simulations", [0, 8])
def test_logits_of_legal_actions_must_be_finite(logit: float, num_simulations: int) -> None:
    """Not a number and infinities end the search with an error that says so."""
    game = game_named("tic_tac_toe")
    states = game.initial_states(3)
    with pytest.raises(EvaluationError):
        run_search(
            game, _spoil_logit(logit), states, search_config(), num_simulations=num_simulations
        )


def test_what_is_wrong_with_a_network_is_one_line() -> None:
    """Whatever the number of actions; what is said of illegal ones does not count."""
    game = game_named("tic_tac_toe")
    evaluator = FixedEvaluator([np.nan] * 9, 0.5)
    with pytest.raises(EvaluationError) as caught:
        run_search(game, evaluator, state_after(game, [4]), search_config(), num_simulations=1)
    assert str(caught.value) == (
        "FixedEvaluator: got value 0.5 and 8 logits of legal actions that are not finite,"
        " allowed: finite logits and a value in [-1, 1]"
    )


@pytest.mark.parametrize("convert", [torch.from_numpy, np.ndarray.tolist])
def test_answers_that_are_no_arrays_are_refused(convert: Callable[[np.ndarray], object]) -> None:
    """A tensor that was not turned into an array is a stranger's first mistake."""

    class Forgetful(UniformEvaluator):
        def evaluate(self, states: States) -> Evaluation:
            return Evaluation(*map(convert, super().evaluate(states)))

    game = game_named("tic_tac_toe")
    with pytest.raises(EvaluationError, match=r"^Forgetful: got a (Tensor|list), allowed: numpy"):
        run_search(
            game, Forgetful(game), game.initial_states(2), search_config(), num_simulations=3
        )


@pytest.mark.parametrize("num_simulations", [0, 8])
def test_states_of_another_game_or_no_batch_are_refused(num_simulations: int) -> None:
    """Numpy would copy the fields of another game's rows without a word."""
    game, other = game_named("connect_four"), game_named("tic_tac_toe")
    one = game.initial_states(1)
    for states in (other.initial_states(2), one[0], one.reshape(1, 1), np.zeros(2, np.int64)):
        with pytest.raises(StateError, match=r"^connect_four: got states of shape"):
            run_search(
                game,
                UniformEvaluator(game),
                states,
                search_config(),
                num_simulations=num_simulations,
            )


@pytest.mark.parametrize("num_simulations", [-1, 2.5, 100.0, True, None])
def test_a_number_of_simulations_that_is_none_is_refused(num_simulations: object) -> None:
    """By name, before anything is allocated."""
    game = game_named("tic_tac_toe")
    states, uniform = game.initial_states(1), UniformEvaluator(game)
    with pytest.raises(ConfigError, match=r"^num_simulations: got .*, allowed: an integer of"):
        run_search(game, uniform, states, search_config(), num_simulations=num_simulations)


@pytest.mark.parametrize("logit", [np.nan, np.inf, -np.inf, 200.0])
def test_logits_of_illegal_actions_do_not_matter(logit: float) -> None:
    """Cell 4 is taken; whatever is said of it changes nothing."""
    game = game_named("tic_tac_toe")
    states = state_after(game, [4])
    spoiled = run_search(game, _spoil_logit(logit), states, search_config(), num_simulations=20)
    uniform = UniformEvaluator(game)
    plain = run_search(game, uniform, states, search_config(), num_simulations=20)
    assert_same_bits(spoiled, plain)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.001, -1.5])
@pytest.mark.parametrize("from_call", [0, 1, 3])
def test_values_must_be_finite_and_within_bounds(value: float, from_call: int) -> None:
    """At the root as well as at any later leaf."""
    game = game_named("tic_tac_toe")
    states = game.initial_states(3)
    evaluator = _spoil_value(value, from_call=from_call)
    with pytest.raises(EvaluationError):
        run_search(game, evaluator, states, search_config(), num_simulations=5)


@pytest.mark.parametrize(
    ("logits_shape", "values_shape"),
    [((2, 5), (2,)), ((2, 12), (2,)), ((1, 9), (1,)), ((3, 9), (3,)), ((2, 9), (1,))],
)
def test_answers_of_the_wrong_shape_are_refused(
    logits_shape: tuple[int, int], values_shape: tuple[int]
) -> None:
    """A network of another game must not be read past its end, or across its rows."""

    class MisshapenEvaluator:
        def evaluate(self, states: States) -> Evaluation:
            return Evaluation(
                np.zeros(logits_shape, np.float32), np.zeros(values_shape, np.float32)
            )

    game = game_named("tic_tac_toe")
    states = game.initial_states(2)
    with pytest.raises(
        EvaluationError, match="MisshapenEvaluator: got logits and values of shapes"
    ):
        run_search(game, MisshapenEvaluator(), states, search_config(), num_simulations=3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exploration_init", -1.0),
        ("exploration_init", np.nan),
        ("exploration_base", 0.0),
        ("fpu_reduction", -0.1),
        ("root_fpu_reduction", -0.1),
        ("noise_concentration", 0.0),
        ("noise_weight", -0.1),
        ("noise_weight", 1.1),
        ("noise_weight", np.nan),
    ],
)
def test_impossible_constants_are_refused(name: str, value: float) -> None:
    """The error names the setting as it is typed on the command line."""
    with pytest.raises(ConfigError) as caught:
        search_config(**{name: value})
    assert caught.value.key == f"search.{name}"


@pytest.mark.parametrize("value", [-1.0, 1.0])
def test_extreme_values_are_allowed(value: float) -> None:
    """The bounds themselves are values."""
    game = game_named("forced_pass")
    evaluator = FixedEvaluator([0.0] * game.spec.num_actions, value)
    result = run_search(
        game, evaluator, game.initial_states(2), search_config(), num_simulations=50
    )
    assert (np.abs(result.root_values) <= 1).all()
