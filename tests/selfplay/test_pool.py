"""The pools: the same behaviour in process and with Ray, and actors that die."""

import contextlib
import dataclasses
import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
import ray
import torch
from ray.exceptions import OutOfMemoryError

from alphago.errors import CheckpointError, EvaluationError, TrainingError
from alphago.games import make_game
from alphago.games.random_play import random_states
from alphago.network.network import make_network, weights_of
from alphago.network.precision import Inference
from alphago.types import Weights
from scripts.ray_session import ray_session
from selfplay import actors
from selfplay.actors import ActorSetup, SelfPlayActor
from selfplay.places import OneMachine
from selfplay.pool import InlinePool, SelfPlayPool
from selfplay.ray_pool import RayPool
from selfplay.records import GameRecord
from selfplay.reports import NewNetwork, PlayReport
from selfplay.silence import SilenceWatch
from tests.reference.game_records import assert_same_record
from tests.train.tiny import EVALUATOR, NETWORK, actor_setup, streams
from train.targets import rows_from_records

TTT = make_game("tic_tac_toe")
NUM_ACTORS = 2
FIRST_ACTOR = 100_000
WAIT_S = 10.0


def weights(seed: int = 0) -> Weights:
    return weights_of(make_network(TTT.spec, NETWORK, seed=seed))


@pytest.fixture(scope="module")
def running_ray() -> Iterator[None]:
    """Ray, started once for all tests here."""
    with ray_session(num_actors=NUM_ACTORS + 2):  # the shared pool and another one
        yield


@pytest.fixture
def pools(running_ray: None) -> Iterator[list[RayPool]]:
    """A list of pools that are closed at the end."""
    opened: list[RayPool] = []
    yield opened
    for pool in opened:
        pool.close()


@pytest.fixture(scope="module")
def shared(running_ray: None) -> Iterator[RayPool]:
    """A pool of the second sitting of a run, for tests that leave it sound."""
    setup = actor_setup(games_per_call=1, max_in_flight=3, max_restarts=100)
    pool = RayPool(setup, OneMachine(num_actors=NUM_ACTORS), first_actor=FIRST_ACTOR)
    pool.publish(NewNetwork(0, weights()))
    yield pool
    pool.close()


@pytest.fixture
def pool(shared: RayPool) -> RayPool:
    """The shared pool without calls that an earlier test left open."""
    drain(shared)
    return shared


def open_pool(
    pools: list[RayPool], setup: ActorSetup | None = None, *, num_actors: int = 1
) -> RayPool:
    """Opens a pool that has weights of version 0."""
    pool = RayPool(setup or actor_setup(), OneMachine(num_actors=num_actors), first_actor=0)
    pools.append(pool)
    pool.publish(NewNetwork(0, weights()))
    return pool


def play(pool: SelfPlayPool, num_games: int) -> list[GameRecord]:
    records: list[GameRecord] = []
    while len(records) < num_games:
        records += [r for report in pool.collect(WAIT_S) for r in report.records]
    return records


def play_until(
    pool: SelfPlayPool, *, actor: int | None = None, version: int | None = None
) -> list[GameRecord]:
    """Plays until this actor, or a network of this version, has finished a game."""
    records: list[GameRecord] = []
    while not any(
        actor in (r.name.actor, None) and version in (r.network_version, None) for r in records
    ):
        records += play(pool, 1)
    return records


def drain(pool: SelfPlayPool) -> list[PlayReport]:
    reports = []
    while pool.is_busy():
        reports += pool.drain(WAIT_S)
    return reports


# Functions for actors to call.


def process_id() -> int:
    return os.getpid()


def threads() -> tuple[int, str | None]:
    return torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")


def divide(numerator: int, denominator: int) -> float:
    return numerator / denominator


def never() -> bool:
    return False


def process_ids(pool: RayPool) -> list[int]:
    """Returns the process of each actor, by slot; of one that is dead another has to be asked."""
    calls = [slot.actor.call.remote(process_id) for slot in pool._slots]
    return [ray.get(call) for call in calls]


def restarts_of(pool: RayPool) -> int:
    return pool.state().num_restarts


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


def die_once(flag: str, answer: int) -> int:
    """Kills its process, unless another call with the flag did so before."""
    try:
        Path(flag).touch(exist_ok=False)
    except FileExistsError:  # whoever made it dies, also when two come at once
        return answer
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("the signal came late")


