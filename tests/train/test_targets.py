from dataclasses import replace

import numpy as np
import pytest

from alphago.errors import RecordError
from alphago.games import make_game
from alphago.games.game import Game
from selfplay.records import GameRecord
from tests.games.playthrough import GOLDEN_NAMES
from tests.reference.forced_pass_game import ForcedPassGame
from tests.reference.game_records import make_record, random_records
from train.targets import TrainingRows, replay_faults, rows_from_records

TTT = make_game("tic_tac_toe")
X_WINS = [0, 3, 1, 4, 2]


def slow_rows(game: Game, records: list[GameRecord]) -> TrainingRows:
    """The oracle: one game after the other, one move after the other."""
    observations, policies, values = [], [], []
    for record in records:
        states = game.initial_states(1)
        for ply, action in enumerate(record.actions.tolist()):
            if record.is_target[ply]:
                policy = np.zeros(game.spec.num_actions, np.float32)
                for k in range(record.target_offsets[ply], record.target_offsets[ply + 1]):
                    policy[record.target_actions[k]] = record.target_shares[k]
                observations.append(game.observe(states)[0])
                policies.append(policy)
                values.append(record.returns[game.to_play(states)[0]])
            states = game.step(states, [action])
    return TrainingRows(
        np.array(observations),
        np.array(policies),
        np.array(values, np.float32),
    )


