"""From visits to probabilities to an action."""

import numpy as np
import pytest

from alphago.errors import ConfigError
from alphago.search.action_choice import choose_actions, visit_probs

TEMPERATURES = [0.0, 1e-6, 1e-4, 0.00099, 0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 100.0]


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_always_a_distribution(temperature: float) -> None:
    """Finite, summing to 1, zero where unvisited, and in the order of the visits (lc0 PR 337)."""
    counts = np.array(
        [
            [10_000, 0, 0, 0],
            [9_999, 1, 0, 0],
            [2_500, 2_500, 2_500, 2_500],
            [1, 1, 0, 1],
            [2_147_483_647, 2_147_483_646, 1, 0],
            [0, 0, 0, 1],
        ],
        dtype=np.int32,
    )
    probs = visit_probs(counts, temperature)
    assert probs.dtype == np.float64
    assert probs.shape == counts.shape
    assert np.isfinite(probs).all()
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-12)
    assert not probs[counts == 0].any()
    assert (np.diff(np.take_along_axis(probs, counts.argsort(axis=1), axis=1)) >= 0).all()


def test_temperature_one_is_the_share_of_visits() -> None:
    """3 : 1 : 0."""
    np.testing.assert_allclose(visit_probs(np.array([[3, 1, 0]]), 1.0), [[0.75, 0.25, 0.0]])


def test_half_the_temperature_squares_the_ratio() -> None:
    """4 : 2 : 1 becomes 16 : 4 : 1, and 2 : sqrt 2 : 1 at twice the temperature."""
    counts = np.array([[4, 2, 1]])
    np.testing.assert_allclose(visit_probs(counts, 0.5), np.array([[16, 4, 1]]) / 21)
    roots = np.sqrt([[4, 2, 1]])
    np.testing.assert_allclose(visit_probs(counts, 2.0), roots / roots.sum())


@pytest.mark.parametrize("temperature", [0.0, 1e-6, 0.00099])
def test_no_temperature_is_uniform_over_the_most_visited(temperature: float) -> None:
    """One most visited action takes all, equal ones share."""
    counts = np.array([[5, 5, 4, 5], [0, 1000, 999, 0]])
    expected = np.array([[1 / 3, 1 / 3, 0, 1 / 3], [0, 1, 0, 0]])
    np.testing.assert_allclose(visit_probs(counts, temperature), expected, atol=1e-15)


@pytest.mark.parametrize("temperature", [np.inf, -np.inf, np.nan, -1e-9, -1.0])
def test_a_temperature_that_is_none_is_refused(temperature: float) -> None:
    """An infinite one would give actions without visits, illegal ones too, a share."""
    with pytest.raises(ConfigError, match="^temperature: got .*at least 0$"):
        visit_probs(np.array([[3, 1, 0]]), temperature)


def test_counts_are_left_alone() -> None:
    """The argument may be read-only."""
    counts = np.array([[3, 2, 1]], dtype=np.int32)
    counts.flags.writeable = False
    visit_probs(counts, 0.5)
    assert counts.tolist() == [[3, 2, 1]]


@pytest.mark.parametrize("temperature", [0.0, 0.1, 1.0])
def test_equal_counts_are_chosen_equally_often(temperature: float) -> None:
    """Five equal counts: each within 15 to 25 % of 1,000 draws."""
    counts = np.tile(np.array([0, 20, 20, 0, 20, 20, 20, 3]), (1000, 1))
    actions = choose_actions(visit_probs(counts, temperature), np.random.default_rng(70))
    shares = np.bincount(actions, minlength=8) / 1000
    limits = (0.15, 0.25)
    assert ((shares[[1, 2, 4, 5, 6]] > limits[0]) & (shares[[1, 2, 4, 5, 6]] < limits[1])).all()
    assert not shares[[0, 3]].any()


def test_frequencies_follow_the_probabilities() -> None:
    """20,000 draws from 0.5, 0, 0.3, 0.2: within four standard deviations."""
    probs = np.tile([0.5, 0.0, 0.3, 0.2], (20_000, 1))
    actions = choose_actions(probs, np.random.default_rng(71))
    assert actions.dtype == np.int64
    assert actions.shape == (20_000,)
    shares = np.bincount(actions, minlength=4) / 20_000
    deviations = np.sqrt(probs[0] * (1 - probs[0]) / 20_000)
    assert (np.abs(shares - probs[0]) <= 4 * deviations).all()


def test_impossible_actions_are_never_chosen() -> None:
    """Zeros at the front, at the end and in rows whose sum is rounded stay unchosen."""
    rng = np.random.default_rng(72)
    probs = rng.random((5000, 9)) * (rng.random((5000, 9)) < 0.4)
    probs[:, 3] += 1e-9
    probs[:, -1] = 0.0
    probs /= probs.sum(axis=1, keepdims=True)
    for _ in range(4):
        actions = choose_actions(probs, rng)
        assert (probs[np.arange(5000), actions] > 0).all()


def test_choice_at_the_ends_of_the_unit_interval() -> None:
    """A generator that returns 0 or the number just below 1 still gives a possible action."""

    class EdgeGenerator(np.random.Generator):
        def __init__(self, number: float) -> None:
            super().__init__(np.random.PCG64(0))
            self.number = number

        def random(self, size=None, dtype=np.float64, out=None):
            return np.full(size if size is not None else (), self.number)

    probs = visit_probs(np.array([[0, 3, 3, 3, 1, 0, 0]]), 1.0)
    for number, allowed in ((0.0, {1}), (np.nextafter(1.0, 0.0), {4})):
        actions = choose_actions(probs, EdgeGenerator(number))
        assert set(actions.tolist()) <= allowed


def test_same_generator_same_actions() -> None:
    """Choices come from the generator alone."""
    probs = np.full((50, 6), 1 / 6)
    first = choose_actions(probs, np.random.default_rng(73))
    assert np.array_equal(first, choose_actions(probs, np.random.default_rng(73)))
    assert not np.array_equal(first, choose_actions(probs, np.random.default_rng(74)))