# ----- both pools


@pytest.mark.parametrize("kind", ["inline", "ray"])
def test_a_pool_plays_with_the_published_weights(kind: str, pools: list[RayPool]) -> None:
    pool: SelfPlayPool
    if kind == "inline":
        pool = InlinePool(actor_setup(), actor=0)
        pool.publish(NewNetwork(0, weights()))
    else:
        pool = open_pool(pools, num_actors=NUM_ACTORS)
    records = play(pool, 8)
    records += [r for report in drain(pool) for r in report.records]
    assert {r.network_version for r in records} == {0}
    expected = {r.name: r for r in first_games_of_actor_0(len(records))}
    found = [r for r in records if r.name.actor == 0]
    assert found
    for record in found:  # a game is the same wherever it is played
        assert_same_record(record, expected[record.name])

    pool.publish(NewNetwork(5, weights(1)))
    later = play(pool, 24) + play_until(pool, version=5)
    assert {r.network_version for r in later} == {0, 5}  # games go on with the new weights
    later += [r for report in drain(pool) for r in report.records]
    assert not pool.is_busy()
    assert pool.drain(0.0) == []
    rows_from_records(TTT, records + later)  # they replay
    names = streams(records + later)
    assert len(set(names)) == len(names)
    assert {actor for _, actor, _ in names} == set(range(pool.num_actors))
    assert pool.map(divide, [(6, 2), (1, 4), (9, 3)], give_up=never) == [3.0, 0.25, 3.0]
    assert pool.map(divide, [], give_up=never) == []
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        pool.map(divide, [(1, 1), (1, 0)], give_up=never)
    assert pool.state().num_restarts == 0
    assert 0 <= pool.store_share() < 1


def first_games_of_actor_0(num_games: int) -> list[GameRecord]:
    pool = InlinePool(actor_setup(), actor=0)
    pool.publish(NewNetwork(0, weights()))
    return play(pool, num_games + 10)


def test_the_inline_pool_keeps_unfinished_games_and_the_other_does_not(pool: RayPool) -> None:
    inline = InlinePool(actor_setup(), actor=3)
    inline.publish(NewNetwork(0, weights()))
    play(inline, 4)
    snapshot = inline.snapshot()
    assert snapshot is not None
    other = InlinePool(actor_setup(), actor=0)
    other.publish(NewNetwork(0, weights()))
    other.restore(snapshot)
    for one, two in zip(play(inline, 8), play(other, 8), strict=True):
        assert_same_record(one, two)
    assert pool.snapshot() is None


