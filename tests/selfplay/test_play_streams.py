"""Self-play: its random streams, new weights, and going on after a stop."""

import dataclasses
import json
import random

import numpy as np
import pytest
import torch

from selfplay.records import check_record
from selfplay.reports import NewNetwork
from selfplay.snapshots import without_finished
from tests.reference.game_records import assert_same_record
from tests.selfplay.fake_network import CONNECT_FOUR, TTT, make_selfplay, moves, weights
from train.targets import rows_from_records

# ----- streams


def actor_moves(*, seed: int, num_actors: int = 4, num_games: int = 8) -> list[tuple[int, ...]]:
    """Returns the move lists of the first games of each actor, by actor and number."""
    found = []
    for actor in range(num_actors):
        selfplay = make_selfplay(
            game=CONNECT_FOUR, seed=seed, actor=actor, random_opening_probability=0.0
        )
        records = {record.name.number: record for record in selfplay.play(2 * num_games).records}
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
    by_number = {record.name.number: record for record in beside}
    for record in alone:
        assert_same_record(record, by_number[record.name.number])


def test_no_game_is_lost_or_counted_twice() -> None:
    selfplay = make_selfplay(num_games=5)
    numbers = [r.name.number for _ in range(10) for r in selfplay.play(3).records]
    unfinished = [game["index"] for game in selfplay.snapshot()["games"]]
    assert len(unfinished) == 5
    assert sorted([*numbers, *unfinished]) == list(range(len(numbers) + 5))


# ----- weights


def test_new_weights_play_from_the_next_search_on_and_new_games_carry_their_version() -> None:
    selfplay = make_selfplay(num_games=4)
    selfplay.play(4)
    begun = {game["index"] for game in selfplay.snapshot()["games"]}
    selfplay.set_network(NewNetwork(8, weights(5.0)))
    records = selfplay.play(12).records
    for record in records:
        assert record.network_version == (3 if record.name.number in begun else 8)
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
        assert first.stats[2:] == second.stats[2:]  # but for the times
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
    finished = [record.name.number for record in kept.play(7).records]
    snapshot = kept.snapshot()
    restored = make_selfplay(num_games=num_games)
    restored.restore(snapshot)
    records = restored.play(20).records
    numbers = [*finished, *(record.name.number for record in records)]
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
    numbers = [record.name.number for record in resumed.play(20).records]
    finished = {record.name.number for record in later}
    assert not finished & set(numbers)
    unfinished = {game["index"] for game in snapshot["games"]} - finished
    assert unfinished <= set(numbers)
    # Games of other actors with the same numbers are other games.
    others = [
        dataclasses.replace(record, name=record.name._replace(actor=record.name.actor + 1))
        for record in later
    ]
    assert without_finished(snapshot, others) == snapshot


def test_a_restored_self_play_is_the_actor_of_the_snapshot() -> None:
    kept = make_selfplay(actor=7)
    kept.play(4)
    restored = make_selfplay(actor=9)
    restored.restore(kept.snapshot())
    assert {record.name.actor for record in restored.play(8).records} == {7}
