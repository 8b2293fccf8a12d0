"""Self-play: what its records hold, its random streams, and going on after a stop."""

import dataclasses
import itertools
import json
import random
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from alphago.games import Game, make_game
from alphago.games.notation import replay
from alphago.search import BatchSearch
from alphago.types import Weights
from selfplay import play as module
from selfplay.play import SelfPlay, without_finished
from selfplay.records import GameRecord, check_record
from tests.reference.forced_pass_game import ForcedPassGame
from tests.reference.game_records import assert_same_record
from tests.search.evaluators import HashEvaluator
from tests.train.tiny import SEARCH, selfplay_config, tiny_config
from train.replay_buffer import ReplayBuffer
from train.targets import rows_from_records

TTT = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")


class FakeNetwork(HashEvaluator):
    """Pseudo-random answers; its weights decide how far the priors lie apart."""

    def load_weights(self, weights: Weights) -> None:
        self.spread = float(weights["spread"][()])


def make_selfplay(
    *, game: Game = TTT, seed: int = 1, actor: int = 0, spread: float = 1.0, **changes: object
) -> SelfPlay:
    selfplay = SelfPlay(
        game,
        FakeNetwork(game, spread=0.0),
        SEARCH,
        selfplay_config(**changes),
        seed=seed,
        actor=actor,
    )
    selfplay.set_weights(3, weights(spread))
    return selfplay


def weights(spread: float) -> Weights:
    return {"spread": np.array(spread)}


def moves(records: Sequence[GameRecord]) -> set[tuple[int, ...]]:
    return {tuple(record.actions.tolist()) for record in records}


def target_at(record: GameRecord, ply: int) -> dict[int, float]:
    entries = slice(record.target_offsets[ply], record.target_offsets[ply + 1])
    actions, shares = record.target_actions[entries], record.target_shares[entries]
    return dict(zip(actions.tolist(), shares.tolist(), strict=True))


class WatchedSearch(BatchSearch):
    """Remembers the start and the result of every search."""

    starts: list[tuple[bytes, int, np.ndarray]]  # state, simulations, noise [A]
    results: list[tuple[np.ndarray, float]]  # visit counts [A], root value

    def start(self, rows, states, num_simulations, *, root_noise=None):
        for k in range(len(rows)):
            noise = root_noise[k].copy()
            self.starts.append((states[k].tobytes(), int(num_simulations[k]), noise))
        super().start(rows, states, num_simulations, root_noise=root_noise)

    def result(self, rows):
        result = super().result(rows)
        for visits, value in zip(result.visit_counts, result.root_values, strict=True):
            self.results.append((visits.copy(), float(value)))
        return result


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[WatchedSearch]:
    """Lets self-play use a search that remembers."""
    WatchedSearch.starts, WatchedSearch.results = [], []
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
            searched, budget, noise = watched.starts[num_searches]
            if searched != state.tobytes():  # a random opening is not searched
                assert ply < 2
                assert not record.is_target[ply]
                assert record.root_values[ply] == 0.0
                num_opening_moves += 1
            else:
                visits, value = watched.results[num_searches]
                num_searches += 1
                is_full = budget == 6
                assert visits.sum() == budget
                assert visits[action] > 0
                assert bool(record.is_target[ply]) == is_full
                assert record.root_values[ply] == np.float32(value)
                assert bool(noise.any()) == is_full  # noise in full searches only
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
    buffer.append_games(game, records)
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


# ----- streams


def actor_moves(*, seed: int, num_actors: int = 4, num_games: int = 8) -> list[tuple[int, ...]]:
    """Returns the move lists of the first games of each actor, by actor and number."""
    found = []
    for actor in range(num_actors):
        selfplay = make_selfplay(
            game=CONNECT_FOUR, seed=seed, actor=actor, random_opening_probability=0.0
        )
        records = {record.seed[2]: record for record in selfplay.play(2 * num_games).records}
        found += [tuple(records[n].actions.tolist()) for n in range(num_games)]
    return found


def test_actors_play_different_games_that_the_seed_decides() -> None:
    first = actor_moves(seed=1)
    assert len(set(first)) >= 28
    # Other streams of the process decide nothing.
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    torch.manual_seed(5)
    assert actor_moves(seed=1) == first
    other = actor_moves(seed=2)
    assert len(set(other)) >= 28
    assert len(set(other) & set(first)) <= 4


def test_a_game_does_not_depend_on_the_number_of_games_beside_it() -> None:
    # With a network that ignores the batch, a game is a function of (seed, actor, number) alone.
    alone = make_selfplay(num_games=1).play(10).records
    beside = make_selfplay(num_games=7).play(40).records
    by_number = {record.seed[2]: record for record in beside}
    for record in alone:
        assert_same_record(record, by_number[record.seed[2]])


