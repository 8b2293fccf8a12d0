"""Symmetries: number, group laws, and board, policy and mask moving together."""

import numpy as np
import pytest

from alphago.games import GAME_NAMES, make_game
from alphago.games.notation import replay
from alphago.games.symmetry import (
    board_symmetries,
    compose,
    inverse,
    is_same,
    mirror_symmetries,
    transform_actions,
    transform_observations,
    transform_policies,
)


@pytest.mark.parametrize(
    ("symmetries", "number"),
    [
        (board_symmetries(3, 3), 8),
        (board_symmetries(2, 4, num_extra_actions=1), 4),
        (mirror_symmetries(6, 7), 2),
    ],
)
def test_symmetries_are_as_many_as_the_board_has_and_all_different(symmetries, number) -> None:
    assert len(symmetries) == number
    assert len({symmetry.cells.tobytes() for symmetry in symmetries}) == number
    assert len({symmetry.name for symmetry in symmetries}) == number
    assert symmetries[0].name == "identity"


@pytest.mark.parametrize("name", GAME_NAMES)
def test_asymmetric_position_has_one_image_for_each_symmetry(name: str) -> None:
    game = make_game(name)
    states = replay(game, [0, 0, 1] if name == "connect_four" else [0, 1])
    images = {game.apply_symmetry(states, s).tobytes() for s in game.spec.symmetries}
    assert len(images) == (2 if name == "connect_four" else 8)


def test_turn_and_mirror_of_a_drawn_board() -> None:
    by_name = {symmetry.name: symmetry for symmetry in board_symmetries(3, 3)}
    board = np.array([list("abc"), list("def"), list("ghi")])
    turned = transform_observations(board, by_name["turn_90"])
    assert ["".join(row) for row in turned] == ["cfi", "beh", "adg"]
    mirrored = transform_observations(board, by_name["mirror"])
    assert ["".join(row) for row in mirrored] == ["cba", "fed", "ihg"]


def test_flat_board_is_not_turned_sideways_and_a_pass_stays() -> None:
    symmetries = board_symmetries(2, 3, num_extra_actions=1)
    assert [s.name for s in symmetries] == ["identity", "turn_180", "mirror", "mirror_turn_180"]
    for symmetry in symmetries:
        assert symmetry.actions[-1] == 6
        assert symmetry.actions[:-1].tolist() == symmetry.cells.tolist()
    assert symmetries[1].cells.tolist() == [5, 4, 3, 2, 1, 0]


def test_inverse_undoes_and_composition_applies_one_after_the_other() -> None:
    planes = np.arange(2 * 9).reshape(2, 3, 3)
    policies = np.arange(10.0)
    symmetries = board_symmetries(3, 3, num_extra_actions=1)
    for first in symmetries:
        moved = transform_observations(planes, first)
        assert np.array_equal(transform_observations(moved, inverse(first)), planes)
        assert is_same(compose(first, inverse(first)), symmetries[0])
        for second in symmetries:
            both = compose(first, second)
            assert np.array_equal(
                transform_observations(planes, both), transform_observations(moved, second)
            )
            assert np.array_equal(
                transform_policies(policies, both),
                transform_policies(transform_policies(policies, first), second),
            )
            assert sum(is_same(both, other) for other in symmetries) == 1


def test_connect_four_mirror_moves_stone_and_target_together() -> None:
    game = make_game("connect_four")
    mirror = game.spec.symmetries[1]
    states = game.step(game.initial_states(1), [game.text_to_action("1")])
    images = game.apply_symmetry(states, mirror)
    assert images["board"][0, 5].tolist() == [-1, -1, -1, -1, -1, -1, 0]
    target = np.zeros(7, np.float32)
    target[game.text_to_action("2")] = 1.0
    assert transform_policies(target, mirror).argmax() == game.text_to_action("6")
    assert transform_actions(np.array([0, 1, 3]), mirror).tolist() == [6, 5, 3]


@pytest.mark.parametrize("name", GAME_NAMES)
def test_policy_mass_goes_where_the_action_goes(name: str) -> None:
    game = make_game(name)
    for symmetry in game.spec.symmetries:
        one_hot = np.eye(game.spec.num_actions)
        images = transform_policies(one_hot, symmetry).argmax(axis=1)
        assert images.tolist() == transform_actions(one_hot.argmax(axis=1), symmetry).tolist()
