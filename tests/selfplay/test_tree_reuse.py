"""Fast searches that go on with what the last one found."""

import json

import numpy as np
import pytest

from alphago.games import Game
from alphago.search import BatchSearch
from selfplay import play as module
from selfplay.records import check_record
from tests.reference import mcts
from tests.reference.game_records import assert_same_record
from tests.search.comparison import SCORE_ROUNDING
from tests.selfplay.fake_network import CONNECT_FOUR, TTT, make_selfplay
from tests.train.tiny import SEARCH


class WatchedSearch(BatchSearch):
    """Remembers the state and visits of every root that had its result taken, and the budgets."""

    roots: list[tuple[bytes, np.ndarray]]
    budgets: list[int]  # simulations of each search, without what it began with

    def start(self, rows, states, num_simulations):
        self.budgets += num_simulations.tolist()
        super().start(rows, states, num_simulations)

    def resume(self, row, num_simulations):
        self.budgets.append(num_simulations)
        super().resume(row, num_simulations)

    def result(self, rows):
        result = super().result(rows)
        for row, visits in zip(rows, result.visit_counts, strict=True):
            self.roots.append((self._node_states[row, 0].tobytes(), visits.copy()))
        return result


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[WatchedSearch]:
    """Lets self-play use a search that remembers."""
    WatchedSearch.roots, WatchedSearch.budgets = [], []
    monkeypatch.setattr(module, "BatchSearch", WatchedSearch)
    return WatchedSearch


@pytest.mark.parametrize("game", [TTT, CONNECT_FOUR], ids=lambda game: game.spec.name)
def test_fast_searches_keep_what_an_object_tree_would_keep(
    watched: type[WatchedSearch], game: Game
) -> None:
    """The oracle walks down its tree move by move, and fills each root up to 24 simulations."""
    # One game at a time, so that searches come in the order of the moves.
    selfplay = make_selfplay(
        game=game,
        num_games=1,
        tree_reuse=True,
        fast_num_simulations=24,
        full_search_probability=1e-9,
        random_opening_probability=0.0,
    )
    network = selfplay._network
    place, num_compared = 0, 0
    for record in selfplay.play(6).records:
        root, state, is_clear = None, game.initial_states(1), True
        for action in record.actions.tolist():
            if root is None:
                root = mcts.Node(state, game, network)
            while root.visits < 25:
                gap = mcts.simulate(root, game, evaluator=network, config=SEARCH)
                is_clear = is_clear and gap > SCORE_ROUNDING
            searched, visits = watched.roots[place]
            place += 1
            assert searched == state.tobytes()
            if is_clear:
                expected = {a: child.visits for a, child in root.children.items()}
                assert {a: int(visits[a]) for a in np.flatnonzero(visits).tolist()} == expected
                num_compared += 1
            state = game.step(state, [action])
            root = root.children.get(action)
    assert place == len(watched.roots)
    assert num_compared > 15


def test_full_searches_start_afresh_and_simulations_are_counted_once(
    watched: type[WatchedSearch],
) -> None:
    selfplay = make_selfplay(
        game=CONNECT_FOUR,
        num_games=1,
        tree_reuse=True,
        num_simulations=30,
        fast_num_simulations=8,
        full_search_probability=0.4,
        random_opening_probability=0.0,
    )
    report = selfplay.play(10)
    totals = [int(visits.sum()) for _, visits in watched.roots]
    is_full = np.concatenate([record.is_target for record in report.records])
    for full, total in zip(is_full, totals, strict=True):
        assert total == 30 if full else total >= 8
    # After a full search there may be more than enough already.
    assert max(total for full, total in zip(is_full, totals, strict=True) if not full) > 8
    for record in report.records:
        check_record(record)
    # The search that was started last is not over.
    assert report.stats.num_simulations == sum(watched.budgets[:-1]) < sum(totals)
    assert len(watched.budgets) == len(totals) + 1


def test_a_game_does_not_depend_on_the_games_beside_it() -> None:
    changes = {"tree_reuse": True, "fast_num_simulations": 12, "full_search_probability": 0.3}
    alone = make_selfplay(num_games=1, **changes).play(10).records
    beside = make_selfplay(num_games=7, **changes).play(40).records
    by_number = {record.name.number: record for record in beside}
    for record in alone:
        assert_same_record(record, by_number[record.name.number])


def test_a_restored_self_play_goes_on_like_the_one_that_was_kept() -> None:
    changes = {"tree_reuse": True, "fast_num_simulations": 12, "full_search_probability": 0.3}
    kept = make_selfplay(num_games=5, **changes)
    kept.play(7)
    snapshot = json.loads(json.dumps(kept.snapshot(), allow_nan=False))
    restored = make_selfplay(num_games=5, **changes)
    restored.restore(snapshot)
    for num_games in (3, 9):
        first, second = kept.play(num_games), restored.play(num_games)
        for one, other in zip(first.records, second.records, strict=True):
            assert_same_record(one, other)
        assert first.stats[2:] == second.stats[2:]  # but for the times
    assert kept.snapshot() == restored.snapshot()
