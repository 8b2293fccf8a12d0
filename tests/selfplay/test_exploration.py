"""Self-play by Gumbel's rule: targets, moves, and games that seeds decide."""

import json

import numpy as np
import pytest

from alphago.errors import ConfigError
from alphago.search import BatchSearch
from selfplay import play as module
from selfplay.exploration import SMALLEST_SHARE, without_small_shares
from selfplay.play import SelfPlay
from selfplay.records import check_record
from selfplay.reports import NewNetwork
from tests.reference.game_records import assert_same_record
from tests.selfplay.fake_network import CONNECT_FOUR, make_selfplay, weights


def test_small_shares_are_dropped_and_the_rest_sums_to_one() -> None:
    policies = np.array([[0.5, 0.4995, 0.0005], [0.25, 0.75, 0.0]], np.float32)
    expected = [[0.5 / 0.9995, 0.4995 / 0.9995, 0.0], [0.25, 0.75, 0.0]]
    np.testing.assert_allclose(without_small_shares(policies), expected, rtol=1e-6)


def test_a_policy_that_is_small_shares_alone_is_refused() -> None:
    with pytest.raises(AssertionError, match="over a thousand"):
        without_small_shares(np.full((1, 2000), 1 / 2000, np.float32))


def test_another_search_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"^selfplay\.search: got 'uct', allowed: puct or gumbel$"
    ):
        make_selfplay(search="uct")


class WatchedSearch(BatchSearch):
    """Remembers what searches by Gumbel's rule have found, and the budgets of all."""

    moves: list[int]
    policies: list[np.ndarray]
    visits: list[np.ndarray]
    halved: list[int]  # visits of the root when its halving began
    values: list[float]

    def explore_by_halving(self, rows, gumbels):
        self.halved += [self.root_visits(int(row)) for row in rows]
        assert gumbels.any()
        super().explore_by_halving(rows, gumbels)

    def result(self, rows):
        result = super().result(rows)
        self.visits += list(result.visit_counts)
        return result

    def gumbel_result(self, rows):
        found = super().gumbel_result(rows)
        self.moves += found.actions.tolist()
        self.policies += list(found.policy_targets)
        self.values += found.values.tolist()
        return found


def test_full_searches_are_learnt_and_played_as_the_rule_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = WatchedSearch
    watched.moves, watched.policies, watched.visits, watched.halved = [], [], [], []
    watched.values = []
    monkeypatch.setattr(module, "BatchSearch", watched)
    # One game at a time, so that searches come in the order of the moves.
    selfplay = make_selfplay(
        game=CONNECT_FOUR, search="gumbel", num_games=1, random_opening_probability=0.0
    )
    num_full, num_fast = 0, 0
    for record in selfplay.play(8).records:
        check_record(record)
        for ply, action in enumerate(record.actions.tolist()):
            actions, shares = record.policy_target(ply)
            if not record.is_target[ply]:
                assert watched.visits[num_full + num_fast].sum() == 3
                num_fast += 1
                continue
            assert watched.visits[num_full + num_fast].sum() == 6
            assert action == watched.moves[num_full]
            assert record.root_values[ply] == np.float32(watched.values[num_full])
            policy = watched.policies[num_full]
            kept = np.flatnonzero(policy >= SMALLEST_SHARE)
            assert actions.tolist() == kept.tolist()
            np.testing.assert_allclose(shares, policy[kept] / policy[kept].sum(), rtol=1e-5)
            num_full += 1
    assert num_full == len(watched.moves)
    assert num_fast > 10
    assert set(watched.halved) == {1}


@pytest.mark.parametrize("tree_reuse", [False, True])
def test_equal_seeds_play_equal_games_and_a_stop_changes_none(tree_reuse: bool) -> None:
    def make() -> SelfPlay:
        return make_selfplay(search="gumbel", num_games=5, tree_reuse=tree_reuse)

    kept, stopped = make(), make()
    for version in (None, 4, 5):
        first, second = kept.play(7).records, stopped.play(7).records
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same_record(one, other)
        text = json.dumps(stopped.snapshot())
        kept.snapshot()
        stopped = make()
        stopped.restore(json.loads(text))
        if version is not None:
            for selfplay in (kept, stopped):
                selfplay.set_network(NewNetwork(version, weights(1.0)))


def test_a_game_does_not_depend_on_the_games_beside_it() -> None:
    alone = make_selfplay(search="gumbel", num_games=1).play(10).records
    beside = make_selfplay(search="gumbel", num_games=7).play(40).records
    by_number = {record.name.number: record for record in beside}
    for record in alone:
        assert_same_record(record, by_number[record.name.number])
    by_noise = make_selfplay(num_games=1).play(10).records
    assert any(
        one.actions.tolist() != other.actions.tolist()
        for one, other in zip(alone, by_noise, strict=True)
    )
