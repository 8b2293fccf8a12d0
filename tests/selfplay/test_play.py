"""Self-play: what its records hold."""

import itertools

import numpy as np
import pytest

from alphago.errors import ConfigError
from alphago.games import Game
from alphago.games.notation import replay
from alphago.search import BatchSearch
from selfplay import play as module
from selfplay.game_in_progress import has_sure_winner
from selfplay.records import GameRecord, check_record
from selfplay.reports import NewNetwork
from selfplay.snapshots import game_from_json
from tests.reference.forced_pass_game import ForcedPassGame
from tests.reference.game_records import assert_same_record
from tests.selfplay.fake_network import CONNECT_FOUR, TTT, make_selfplay, weights
from tests.train.tiny import tiny_config
from train.games_to_rows import append_games
from train.replay_buffer import ReplayBuffer
from train.targets import rows_from_records


def target_at(record: GameRecord, ply: int) -> dict[int, float]:
    actions, shares = record.policy_target(ply)
    return dict(zip(actions.tolist(), shares.tolist(), strict=True))


class WatchedSearch(BatchSearch):
    """Remembers the start and the result of every search, and which ones had noise."""

    starts: list[tuple[bytes, int]]  # state, simulations
    noisy: set[int]  # numbers of searches
    results: list[tuple[np.ndarray, float]]  # visit counts [A], root value

    def start(self, rows, states, num_simulations):
        for k in range(len(rows)):
            self.starts.append((states[k].tobytes(), int(num_simulations[k])))
        super().start(rows, states, num_simulations)

    def explore_roots(self, rows, noise):
        np.testing.assert_allclose(noise.sum(axis=1), 1.0, atol=1e-5)
        self.noisy.add(len(self.starts) - 1)  # of one game at a time
        super().explore_roots(rows, noise)

    def result(self, rows):
        result = super().result(rows)
        for visits, value in zip(result.visit_counts, result.root_values, strict=True):
            self.results.append((visits.copy(), float(value)))
        return result


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[WatchedSearch]:
    """Lets self-play use a search that remembers."""
    WatchedSearch.starts, WatchedSearch.results, WatchedSearch.noisy = [], [], set()
    monkeypatch.setattr(module, "BatchSearch", WatchedSearch)
    return WatchedSearch


# ----- what a record holds


def test_records_hold_what_the_searches_found(watched: type[WatchedSearch]) -> None:
    # One game at a time, so that searches come in the order of the moves.
    records = make_selfplay(num_games=1, random_opening_probability=0.5).play(20).records
    num_searches, num_opening_moves, num_fast = 0, 0, 0
    for record in records:
        state = TTT.initial_states(1)
        for ply, action in enumerate(record.actions.tolist()):
            searched, budget = watched.starts[num_searches]
            if searched != state.tobytes():  # a random opening is not searched
                assert ply < 2
                assert not record.is_target[ply]
                assert record.root_values[ply] == 0.0
                num_opening_moves += 1
            else:
                visits, value = watched.results[num_searches]
                is_full = budget == 6
                assert visits.sum() == budget
                assert visits[action] > 0
                assert bool(record.is_target[ply]) == is_full
                assert record.root_values[ply] == np.float32(value)
                assert (num_searches in watched.noisy) == is_full  # noise in full searches only
                num_searches += 1
                if is_full:  # the target is the visits' share, whatever the temperature
                    shares = {a: np.float32(visits[a] / 6) for a in np.flatnonzero(visits).tolist()}
                    assert target_at(record, ply) == shares
                else:
                    num_fast += 1
                    assert budget == 3
                    assert target_at(record, ply) == {}
            state = TTT.step(state, [action])
        assert TTT.is_over(state)[0]
        np.testing.assert_array_equal(TTT.returns(state)[0], record.returns)
    assert num_searches == len(watched.results)
    assert num_opening_moves > 0
    assert 0 < num_fast < num_searches / 2


@pytest.mark.parametrize(
    "game", [TTT, CONNECT_FOUR, ForcedPassGame()], ids=lambda game: game.spec.name
)
def test_records_are_sound_and_replay(game: Game) -> None:
    selfplay = make_selfplay(game=game, num_games=16, random_opening_probability=0.5)
    records = selfplay.play(40).records
    for record in records:
        check_record(record)
        assert record.network_version == 3
        assert not record.truncated
        end = replay(game, record.actions.tolist())
        assert game.is_over(end)[0]
        np.testing.assert_array_equal(game.returns(end)[0], record.returns)
    rows = rows_from_records(game, records)
    assert len(rows.value_targets) == sum(record.is_target.sum() for record in records)
    np.testing.assert_allclose(rows.policy_targets.sum(axis=1), 1.0, atol=1e-5)