def test_no_game_is_lost_or_counted_twice() -> None:
    selfplay = make_selfplay(num_games=5)
    numbers = [r.seed[2] for _ in range(10) for r in selfplay.play(3).records]
    unfinished = [game["index"] for game in selfplay.snapshot()["games"]]
    assert len(unfinished) == 5
    assert sorted([*numbers, *unfinished]) == list(range(len(numbers) + 5))


def test_numbers_of_a_call_add_up(watched: type[WatchedSearch]) -> None:
    selfplay = make_selfplay(num_games=4)
    stats = [selfplay.play(5).stats for _ in range(3)]
    assert sum(s.num_simulations for s in stats) == sum(int(v.sum()) for v, _ in watched.results)
    for each in stats:
        assert each.seconds > 0
        assert 0 < each.num_leaves <= each.num_evaluations
        assert each.num_evaluations % 4 == 0


# ----- weights


def test_new_weights_play_from_the_next_search_on_and_new_games_carry_their_version() -> None:
    selfplay = make_selfplay(num_games=4)
    selfplay.play(4)
    begun = {game["index"] for game in selfplay.snapshot()["games"]}
    selfplay.set_weights(8, weights(5.0))
    records = selfplay.play(12).records
    for record in records:
        assert record.network_version == (3 if record.seed[2] in begun else 8)
    unchanged = make_selfplay(num_games=4)
    unchanged.play(4)
    unchanged.snapshot()
    assert moves(unchanged.play(12).records) != moves(records)


# ----- stopping and going on


def test_a_restored_self_play_goes_on_like_the_one_that_was_kept() -> None:
    kept = make_selfplay(num_games=5)
    kept.play(7)
    snapshot = json.loads(json.dumps(kept.snapshot(), allow_nan=False))
    restored = make_selfplay(num_games=5)
    restored.restore(snapshot)
    for num_games in (3, 9):
        first, second = kept.play(num_games), restored.play(num_games)
        assert len(first.records) == len(second.records)
        for one, other in zip(first.records, second.records, strict=True):
            assert_same_record(one, other)
        assert first.stats[1:] == second.stats[1:]
    assert kept.snapshot() == restored.snapshot()


def test_a_snapshot_stays_as_it_was_while_the_games_go_on() -> None:
    kept = make_selfplay(num_games=5)
    kept.play(7)
    snapshot = kept.snapshot()
    text = json.dumps(snapshot)
    kept.play(9)
    assert json.dumps(snapshot) == text


def test_three_stops_in_a_row_change_nothing() -> None:
    kept = make_selfplay()
    stopped = make_selfplay()
    for _ in range(3):
        first, second = kept.play(3).records, stopped.play(3).records
        for one, other in zip(first, second, strict=True):
            assert_same_record(one, other)
        text = json.dumps(stopped.snapshot())
        kept.snapshot()
        stopped = make_selfplay()
        stopped.restore(json.loads(text))


def test_a_snapshot_before_the_first_game_is_empty_and_can_be_restored() -> None:
    snapshot = json.loads(json.dumps(make_selfplay().snapshot()))
    assert snapshot["games"] == []
    restored = make_selfplay()
    restored.restore(snapshot)
    assert moves(restored.play(4).records) == moves(make_selfplay().play(4).records)


@pytest.mark.parametrize("num_games", [2, 9])
def test_another_number_of_games_can_go_on_with_a_snapshot(num_games: int) -> None:
    kept = make_selfplay(num_games=5)
    finished = [record.seed[2] for record in kept.play(7).records]
    snapshot = kept.snapshot()
    restored = make_selfplay(num_games=num_games)
    restored.restore(snapshot)
    records = restored.play(20).records
    numbers = [*finished, *(record.seed[2] for record in records)]
    assert len(set(numbers)) == len(numbers)
    for record in records:
        check_record(record)
    rows_from_records(TTT, records)
    assert {game["index"] for game in snapshot["games"][:num_games]} <= set(numbers)


def test_games_finished_after_a_snapshot_are_not_played_again() -> None:
    killed = make_selfplay(num_games=4)
    killed.play(5)
    snapshot = json.loads(json.dumps(killed.snapshot()))
    later = killed.play(9).records
    resumed = make_selfplay(num_games=4)
    resumed.restore(without_finished(snapshot, later))
    numbers = [record.seed[2] for record in resumed.play(20).records]
    finished = {record.seed[2] for record in later}
    assert not finished & set(numbers)
    unfinished = {game["index"] for game in snapshot["games"]} - finished
    assert unfinished <= set(numbers)
    # Games of other actors with the same numbers are other games.
    others = [dataclasses.replace(record, seed=record.seed + [0, 1, 0]) for record in later]
    assert without_finished(snapshot, others) == snapshot


def test_a_restored_self_play_is_the_actor_of_the_snapshot() -> None:
    kept = make_selfplay(actor=7)
    kept.play(4)
    restored = make_selfplay(actor=9)
    restored.restore(kept.snapshot())
    assert {record.seed[1] for record in restored.play(8).records} == {7}