@pytest.mark.parametrize("game", [*map(make_game, GOLDEN_NAMES), ForcedPassGame()])
def test_lockstep_replay_equals_one_game_after_the_other(game: Game) -> None:
    records = random_records(game, num_games=40, seed=3)
    rows = rows_from_records(game, records)
    for got, expected in zip(rows.arrays(), slow_rows(game, records).arrays(), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_a_won_game_by_hand() -> None:
    # X X X    X plays 0, 1, 2 and wins; O answers 3, 4. Every position is learnt from.
    # O O .    The values alternate with the player to move: X, O, X, O, X.
    rows = rows_from_records(TTT, [make_record(TTT, X_WINS)])
    assert rows.value_targets.tolist() == [1, -1, 1, -1, 1]
    np.testing.assert_allclose(rows.policy_targets[1], [0, *[1 / 8] * 8], rtol=1e-6)
    np.testing.assert_array_equal(rows.observations[2, 0], [[1, 0, 0], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(rows.observations[2, 1], [[0, 0, 0], [1, 0, 0], [0, 0, 0]])


def test_the_search_has_its_share_of_the_value() -> None:
    # Both are in the view of the player to move: 0.75 * result + 0.25 * what the search said.
    record = replace(
        make_record(TTT, X_WINS), root_values=np.array([0.4, -0.2, 1.0, 0.0, -1.0], np.float32)
    )
    rows = rows_from_records(TTT, [record], root_value_share=0.25)
    np.testing.assert_allclose(rows.value_targets, [0.85, -0.8, 1.0, -0.75, 0.5], rtol=1e-6)


def slow_searched_value(record: GameRecord, movers: list[int], ply: int, share: float) -> float:
    """The oracle: a sum over all later moves, in the view of the player to move at `ply`."""
    value, left = 0.0, 1.0
    for later in range(ply, len(movers)):
        sign = 1 if movers[later] == movers[ply] else -1
        value += left * share * sign * float(record.root_values[later])
        left *= 1 - share
    return value + left * float(record.returns[movers[ply]])


@pytest.mark.parametrize("horizon", [1.0, 1.25, 5.0, 1e6])
@pytest.mark.parametrize("game", [*map(make_game, GOLDEN_NAMES), ForcedPassGame()])
def test_searched_values_equal_a_slow_sum(game: Game, horizon: float) -> None:
    rng = np.random.default_rng(5)
    for record in random_records(game, num_games=8, seed=4):
        values = rng.uniform(-1, 1, len(record.actions)).astype(np.float32)
        record = replace(record, root_values=values)
        rows = rows_from_records(game, [record], root_value_share=0.5, root_value_horizon=horizon)
        movers, states = [], game.initial_states(1)
        for action in record.actions.tolist():
            movers.append(int(game.to_play(states)[0]))
            states = game.step(states, [action])
        expected = [
            0.5 * record.returns[movers[ply]]
            + 0.5 * slow_searched_value(record, movers, ply, 1 / horizon)
            for ply in np.flatnonzero(record.is_target).tolist()
        ]
        np.testing.assert_allclose(rows.value_targets, expected, atol=1e-6)


def test_games_of_different_lengths_do_not_see_each_other() -> None:
    records = random_records(TTT, num_games=20, seed=2)
    settings = {"root_value_share": 0.5, "root_value_horizon": 3.0}
    together = rows_from_records(TTT, records, **settings)
    alone = [rows_from_records(TTT, [record], **settings).value_targets for record in records]
    np.testing.assert_array_equal(together.value_targets, np.concatenate(alone))


def test_only_target_positions_become_rows() -> None:
    is_target = [False, True, False, False, True]
    rows = rows_from_records(TTT, [make_record(TTT, X_WINS, is_target=is_target)])
    assert rows.value_targets.tolist() == [-1, 1]


def test_a_truncated_game_counts_as_drawn() -> None:
    rows = rows_from_records(TTT, [make_record(TTT, [0, 3])])
    assert rows.value_targets.tolist() == [0, 0]


def test_no_records_give_no_rows() -> None:
    rows = rows_from_records(TTT, [])
    assert rows.observations.shape == (0, 3, 3, 3)
    assert rows.policy_targets.shape == (0, 9)


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_targets_sum_to_one_and_are_zero_on_illegal_actions(name: str) -> None:
    game = make_game(name)
    for record in random_records(game, num_games=25, seed=9):
        rows = rows_from_records(game, [record])
        np.testing.assert_allclose(rows.policy_targets.sum(axis=1), 1, atol=1e-5)
        states = game.initial_states(1)
        row = 0
        for ply, action in enumerate(record.actions):
            if record.is_target[ply]:
                assert (rows.policy_targets[row][~game.legal_actions(states)[0]] == 0).all()
                row += 1
            states = game.step(states, [action])


def changed_shares(value: float) -> GameRecord:
    record = make_record(TTT, X_WINS)
    shares = record.target_shares.copy()
    shares[3] = value
    return replace(record, target_shares=shares)


def with_actions(actions: list[int]) -> GameRecord:
    return replace(make_record(TTT, X_WINS), actions=np.array(actions, np.int16))


def with_target_action(index: int, action: int) -> GameRecord:
    record = make_record(TTT, X_WINS)
    actions = record.target_actions.copy()
    actions[index] = action
    return replace(record, target_actions=actions)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (with_actions([0, 0, 1, 4, 2]), "move 1 is illegal"),
        (with_actions([0, 9, 1, 4, 2]), "move 1 is no action"),
        (with_actions([0, -1, 1, 4, 2]), "move 1 is no action"),
        (with_actions([0, 3, 1, 4, 8]), "is not over after its last move"),
        (replace(make_record(TTT, X_WINS), truncated=True), "is over, but marked truncated"),
        (replace(make_record(TTT, [0, 3]), truncated=False), "is not over after its last move"),
        (replace(make_record(TTT, X_WINS), returns=np.array([-1, 1], np.float32)), "result"),
        (replace(make_record(TTT, X_WINS), returns=np.zeros(2, np.float32)), "result"),
        (with_target_action(9, 0), "target 1 is on an illegal action"),
        (with_target_action(9, 9), "outside 0..8"),
        (with_target_action(9, -1), "outside 0..8"),
        (with_target_action(9, 2), "names an action twice"),
        (changed_shares(0.5), "does not sum to 1"),
        (changed_shares(float("nan")), "not finite"),
        (replace(make_record(TTT, X_WINS), game="go"), "expected a record of tic_tac_toe"),
    ],
)
def test_a_record_that_cannot_be_true_is_refused_by_name(record: GameRecord, message: str) -> None:
    good = random_records(TTT, num_games=3, seed=1, first=5)
    with pytest.raises(RecordError, match=f"game 0 of actor 2.*{message}"):
        rows_from_records(TTT, [*good, record])


def test_faults_of_replay_are_told_for_each_record() -> None:
    sound, cut_short = make_record(TTT, X_WINS), make_record(TTT, X_WINS, number=7)
    cut_short = replace(cut_short, returns=-cut_short.returns)
    assert replay_faults(TTT, [sound, sound]) == [None, None]
    first, fault, last = replay_faults(TTT, [sound, cut_short, sound])
    assert (first, last) == (None, None)
    assert fault is not None
    assert "game 7" in fault
    assert "replays to the result [1.0, -1.0], the record says [-1.0, 1.0]" in fault


def test_a_record_that_goes_on_after_the_end_is_refused() -> None:
    record = make_record(TTT, X_WINS)
    longer = replace(
        record,
        actions=np.append(record.actions, np.int16(8)),
        target_offsets=np.append(record.target_offsets, record.target_offsets[-1]),
        root_values=np.append(record.root_values, np.float32(0)),
        is_target=np.append(record.is_target, False),
    )
    with pytest.raises(RecordError, match="move 5 is illegal"):
        rows_from_records(TTT, [longer])
