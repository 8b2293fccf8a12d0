import numpy as np

from selfplay.policy_targets import PolicyTarget, pack, sparse
from selfplay.records import GameName, GameRecord

SHARES = np.array([0.0, 0.25, 0.0, 0.75], np.float32)


def test_only_actions_with_a_share_are_kept() -> None:
    target = sparse(SHARES)
    assert target.actions.tolist() == [1, 3]
    assert target.shares.tolist() == [0.25, 0.75]
    np.testing.assert_array_equal(target.dense(4), SHARES)


def test_a_record_gives_back_the_targets_of_its_moves() -> None:
    sure = PolicyTarget(np.array([2], np.int16), np.ones(1, np.float32))
    record = GameRecord(
        game="tic_tac_toe",
        network_version=0,
        name=GameName(1, 2, 3),
        actions=np.array([3, 0, 2], np.int16),
        root_values=np.zeros(3, np.float32),
        returns=np.zeros(2, np.float32),
        truncated=True,
        **pack([sparse(SHARES), None, sure]),
    )
    assert record.is_target.tolist() == [True, False, True]
    found = [record.policy_target(ply) for ply in range(3)]
    assert [target.actions.tolist() for target in found] == [[1, 3], [], [2]]
    assert [target.shares.tolist() for target in found] == [[0.25, 0.75], [], [1.0]]


def test_a_game_without_targets_has_empty_fields_of_the_right_types() -> None:
    packed = pack([None, None])
    assert {name: (array.dtype.name, array.tolist()) for name, array in packed.items()} == {
        "target_actions": ("int16", []),
        "target_shares": ("float32", []),
        "target_offsets": ("int32", [0, 0, 0]),
        "is_target": ("bool", [False, False]),
    }
