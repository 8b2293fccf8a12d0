"""Groups of games in threads: nothing is lost, nothing hangs, and one group is as none."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alphago.errors import EvaluationError
from alphago.games import make_game
from alphago.network.network import make_network, weights_of
from alphago.types import Evaluation, States, Weights
from selfplay.actors import SelfPlayActor, with_groups
from selfplay.groups import play_groups, restore_groups, snapshot_groups
from selfplay.play import SelfPlay
from selfplay.pool import InlinePool
from selfplay.records import GameRecord
from selfplay.reports import NewNetwork, PlayReport
from selfplay.snapshots import without_finished
from tests.reference.game_records import assert_same_record
from tests.selfplay.fake_network import make_selfplay
from tests.train.tiny import NETWORK, actor_setup, stored_records, streams, tiny_config, train
from train.targets import rows_from_records

TTT = make_game("tic_tac_toe")
WAIT_S = 30.0


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = threading.enumerate()
    yield
    assert [thread for thread in threading.enumerate() if thread not in before] == []


def make_groups(number: int) -> list[SelfPlay]:
    return [make_selfplay(actor=10 + group) for group in range(number)]


def play(groups: list[SelfPlay], num_games: int) -> PlayReport:
    return play_groups(groups, lambda num_finished: num_finished >= num_games)


def network_weights() -> Weights:
    return weights_of(make_network(TTT.spec, NETWORK, seed=0))


def watch(group: SelfPlay, before: Callable[[], None]) -> None:
    """Does something before each evaluation of a group, in its thread."""
    evaluator = group._search.evaluator
    original = evaluator.evaluate

    def evaluate(states: States) -> Evaluation:
        before()
        return original(states)

    evaluator.evaluate = evaluate


def by_stream(records: list[GameRecord]) -> dict[tuple[int, ...], GameRecord]:
    return dict(zip(streams(records), records, strict=True))


def test_a_single_group_plays_in_the_calling_thread_as_before() -> None:
    names: set[str] = set()
    (group,) = make_groups(1)
    watch(group, lambda: names.add(threading.current_thread().name))
    report = play([group], 6)
    expected = make_selfplay(actor=10).play(6)
    assert names == {threading.current_thread().name}
    assert report.stats[2:] == expected.stats[2:]  # but for the times
    for one, other in zip(report.records, expected.records, strict=True):
        assert_same_record(one, other)


def test_groups_play_the_games_that_each_would_play_alone() -> None:
    groups = make_groups(3)
    records = [r for _ in range(5) for r in play(groups, 8).records]
    assert len(records) >= 40
    deadline = time.monotonic() + 60  # on a busy machine a thread may come late
    while len({actor for _, actor, _ in streams(records)}) < 3 and time.monotonic() < deadline:
        records += play(groups, 8).records
    found = by_stream(records)
    assert len(found) == len(records)  # no game twice
    assert {actor for _, actor, _ in found} == {10, 11, 12}
    for actor in (10, 11, 12):
        alone = by_stream(make_selfplay(actor=actor).play(len(records)).records)
        for name, record in found.items():
            if name[1] == actor:
                assert_same_record(record, alone[name])
        unfinished = [game["index"] for game in groups[actor - 10].snapshot()["games"]]
        finished = [number for _, each, number in found if each == actor]
        assert sorted(finished + unfinished) == list(range(len(finished + unfinished)))


def test_groups_work_at_the_same_time() -> None:
    groups = make_groups(3)
    meeting = threading.Barrier(3)
    for group in groups:
        first = iter([True])
        # One after the other, the first would wait for ever.
        watch(group, lambda first=first: next(first, False) and meeting.wait(WAIT_S))
    assert len(play(groups, 6).records) >= 6


def test_groups_that_wait_for_a_gpu_share_one_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfplay.actors.uses_gpu", lambda evaluator: True)
    actor = SelfPlayActor(actor_setup(groups_per_actor=2), actor=6, seat=3)
    actor.set_network(NewNetwork(0, network_weights()))
    seen = set()
    for group in actor._groups:
        watch(group, lambda: seen.add(frozenset(os.sched_getaffinity(0))))
    allowed = sorted(os.sched_getaffinity(0))
    actor.play(6)
    (cpus,) = seen
    assert len(cpus) == 1
    assert cpus < set(allowed) or len(allowed) == 1
    assert sorted(os.sched_getaffinity(0)) == allowed  # other threads are free


def test_groups_on_the_cpu_may_use_all_cpus() -> None:
    actor = SelfPlayActor(actor_setup(groups_per_actor=2), actor=6)
    actor.set_network(NewNetwork(0, network_weights()))
    seen = set()
    for group in actor._groups:
        watch(group, lambda: seen.add(frozenset(os.sched_getaffinity(0))))
    actor.play(6)
    assert seen == {frozenset(os.sched_getaffinity(0))}


def test_counts_of_groups_are_added_up_and_times_are_not() -> None:
    groups = make_groups(2)
    counts = [0, 0]
    both_play = threading.Barrier(2)  # on a busy machine one alone might play all games
    for number, group in enumerate(groups):

        def count(number: int = number) -> None:
            if counts[number] == 0:
                both_play.wait(timeout=120.0)
            counts[number] += 1

        watch(group, count)
    started = time.perf_counter()
    stats = play(groups, 10).stats
    assert 0 < stats.seconds <= time.perf_counter() - started
    num_rows = stats.num_evaluations + stats.num_cached
    assert num_rows == 4 * sum(counts)
    assert stats.num_leaves <= num_rows
    assert min(counts) > 0
    assert stats.num_simulations > 0


def test_other_groups_stop_before_their_next_simulation() -> None:
    quick, slow = make_groups(2)
    has_begun, is_done = threading.Event(), threading.Event()
    calls = []

    def wait() -> None:
        calls.append(1)
        has_begun.set()
        assert is_done.wait(WAIT_S)

    def play_until(is_enough: Callable[[int], bool]) -> object:
        try:
            return original(is_enough)
        finally:
            is_done.set()

    watch(slow, wait)
    watch(quick, lambda: has_begun.wait(WAIT_S))
    original, quick.play_until = quick.play_until, play_until
    play([quick, slow], 3)
    assert len(calls) == 1
    assert slow.play(1).records  # it goes on where it was


def test_an_error_in_one_group_stops_the_others_and_is_raised() -> None:
    groups = make_groups(3)
    calls = iter(range(20))

    def fail() -> None:
        if next(calls) == 10:
            raise EvaluationError("the network of one group is broken")

    watch(groups[1], fail)
    with pytest.raises(EvaluationError, match="of one group is broken"):
        play(groups, 10**9)


def test_ctrl_c_ends_all_groups() -> None:
    groups = make_groups(3)
    interrupt = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        play(groups, 10**9)
    interrupt.join()


# ----- stopping and going on


def test_restored_groups_go_on_like_those_that_were_kept() -> None:
    kept = make_groups(2)
    play(kept, 9)
    snapshot = json.loads(json.dumps(snapshot_groups(kept), allow_nan=False))
    restored = [make_selfplay(actor=50), make_selfplay(actor=51)]
    restore_groups(restored, snapshot)
    assert snapshot_groups(restored) == snapshot_groups(kept)
    for one, other in zip(kept, restored, strict=True):
        for ours, theirs in zip(one.play(5).records, other.play(5).records, strict=True):
            assert_same_record(ours, theirs)


def test_the_snapshot_of_one_group_is_that_of_its_self_play() -> None:
    (group,) = make_groups(1)
    play([group], 5)
    snapshot = snapshot_groups([group])
    assert snapshot == group.snapshot()
    assert without_finished(snapshot, []) == snapshot


def test_another_number_of_groups_can_go_on_with_a_snapshot() -> None:
    kept = make_groups(2)
    done = play(kept, 9).records
    snapshot = snapshot_groups(kept)
    for numbers in ([60], [60, 61, 62]):
        restored = [make_selfplay(actor=number) for number in numbers]
        restore_groups(restored, snapshot)
        names = streams(done + play(restored, 30).records)
        assert len(set(names)) == len(names)
        assert {actor for _, actor, _ in names} <= {10, 11, 62}


def test_games_that_finished_after_a_snapshot_are_left_out_of_their_group() -> None:
    killed = make_groups(2)
    play(killed, 9)
    snapshot = json.loads(json.dumps(snapshot_groups(killed)))
    later = play(killed, 12).records
    resumed = [make_selfplay(actor=70), make_selfplay(actor=71)]
    restore_groups(resumed, without_finished(snapshot, later))
    names = streams(later + play(resumed, 30).records)
    assert len(set(names)) == len(names)
    assert {actor for _, actor, _ in names} == {10, 11}


# ----- in an actor and a run


def test_all_groups_of_an_actor_play_with_the_new_weights() -> None:
    actor = SelfPlayActor(actor_setup(groups_per_actor=3), actor=5)
    inference = actor.set_network(NewNetwork(0, network_weights()))
    assert actor.set_network(NewNetwork(7, network_weights())) == inference
    records = [r for _ in range(4) for r in actor.play(8).records]
    found = {(record.name.actor, record.network_version) for record in records}
    assert found == {(5, 7), (6, 7), (7, 7)}
    rows_from_records(TTT, records)


def test_groups_share_no_evaluator_and_no_rules() -> None:
    actor = SelfPlayActor(actor_setup(groups_per_actor=3, pass_guard=0.0), actor=0)
    assert len({id(group._search.evaluator) for group in actor._groups}) == 3
    assert len({id(group._game) for group in actor._groups}) == 3


def test_the_number_of_groups_is_that_of_the_place() -> None:
    setup = with_groups(actor_setup(groups_per_actor=None), 3)
    assert setup.selfplay.groups_per_actor == 3
    assert len(SelfPlayActor(setup, actor=0)._groups) == 3


def test_the_inline_pool_keeps_the_unfinished_games_of_all_groups() -> None:
    pool, other = (InlinePool(actor_setup(groups_per_actor=2), actor=n) for n in (4, 30))
    for each in (pool, other):
        each.publish(NewNetwork(0, network_weights()))
    records = pool.collect(1.0)[0].records
    snapshot = pool.snapshot()
    other.restore(snapshot)
    assert other.snapshot() == snapshot
    records += [r for _ in range(10) for r in other.collect(1.0)[0].records]
    names = streams(records)
    assert len(set(names)) == len(names)
    assert {actor for _, actor, _ in names} == {4, 5}


def test_a_run_with_groups_can_be_resumed(tmp_path: Path) -> None:
    changes = {"selfplay.groups_per_actor": 2}
    train(tmp_path, tiny_config(changes, games=12))
    train(tmp_path, tiny_config(changes, games=24), resume=True)
    records = stored_records(tmp_path)
    names = streams(records)
    assert len(names) >= 24
    assert len(set(names)) == len(names)
    assert {actor for _, actor, _ in names} == {0, 1}  # unfinished games keep their names
