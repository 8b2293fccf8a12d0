"""`value_for`, the one place where results by player become values of the player to move."""

import numpy as np

from alphago.types import value_for


def test_the_value_is_the_result_of_whoever_is_to_move() -> None:
    returns = np.array([[1, -1], [1, -1], [-1, 1], [0, 0], [0.25, -0.25]], np.float32)
    values = value_for(returns, np.array([0, 1, 1, 1, 1], np.int8))
    assert values.dtype == np.float32
    assert values.tolist() == [1, -1, 1, 0, -0.25]


def test_any_leading_shape_is_kept_and_no_argument_changed() -> None:
    returns = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    to_play = np.array([[0, 1, 0], [1, 1, 0]], np.int8)
    returns.flags.writeable = to_play.flags.writeable = False
    assert value_for(returns, to_play).tolist() == [[0, 3, 4], [7, 9, 10]]
    assert value_for(returns[::-1], to_play[::-1]).tolist() == [[7, 9, 10], [0, 3, 4]]
    assert value_for(returns[:0], to_play[:0]).shape == (0, 3)
    assert value_for(returns[0, 0], np.array(1, np.int8)).item() == 1


def test_a_batch_longer_than_a_player_id_can_count() -> None:
    to_play = np.tile(np.array([0, 1], np.int8), 500)
    returns = np.tile(np.array([[1, -1]], np.float32), (1000, 1))
    assert value_for(returns, to_play).tolist() == [1, -1] * 500
