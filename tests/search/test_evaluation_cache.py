"""`EvaluationCache`: the network's own answers, asked for once."""

import numpy as np
import pytest

from alphago.games.game import Game
from alphago.search.evaluation_cache import NO_KEY, EvaluationCache, observation_key
from alphago.types import Evaluation, States
from tests.search.evaluators import ObservedNetwork
from tests.search.positions import GAME_NAMES, game_named, random_states, state_after


def make_cache(game: Game, num_entries: int = 1000) -> tuple[EvaluationCache, ObservedNetwork]:
    network = ObservedNetwork(game, spread=1.0)
    return EvaluationCache(game, network, num_entries=num_entries), network


def assert_same_answers(answer: Evaluation, game: Game, states: States) -> None:
    expected = ObservedNetwork(game, spread=1.0).evaluate(states)
    for ours, theirs in zip(answer, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("num_entries", [1, 3, 16, 1000])
@pytest.mark.parametrize("game_name", GAME_NAMES)
def test_answers_are_the_networks_whatever_is_known(game_name: str, num_entries: int) -> None:
    """Also where most positions fight for the few entries."""
    game = game_named(game_name)
    rng = np.random.default_rng(70)
    cache, network = make_cache(game, num_entries)
    states = random_states(game, rng, num_states=60)
    num_rows = 0
    for _ in range(30):
        batch = states[rng.integers(0, 60, size=rng.integers(1, 12))]
        assert_same_answers(cache.evaluate(batch), game, batch)
        num_rows += len(batch)
    assert cache.num_hits > 0 or num_entries < 16
    assert cache.num_hits == num_rows - sum(map(len, network.batches))


def test_only_what_is_not_known_is_asked_for() -> None:
    """Row by row in batches of less than 32; in larger ones known rows fill up the last part."""
    game = game_named("tic_tac_toe")
    cache, network = make_cache(game)
    states = np.concatenate([state_after(game, [cell]) for cell in range(9)])
    cache.evaluate(states[:3])
    cache.evaluate(states[[0, 3, 1, 4, 2]])
    cache.evaluate(states[[8, 0, 1, 2, 3, 7, 6, 5, 5]])  # twice, since they come at once
    cache.evaluate(states)
    assert [len(batch) for batch in network.batches] == [3, 2, 5]
    np.testing.assert_array_equal(network.batches[1], game.observe(states[[3, 4]]))
    np.testing.assert_array_equal(network.batches[2][:5], game.observe(states[[8, 7, 6, 5, 5]]))
    assert cache.num_hits == 0 + 3 + 4 + 9


def test_large_batches_are_asked_for_in_sixteenths() -> None:
    game = game_named("connect_four")
    cache, network = make_cache(game)
    states = random_states(game, np.random.default_rng(73), num_states=64)
    cache.evaluate(states[:1])
    planes = game.observe(states)
    num_missing = int((planes != planes[0]).any(axis=(1, 2, 3)).sum())
    cache.evaluate(states)
    answer = cache.evaluate(states)
    assert [len(batch) for batch in network.batches] == [1, 64]
    assert 60 < num_missing < 64  # rounded up to a multiple of 4
    assert_same_answers(answer, game, states)


def test_positions_that_look_alike_are_one() -> None:
    """The same stones by another order of moves; the moves themselves no network sees."""
    game = game_named("tic_tac_toe")
    cache, network = make_cache(game)
    cache.evaluate(state_after(game, [0, 4, 8]))
    cache.evaluate(state_after(game, [8, 4, 0]))
    assert len(network.batches) == 1


def test_a_cleared_cache_knows_nothing() -> None:
    game = game_named("connect_four")
    cache, network = make_cache(game)
    states = random_states(game, np.random.default_rng(71), num_states=10)
    cache.evaluate(states)
    network.spread = 0.5  # another network
    cache.clear()
    expected = ObservedNetwork(game, spread=0.5).evaluate(states)
    np.testing.assert_array_equal(cache.evaluate(states).prior_logits, expected.prior_logits)


def test_answers_in_hand_do_not_change() -> None:
    """The arrays are the caller's own: the pass guard, for one, may write to them."""
    game = game_named("connect_four")
    cache, _ = make_cache(game)
    states = random_states(game, np.random.default_rng(72), num_states=10)
    first = cache.evaluate(states)
    first.prior_logits[:] = 9.0
    assert_same_answers(cache.evaluate(states), game, states)


def test_memory_is_bounded() -> None:
    """A key, a value and seven logits per entry, however many positions come."""
    game = game_named("connect_four")
    cache, _ = make_cache(game, 100)
    assert cache.num_bytes == 100 * (8 + 4 + 7 * 4)
    cache.evaluate(random_states(game, np.random.default_rng(73), num_states=300))
    assert cache.num_bytes == 100 * (8 + 4 + 7 * 4)


def test_keys_by_hand() -> None:
    """The exclusive or of the keys of the cells that are 1; an empty observation has one, too."""
    cell_keys = np.array([1, 6, 12], np.uint64)
    cells = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]], np.uint8)
    keys = [int(observation_key(row, cell_keys)) for row in cells]
    assert keys == [6 ^ 12, 1, 1]
    assert int(NO_KEY) not in keys