def test_targets_have_no_mass_on_illegal_actions_and_lose_no_rare_one() -> None:
    records = make_selfplay(num_simulations=40, full_search_probability=1.0).play(20).records
    for record in records:
        state = TTT.initial_states(1)
        for ply, action in enumerate(record.actions.tolist()):
            legal = TTT.legal_actions(state)[0]
            target = target_at(record, ply)
            assert all(legal[a] for a in target)
            # A single visit of 40 stays in the target.
            visits = np.array(list(target.values())) * 40
            np.testing.assert_allclose(visits, np.round(visits), atol=1e-4)
            state = TTT.step(state, [action])


@pytest.mark.parametrize("game", [TTT, CONNECT_FOUR], ids=lambda game: game.spec.name)
def test_samples_of_real_games_are_legal_under_every_symmetry(game: Game) -> None:
    records = make_selfplay(game=game, num_games=16, full_search_probability=1.0).play(30).records
    buffer = ReplayBuffer(game.spec, tiny_config({"replay.samples_per_position": 20.0}).replay)
    append_games(buffer, game, records)
    rows = buffer.sample(2000, np.random.default_rng(0))
    taken = rows.observations[:, 0] | rows.observations[:, 1]  # [M, H, W], stones of either
    closed = taken.reshape(len(taken), -1) if game is TTT else taken[:, 0]  # row 0 is the top
    assert closed.any()
    assert not rows.policy_targets[closed.astype(bool)].any()
    np.testing.assert_allclose(rows.policy_targets.sum(axis=1), 1.0, atol=1e-5)
    # As many different samples per position as the game has symmetries, at most.
    seen = {(o.tobytes(), p.tobytes()) for o, p in zip(*rows[:2], strict=True)}
    assert len(seen) <= len(game.spec.symmetries) * buffer.num_positions


def test_value_targets_of_real_games_have_the_view_of_the_mover() -> None:
    records = make_selfplay(full_search_probability=1.0, random_opening_probability=0.0)
    decided = [record for record in records.play(20).records if record.returns[0] != 0]
    assert decided
    for record in decided:
        values = rows_from_records(TTT, [record]).value_targets
        # The last mover has won; the players alternate in tic-tac-toe.
        expected = [(-1) ** (len(values) - 1 - ply) for ply in range(len(values))]
        np.testing.assert_array_equal(values, expected)


def test_values_have_the_view_of_the_mover_where_players_do_not_alternate() -> None:
    game = ForcedPassGame()
    selfplay = make_selfplay(game=game, num_simulations=300, full_search_probability=1.0)
    num_same_mover, num_passes = 0, 0
    for record in selfplay.play(30).records:
        movers, states = [], game.initial_states(1)
        for action in record.actions.tolist():
            movers.append(int(game.to_play(states)[0]))
            states = game.step(states, [action])
        expected = record.returns[movers]
        values = rows_from_records(game, [record]).value_targets
        np.testing.assert_array_equal(values, expected[record.is_target])
        # From the last move 300 simulations see to the end: the search agrees with the result.
        assert abs(record.root_values[-1] - expected[-1]) < 0.2
        num_same_mover += sum(one == other for one, other in itertools.pairwise(movers))
        num_passes += int((record.actions == game.spec.pass_action).sum())
    assert num_same_mover > 10
    assert num_passes > 0


def test_temperature_falls_after_the_first_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[tuple[int, float]] = []

    def spy(visit_counts: np.ndarray, temperature: float) -> np.ndarray:
        used.append((int(visit_counts.sum()), temperature))
        return module_visit_probs(visit_counts, temperature)

    module_visit_probs = module.visit_probs
    monkeypatch.setattr(module, "visit_probs", spy)
    selfplay = make_selfplay(
        num_games=1,
        full_search_probability=1.0,
        random_opening_probability=0.0,
        temperature_early=1.0,
        temperature_late=0.25,
        temperature_moves=3,
    )
    records = selfplay.play(3).records
    expected = [
        1.0 if ply < 3 else 0.25 for record in records for ply in range(len(record.actions))
    ]
    assert [temperature for _, temperature in used] == expected