class Clock:
    """A clock that goes on by a second with each look at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


def test_a_call_ends_in_time_and_the_next_one_goes_on_with_its_games(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = (SelfPlayActor(actor_setup(), actor=3) for _ in range(2))
    for actor in (one, other):
        actor.set_network(NewNetwork(0, weights()))
    monkeypatch.setattr(actors, "time", Clock())
    reports = [one.play(10**9, longest_s=8.0) for _ in range(40)]
    assert reports[0].records == []  # a game takes more simulations
    records = [record for report in reports for record in report.records]
    assert len(records) > 4
    for ours, theirs in zip(records, other.play(len(records)).records, strict=False):
        assert_same_record(ours, theirs)
    assert len(one.play(2, longest_s=1000.0).records) >= 2  # it ends before, with enough games


@pytest.mark.parametrize("kind", ["inline", "ray"])
def test_positions_reach_the_actors_and_their_precision_comes_back(
    kind: str, pools: list[RayPool]
) -> None:
    setup = dataclasses.replace(
        actor_setup(), evaluator=dataclasses.replace(EVALUATOR, precision="int8")
    )
    pool: SelfPlayPool
    if kind == "inline":
        pool = InlinePool(setup, actor=0)
        assert pool.inference is None
        pool.publish(NewNetwork(0, weights()))
    else:
        pool = open_pool(pools, setup)
    play(pool, 1)
    assert pool.inference is not None
    assert (pool.inference.precision == "int8", pool.inference.error) == (False, None)
    states = random_states(TTT, np.random.default_rng(1), num_rows=32)
    pool.publish(NewNetwork(1, weights(1), TTT.observe(states)))
    play_until(pool, version=1)
    check_int8(pool.inference)
    if isinstance(pool, RayPool):  # the actor in place of a dead one gets the positions too
        pool.inference = None
        kill(process_ids(pool)[0])
        play_until(pool, actor=pool._next_stream)
        check_int8(pool.inference)


def check_int8(inference: Inference | None) -> None:
    assert inference is not None
    assert inference.precision == "int8", inference
    assert inference.error is not None
    assert 0 < inference.error.policy_kl < EVALUATOR.policy_kl_limit


# ----- Ray


def test_a_network_is_put_into_the_store_once(
    pool: RayPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: list[object] = []
    original = ray.put
    monkeypatch.setattr(ray, "put", lambda value: (put.append(value), original(value))[1])
    pool.publish(NewNetwork(1, weights()))
    play(pool, 8)
    assert len(put) == 1
    pool.publish(NewNetwork(2, weights(1)))
    play(pool, 8)
    assert len(put) == 2


def test_an_actor_has_no_more_calls_open_than_allowed(pool: RayPool) -> None:
    most = 0
    for _ in range(15):
        pool.collect(0.0)
        # Nobody fetches in between: an actor that has done all its calls stops by itself.
        calls = list(pool._calls.values())
        most = max(most, *(calls.count(slot) for slot in pool._slots))
    assert most == 3
    assert len(drain(pool)) <= 3 * NUM_ACTORS


def test_actors_that_hang_are_not_waited_for(pool: RayPool) -> None:
    play(pool, 2)
    drain(pool)
    stopped = process_ids(pool)
    for each in stopped:
        os.kill(each, signal.SIGSTOP)
    try:
        assert [pool.collect(0.05) for _ in range(5)] == [[]] * 5
        assert len(pool._calls) == 3 * NUM_ACTORS  # nothing piles up
        assert pool.drain(0.0) == []
        assert pool.is_busy()
    finally:
        for each in stopped:
            os.kill(each, signal.SIGCONT)
    assert len(drain(pool)) == 3 * NUM_ACTORS
    assert process_ids(pool) == stopped


@contextlib.contextmanager
def stopped(pool: RayPool) -> Iterator[None]:
    """Stops all actors of a pool, which then live and answer nothing."""
    processes = process_ids(pool)
    for each in processes:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in processes:
            os.kill(each, signal.SIGCONT)


@pytest.mark.parametrize("waiting", ["collect", "drain", "map"])
def test_actors_that_stay_silent_end_the_run(waiting: str, pools: list[RayPool]) -> None:
    pool = open_pool(pools, num_actors=NUM_ACTORS)
    with stopped(pool):
        pool._silence = SilenceWatch(limit_minutes=0.005)
        for _ in range(2):  # the first one fetches that they have started
            pool.collect(0.0)
        waits = {
            "collect": lambda: pool.collect(0.1),
            "drain": lambda: pool.drain(0.1),
            "map": lambda: pool.map(divide, [(1, 1)] * 5, give_up=never),
        }
        with pytest.raises(TrainingError, match=r"^2 of 2 self-play actors have been silent for"):
            for _ in range(100):
                waits[waiting]()


def test_map_is_given_up_when_asked_while_actors_hang(pool: RayPool) -> None:
    asked: list[int] = []

    def give_up() -> bool:
        asked.append(1)
        return len(asked) == 2

    with stopped(pool):
        assert pool.map(divide, [(1, 1)] * 3, give_up=give_up) is None
    assert pool.map(divide, [(6, 2)], give_up=never) == [3.0]


def test_the_inline_pool_gives_up_between_two_calls() -> None:
    done: list[int] = []
    pool = InlinePool(actor_setup(), actor=0)
    calls = [(number,) for number in range(5)]
    assert pool.map(done.append, calls, give_up=lambda: len(done) == 3) is None
    assert done == [0, 1, 2]


def test_actors_have_one_thread(pool: RayPool) -> None:
    assert pool.map(threads, [()] * NUM_ACTORS, give_up=never) == [(1, "1")] * NUM_ACTORS


def test_actors_of_another_sitting_use_other_streams(pool: RayPool) -> None:
    assert min(r.name.actor for r in play(pool, 4)) >= FIRST_ACTOR


def test_nothing_is_logged_while_all_is_well(
    pool: RayPool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        play(pool, 4)
        drain(pool)
    assert caplog.records == []


def test_a_killed_actor_is_replaced_and_gets_the_newest_weights(
    pool: RayPool, caplog: pytest.LogCaptureFixture
) -> None:
    pool.publish(NewNetwork(4, weights(1)))
    play(pool, 30)
    restarts, newest = restarts_of(pool), pool._next_stream
    victim, other = process_ids(pool)
    kill(victim)
    records = play_until(pool, actor=newest)
    assert restarts_of(pool) == restarts + 1
    died = f"self-play actor 0 died ({restarts + 1} of 100 restarts): pid {victim}, "
    (told,) = (line for line in caplog.messages if line.startswith(died))
    assert "exit" in told  # how its process ended
    assert "\n" not in told
    assert {r.network_version for r in records if r.name.actor == newest} == {4}
    new, same = process_ids(pool)
    assert same == other
    assert new != victim
    names = streams(records + [r for report in drain(pool) for r in report.records])
    assert len(set(names)) == len(names)


def test_an_actor_that_dies_while_nobody_plays_is_replaced(pool: RayPool) -> None:
    restarts, newest = restarts_of(pool), pool._next_stream
    victim, other = process_ids(pool)
    process = psutil.Process(victim)
    kill(victim)
    psutil.wait_procs([process], timeout=10)
    assert pool.map(divide, [(6, 2)], give_up=never) == [3.0]
    assert restarts_of(pool) == restarts + 1
    assert process_ids(pool)[1] == other
    play_until(pool, actor=newest)


def test_an_actor_that_ray_ends_for_want_of_memory_is_replaced(
    pool: RayPool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    restarts, fetch, failures = restarts_of(pool), ray.get, [0]

    def fail_once(call: object) -> object:
        if failures:
            failures.pop()
            raise OutOfMemoryError("Task was killed due to the node running low on memory.")
        return fetch(call)

    monkeypatch.setattr(ray, "get", fail_once)
    assert pool.map(divide, [(6, 2), (1, 4)], give_up=never) == [3.0, 0.25]
    assert restarts_of(pool) == restarts + 1
    assert "running low on memory" in caplog.text


def test_map_keeps_the_order_when_an_actor_dies(pool: RayPool, tmp_path: Path) -> None:
    restarts, flag = restarts_of(pool), str(tmp_path / "died")
    # Five calls for two actors: three of them are lost with the actor that dies.
    arguments = [(flag, n) for n in range(5)]
    assert pool.map(die_once, arguments, give_up=never) == list(range(5))
    assert restarts_of(pool) == restarts + 1


def test_more_deaths_than_allowed_end_the_run(pools: list[RayPool]) -> None:
    pool = open_pool(pools, actor_setup(max_restarts=0))
    play(pool, 2)
    kill(process_ids(pool)[0])
    with pytest.raises(TrainingError, match=r"actor 0 died and selfplay\.max_restarts=0"):
        play(pool, 1000)


def test_a_network_that_is_not_finite_ends_the_run(pools: list[RayPool]) -> None:
    pool = open_pool(pools)
    broken = {name: np.full_like(array, np.nan) for name, array in weights().items()}
    pool.publish(NewNetwork(1, broken))
    with pytest.raises(EvaluationError, match="nan") as caught:
        play(pool, 1000)
    assert "\n" not in str(caught.value)  # not the traceback of the actor
    assert restarts_of(pool) == 0


def test_weights_of_another_network_end_the_run_with_the_name(pools: list[RayPool]) -> None:
    pool = open_pool(pools)
    incomplete = weights()
    name = incomplete.popitem()[0]
    pool.publish(NewNetwork(1, incomplete))
    with pytest.raises(CheckpointError, match=name):
        play(pool, 1000)


def test_an_actor_that_cannot_start_ends_the_run_with_the_reason(
    pools: list[RayPool], caplog: pytest.LogCaptureFixture
) -> None:
    pool = open_pool(pools, actor_setup(game="no_such_game"))
    with pytest.raises(TrainingError, match=r"cannot start: .*no_such_game"):
        play(pool, 1)
    assert "died" not in caplog.text


def test_close_leaves_no_process(running_ray: None) -> None:
    pool = RayPool(actor_setup(), OneMachine(num_actors=1), first_actor=0)
    pool.publish(NewNetwork(0, weights()))
    pool.collect(0.0)
    processes = [psutil.Process(each) for each in process_ids(pool)]
    pool.close()
    assert psutil.wait_procs(processes, timeout=20)[1] == []
    pool.close()  # a second time does nothing
