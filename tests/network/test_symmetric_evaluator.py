"""Answers averaged over the images of a position."""

import numpy as np
import pytest

from alphago.games import make_game
from alphago.games.random_play import random_states
from alphago.games.symmetry import inverse, transform_policies
from alphago.network import NetworkEvaluator, weights_of
from alphago.network.symmetric_evaluator import SymmetricEvaluator
from tests.network.fake_game import make_config, make_evaluator_config, make_trained


@pytest.fixture(params=["tic_tac_toe", "connect_four", "go_5x5", "go_7x7:rules=japanese"])
def network(request):
    game = make_game(request.param)
    config = make_config()
    evaluator = NetworkEvaluator(game, config, make_evaluator_config(precision="fp32"))
    evaluator.load_weights(weights_of(make_trained(game.spec, config, seed=3)))
    return evaluator


def unfinished(game):
    return random_states(game, np.random.default_rng(1), num_rows=20)


def test_with_all_symmetries_images_have_the_images_of_the_answer(network):
    game = network.game
    states, symmetries = unfinished(game), game.spec.symmetries
    mean = SymmetricEvaluator(network, num_symmetries=len(symmetries))
    expected = mean.evaluate(states)
    assert expected.prior_logits.dtype == expected.value.dtype == np.float32
    plain = network.evaluate(states)
    for symmetry in symmetries[1:]:
        images = game.apply_symmetry(states, symmetry)
        logits, values = mean.evaluate(images)
        wanted = transform_policies(expected.prior_logits, symmetry)
        np.testing.assert_allclose(logits, wanted, atol=1e-4)
        np.testing.assert_allclose(values, expected.value, atol=1e-5)
        # The network by itself is not symmetrical.
        assert np.abs(network.evaluate(images).value - plain.value).max() > 1e-3


def test_the_answer_is_the_mean_over_the_images(network):
    game = network.game
    states, symmetries = unfinished(game)[:3], game.spec.symmetries[:2]
    logits, values = SymmetricEvaluator(network, num_symmetries=2).evaluate(states)
    answers = [network.evaluate(game.apply_symmetry(states, each)) for each in symmetries]
    upright = [
        transform_policies(answer.prior_logits, inverse(each))
        for answer, each in zip(answers, symmetries, strict=True)
    ]
    np.testing.assert_allclose(logits, (upright[0] + upright[1]) / 2, atol=1e-4)
    np.testing.assert_allclose(values, (answers[0].value + answers[1].value) / 2, atol=1e-5)


def test_one_image_is_the_network_itself(network):
    states = unfinished(network.game)
    for mine, plain in zip(
        SymmetricEvaluator(network, num_symmetries=1).evaluate(states),
        network.evaluate(states),
        strict=True,
    ):
        np.testing.assert_allclose(mine, plain, atol=1e-6)


def test_other_rules_are_seen_by_as_many_images(network):
    mean = SymmetricEvaluator(network, num_symmetries=2)
    other = mean.for_game(make_game(network.game.spec.name))
    assert (other.num_symmetries, other.game is mean.game) == (2, False)
    states = unfinished(network.game)
    for mine, theirs in zip(other.evaluate(states), mean.evaluate(states), strict=True):
        np.testing.assert_array_equal(mine, theirs)