def test_moves_of_a_random_opening_count_for_the_temperature(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used: list[float] = []
    visit_probs = module.visit_probs
    monkeypatch.setattr(
        module, "visit_probs", lambda counts, t: (used.append(t), visit_probs(counts, t))[1]
    )
    selfplay = make_selfplay(
        num_games=1, random_opening_probability=1.0, random_opening_plies=1, temperature_moves=1
    )
    selfplay.play(5)
    assert set(used) == {0.3}


def test_at_temperature_zero_the_most_visited_action_is_played() -> None:
    selfplay = make_selfplay(
        temperature_moves=0,
        temperature_late=0.0,
        num_simulations=20,
        full_search_probability=1.0,
        random_opening_probability=0.0,
    )
    for record in selfplay.play(10).records:
        for ply, action in enumerate(record.actions.tolist()):
            target = target_at(record, ply)
            assert target[action] == max(target.values())


def test_openings_have_one_to_the_allowed_number_of_plies() -> None:
    selfplay = make_selfplay(
        num_games=16,
        full_search_probability=1.0,
        random_opening_probability=1.0,
        random_opening_plies=3,
    )
    lengths = [int(np.argmax(record.is_target)) for record in selfplay.play(60).records]
    assert set(lengths) == {1, 2, 3}


def test_without_openings_every_game_starts_at_the_first_move() -> None:
    selfplay = make_selfplay(full_search_probability=1.0, random_opening_probability=0.0)
    assert all(record.is_target.all() for record in selfplay.play(12).records)


def test_numbers_of_a_call_add_up(watched: type[WatchedSearch]) -> None:
    selfplay = make_selfplay(num_games=4)
    stats = [selfplay.play(5).stats for _ in range(3)]
    assert sum(s.num_simulations for s in stats) == sum(int(v.sum()) for v, _ in watched.results)
    for each in stats:
        assert each.seconds > 0
        assert each.num_positions > 0
        assert 0 < each.seconds_evaluating < each.seconds
        num_rows = each.num_evaluations + each.num_cached
        assert 0 < each.num_leaves <= num_rows
        assert num_rows % 4 == 0
    assert sum(each.num_positions for each in stats) == len(watched.results)


def test_full_searches_are_as_large_as_the_newest_network_is_told() -> None:
    selfplay = make_selfplay(full_search_probability=1.0, simulations_growth=4.0)
    for budget, expected in ((None, 6), (13, 13), (20, 20)):
        selfplay.set_network(NewNetwork(4, weights(1.0), full_budget=budget))
        stats = selfplay.play(20).stats
        assert stats.num_simulations == expected * stats.num_positions


@pytest.mark.parametrize("cache_size", [300, 5000])
def test_the_cache_changes_no_game_and_spares_the_network(cache_size: int) -> None:
    plain = make_selfplay(cache_size=0, num_games=16, num_simulations=20)
    cached = make_selfplay(cache_size=cache_size, num_games=16, num_simulations=20)
    num_rows = 0
    for spread in (1.0, 0.2):  # another network: what the first has said is forgotten
        for selfplay in (plain, cached):
            selfplay.set_network(NewNetwork(4, weights(spread)))
        expected, report = plain.play(60), cached.play(60)
        for one, other in zip(report.records, expected.records, strict=True):
            assert_same_record(one, other)
        stats = report.stats
        assert expected.stats.num_cached == 0
        assert stats.num_evaluations + stats.num_cached == expected.stats.num_evaluations
        assert stats.num_cached > 0
        num_rows += stats.num_evaluations
        assert sum(map(len, cached._network.batches)) == num_rows


@pytest.mark.parametrize("size", [10**14, 10**30])
@pytest.mark.parametrize("key", ["num_games", "cache_size"])
def test_what_does_not_fit_into_memory_is_one_line(key: str, size: int) -> None:
    with pytest.raises(ConfigError, match=rf"^selfplay\.{key}: got 10+, .*fits into memory$"):
        make_selfplay(**{key: size})


# ----- decided games


@pytest.mark.parametrize(
    ("root_values", "movers", "expected"),
    [
        ([], [], False),
        ([0.95, -0.95], [0, 1], False),  # two moves are too few
        ([0.95, -0.95, 0.9], [0, 1, 0], True),
        ([-0.95, 0.95, -0.9], [0, 1, 0], True),
        ([0.2, 0.95, -0.95, 0.95], [0, 1, 0, 1], True),
        ([0.95, -0.95, 0.95, -0.89], [0, 1, 0, 1], False),  # the newest one is not sure
        ([0.0, -0.95, 0.95], [0, 1, 0], False),  # a random move of the opening is never sure
        ([0.95, 0.95, 0.95], [0, 1, 0], False),  # whoever moves claims the win
        ([0.95, 0.95, 0.95], [1, 1, 1], True),  # one player moves three times
        ([0.95, -0.95, -0.95], [1, 0, 0], True),
        ([0.95, -0.95, 0.95], [1, 0, 0], False),
    ],
)
def test_three_sure_searches_in_a_row_decide_a_game(
    root_values: list[float], movers: list[int], expected: bool
) -> None:
    assert has_sure_winner(root_values, movers, decided_value=0.9) == expected


@pytest.mark.parametrize("game", [CONNECT_FOUR, ForcedPassGame()], ids=["alternating", "passes"])
def test_movers_are_kept_in_step_with_the_moves(game: Game) -> None:
    """Random openings, searched moves, and games that a snapshot took along."""
    kept, restored = (make_selfplay(game=game, num_games=9) for _ in range(2))
    kept.play(15)
    restored.restore(kept.snapshot())
    num_moves = 0
    for one, other in zip(kept._games, restored._games, strict=True):
        states, movers = game.initial_states(1), []
        for action in one.actions:
            movers.append(game.to_play(states)[0])
            states = game.step(states, [action])
        assert one.movers == other.movers == movers
        num_moves += len(movers)
    assert num_moves > 9


def test_decided_games_go_on_with_fast_searches(watched: type[WatchedSearch]) -> None:
    selfplay = make_selfplay(
        game=CONNECT_FOUR,
        num_games=1,
        full_search_probability=1.0,
        decided_value=1e-6,  # whatever the search says is sure
        decided_full_search_probability=0.0,
        random_opening_probability=0.0,
    )
    num_decided = 0
    for record in selfplay.play(5).records:
        check_record(record)
        winners = np.sign(record.root_values)  # whom each search believes to win: 1 is the first
        winners[1::2] *= -1
        expected = [ply < 3 or abs(winners[ply - 3 : ply].sum()) < 3 for ply in range(len(winners))]
        np.testing.assert_array_equal(record.is_target, expected)
        num_decided += expected.count(False)
    assert num_decided > 0
    budgets = {num_simulations for _, num_simulations in watched.starts}
    assert budgets == {6, 3}


def test_a_game_that_is_decided_has_no_more_full_searches_than_others() -> None:
    selfplay = make_selfplay(
        full_search_probability=1e-9,
        decided_value=1e-6,
        decided_full_search_probability=1.0,
    )
    assert not any(record.is_target.any() for record in selfplay.play(10).records)


UNFINISHED = {
    "index": 3,
    "network_version": 1,
    "rng": np.random.default_rng(1).bit_generator.state,
    "actions": [4, 0],
    "targets": [[[0, 4], [0.25, 0.75]], None],
    "root_values": [0.5, -0.5],
}


@pytest.mark.parametrize(
    "changes",
    [
        {"index": -1},
        {"index": True},
        {"network_version": 2**70},
        {"rng": {}},
        {"actions": [4, 4]},
        {"actions": [4, 0.5]},
        {"actions": [4, 0, 1]},
        {"actions": [0, 1, 3, 4, 6], "targets": [None] * 5, "root_values": [0.0] * 5},
        {"targets": [None]},
        {"targets": [[[0], [0.5, 0.5]], None]},
        {"targets": [[["a"], [1.0]], None]},
        {"targets": [[[0], [float("nan")]], None]},
        {"root_values": [float("nan"), 0.0]},
        {"root_values": ["a", 0.0]},
        {"root_values": [0.0, 2.0]},
    ],
)
def test_an_unfinished_game_that_is_none_is_refused_and_changes_nothing(changes):
    selfplay = make_selfplay()
    before = selfplay.snapshot()
    assert game_from_json(TTT, UNFINISHED).movers == [0, 1]
    snapshot = {"actor": 0, "num_games_begun": 4, "games": [UNFINISHED | changes]}
    with pytest.raises((KeyError, TypeError, ValueError)):
        selfplay.restore(snapshot)
    assert selfplay.snapshot() == before
