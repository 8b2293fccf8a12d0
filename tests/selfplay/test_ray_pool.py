"""Machines that come and go, actors that die or hang: what the pool does, with a made-up Ray."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import pytest
from ray.exceptions import ActorDiedError, ObjectLostError, RayTaskError, RuntimeEnvSetupError

from alphago.errors import TrainingError
from alphago.network.precision import Inference
from selfplay import actor_slots, ray_pool, silence
from selfplay.places import Place
from selfplay.ray_pool import RayPool
from selfplay.ray_processes import RayLostError
from selfplay.reports import NewNetwork, PlayReport
from tests.train.tiny import actor_setup

LIMIT_MINUTES = 10.0
MAX_IN_FLIGHT = 3
NODE_DIGITS = 56  # of Ray's name of a machine, which is hexadecimal


class Call:
    """A call of an actor, which stands for its answer."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer
        self.is_answered = False
        self.error: Exception | None = None


class FakeActor:
    """Answers its calls in order, one each time that somebody waits."""

    def __init__(self, options: Mapping[str, Any], first_stream: int, seat: int) -> None:
        strategy = options.get("scheduling_strategy")
        self.node = "" if strategy is None else strategy.node_id[0]
        self.options = options
        self.first_stream, self.seat = first_stream, seat
        self.weights: list[object] = []
        self.open: list[Call] = []
        self.error: Exception | None = None  # what calls of a dead one raise
        self.hangs = False
        self.was_ended = False

    def __getattr__(self, name: str) -> "FakeMethod":
        return FakeMethod(self, name)

    def die(self) -> None:
        """Dies; what it has answered stays answered, and the other calls have an error."""
        self.error = dead()
        self.answer()

    def answer(self) -> None:
        ready = self.open if self.error else self.open[:1]
        for call in [] if self.hangs else list(ready):
            call.is_answered, call.error = True, self.error
            self.open.remove(call)

    def _play(self, num_games: int) -> PlayReport:
        return PlayReport([self], num_games, None)  # type: ignore[arg-type, list-item]

    def _set_network(self, network: NewNetwork) -> Inference:
        self.weights.append(network.version)
        return Inference("torch", "fp32", None, {})

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)


class FakeMethod:
    def __init__(self, actor: FakeActor, name: str) -> None:
        self._actor = actor
        self._work = getattr(type(actor), f"_{name}")

    def remote(self, *arguments: Any) -> Call:
        call = Call(lambda: self._work(self._actor, *arguments))
        self._actor.open.append(call)
        return call


class FakeRay:
    """As much of Ray as the pool uses, with a clock that runs while somebody waits in vain."""

    def __init__(self) -> None:
        self.actors: list[FakeActor] = []
        self.now = 1000.0
        self.put_values: list[Any] = []

    def remote(self, **options: Any) -> Callable[[type], Any]:
        def begin(kind: type) -> Any:
            ray = self

            class Class:
                @staticmethod
                def remote(setup: object, first_stream: int, seat: int) -> FakeActor:
                    ray.actors.append(FakeActor(options, first_stream, seat))
                    return ray.actors[-1]

            return Class

        return begin

    def wait(
        self, calls: list[Call], *, num_returns: int, timeout: float
    ) -> tuple[list[Call], list[Call]]:
        if timeout:
            for actor in self.living():
                actor.answer()
        ready = [call for call in calls if call.is_answered]
        if not ready:
            self.now += timeout
        return ready[:num_returns], [call for call in calls if not call.is_answered]

    def get(self, call: Call) -> Any:
        assert call.is_answered
        if call.error is not None:
            raise call.error
        return call.answer()

    def put(self, value: object) -> object:
        self.put_values.append(value)
        return value

    def kill(self, actor: FakeActor) -> None:
        actor.was_ended = True

    def living(self) -> list[FakeActor]:
        return [actor for actor in self.actors if not actor.was_ended]

    # of `time`

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class FakeProcesses:
    """Processes of Ray that the test ends."""

    are_lost = False

    def look(self) -> None:
        if FakeProcesses.are_lost:
            raise RayLostError("Ray's raylet has ended")

    look_now = look


class FakePlaces:
    """Machines that the test adds and removes, each with so many actors."""

    def __init__(self, **numbers: int) -> None:
        self.numbers = numbers

    def look(self, excluded: Collection[str] = ()) -> Mapping[str, Place]:
        return {
            name * NODE_DIGITS: Place(f"machine {name}", number, num_groups=2, gpu_share=0.0)
            for name, number in self.numbers.items()
            if name * NODE_DIGITS not in excluded
        }

    look_again = look


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    fake = FakeRay()
    monkeypatch.setattr(actor_slots, "ray", fake)
    monkeypatch.setattr(ray_pool, "ray", fake)
    monkeypatch.setattr(ray_pool, "RayProcesses", FakeProcesses)
    monkeypatch.setattr(FakeProcesses, "are_lost", False)
    monkeypatch.setattr(actor_slots, "time", fake)
    monkeypatch.setattr(silence, "time", fake)
    yield fake


def open_pool(places: FakePlaces, *, max_restarts: int = 2) -> RayPool:
    """Opens a pool whose actors have started and have weights of version 1."""
    setup = actor_setup(
        mode="ray",
        max_in_flight=MAX_IN_FLIGHT,
        max_restarts=max_restarts,
        silence_limit_minutes=LIMIT_MINUTES,
    )
    pool = RayPool(setup, places, first_actor=100)
    pool.publish(network(1))
    play(pool, times=4)
    return pool


def network(version: int) -> NewNetwork:
    return NewNetwork(version, {})


def play(pool: RayPool, *, times: int = 6) -> list[FakeActor]:
    """Collects reports a number of times and returns who has sent them."""
    reports = [report for _ in range(times) for report in pool.collect(1.0)]
    return [report.records[0] for report in reports]  # type: ignore[misc]


def dead(reason: str = "The actor died.") -> ActorDiedError:
    error = ActorDiedError()
    error.error_msg = (  # in Ray's form
        "The actor died unexpectedly before finishing this task.\n"
        f"\tclass_name: SelfPlayActor\n\tpid: 4711\n{reason}"
    )
    return error


def machines(actors: Collection[FakeActor]) -> list[str]:
    return sorted(actor.node for actor in actors)


def never() -> bool:
    return False


# ----- machines


def test_actors_play_on_all_machines_and_no_stream_is_used_twice(ray: FakeRay) -> None:
    pool = open_pool(FakePlaces(a=2, b=1))
    assert machines(ray.actors) == ["a", "a", "b"]
    assert [actor.first_stream for actor in ray.actors] == [100, 102, 104]  # two groups each
    assert {actor.node for actor in play(pool)} == {"a", "b"}
    state = pool.state()
    assert (state.num_actors, state.num_starting, state.num_machines) == (3, 0, 2)


def test_a_machine_that_joins_gets_actors_with_the_newest_weights(ray: FakeRay) -> None:
    places = FakePlaces(a=1)
    pool = open_pool(places)
    pool.publish(network(7))
    places.numbers["b"] = 2
    pool.collect(0.0)
    assert pool.state().num_starting == 2
    assert {actor.node for actor in play(pool)} == {"a", "b"}
    assert [actor.weights for actor in ray.actors if actor.node == "b"] == [[7], [7]]
    assert pool.state()[:3] == (3, 0, 2)
    versions = [network.version for network in ray.put_values]
    assert versions == [1, 7]  # once each, for all


@pytest.mark.parametrize("is_seen_first", [True, False])
def test_a_machine_that_is_gone_takes_its_actors_with_it_and_costs_no_restart(
    is_seen_first: bool, ray: FakeRay, caplog: pytest.LogCaptureFixture
) -> None:
    places = FakePlaces(a=1, b=2)
    pool = open_pool(places, max_restarts=0)
    for actor in ray.actors:
        if actor.node == "b":
            actor.error = dead()
    del places.numbers["b"]
    if not is_seen_first:  # an answer tells before the next look does
        assert pool._fetch(1.0) is not None
    assert {actor.node for actor in play(pool)} == {"a"}
    assert pool.state()[:4] == (1, 0, 1, 0)
    assert "machine b is gone, and 2 self-play actors with it; 1 are left" in caplog.text
    assert all(actor.was_ended for actor in ray.actors if actor.node == "b")


def test_a_run_waits_for_a_machine_and_ends_when_none_comes_for_too_long(ray: FakeRay) -> None:
    places = FakePlaces(a=1)
    pool = open_pool(places)
    places.numbers.clear()
    assert play(pool, times=60) == []
    assert pool.num_actors == 1  # for whoever divides work
    places.numbers["b"] = 1
    assert {actor.node for actor in play(pool)} == {"b"}
    places.numbers.clear()
    with pytest.raises(TrainingError, match=r"no actor has been there for 10\.0 minutes: .*=10$"):
        play(pool, times=1000)


def test_actors_are_not_moved_and_their_number_stays(ray: FakeRay) -> None:
    places = FakePlaces(a=2)
    pool = open_pool(places)
    places.numbers = {"a": 1, "b": 1}  # as two that were asked for are dealt out now
    play(pool)
    assert machines(ray.living()) == ["a", "a"]
    del places.numbers["a"]
    play(pool)
    assert machines(ray.living()) == ["b"]


# ----- actors that die


@pytest.mark.parametrize(
    "error", [dead("The actor died."), ObjectLostError("00", None, "lost its answer")]
)
def test_a_dead_actor_is_replaced_where_it_was(
    error: Exception, ray: FakeRay, caplog: pytest.LogCaptureFixture
) -> None:
    pool = open_pool(FakePlaces(a=1, b=1))
    victim = ray.actors[1]
    victim.error = error
    assert {actor.node for actor in play(pool, times=12)} == {"a", "b"}
    assert machines(ray.living()) == ["a", "b"]
    assert victim.was_ended  # it may only be out of reach
    assert pool.state().num_restarts == 1
    assert "self-play actor 1 died on machine b (1 of 2 restarts):" in caplog.text
    assert ray.actors[-1].weights == [1]
    assert len({actor.first_stream for actor in ray.actors}) == 3


def test_a_machine_on_which_too_many_actors_die_is_given_up(
    ray: FakeRay, caplog: pytest.LogCaptureFixture
) -> None:
    places = FakePlaces(a=1, b=1)
    pool = open_pool(places)
    for _ in range(3):
        next(actor for actor in ray.living() if actor.node == "b").error = dead()
        play(pool)
    assert machines(ray.living()) == ["a"]
    assert "died on machine b and selfplay.max_restarts=2 is used up" in caplog.text
    assert "no more actors are started there" in caplog.text
    places.numbers["c"] = 1  # another machine has its own count
    play(pool)
    assert machines(ray.living()) == ["a", "c"]
    for _ in range(3):
        next(actor for actor in ray.living() if actor.node == "a").error = dead()
        play(pool)
    assert machines(ray.living()) == ["c"]
    for actor in ray.living():
        actor.error = dead()
    del places.numbers["a"], places.numbers["b"]
    play(pool)
    assert machines(ray.living()) == ["c"]


def test_without_another_machine_the_run_ends_with_the_reason(ray: FakeRay) -> None:
    pool = open_pool(FakePlaces(a=2), max_restarts=0)
    ray.actors[1].error = dead("Killed by somebody.")
    text = r"^self-play actor 1 died on machine a and .*max_restarts=0 is used up: pid 4711, Killed"
    with pytest.raises(TrainingError, match=text):
        play(pool)
    assert ray.living() == []


def failed_start() -> ActorDiedError:
    error = dead("The actor died because of an error")
    error._actor_init_failed = True
    error.error_msg += "\nModuleNotFoundError: No module named 'openvino'"
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (failed_start(), "ModuleNotFoundError: No module named 'openvino'"),
        (
            RuntimeEnvSetupError("disk\nis full"),
            "Failed to set up runtime environment. disk is full",
        ),
    ],
)
def test_a_machine_on_which_actors_cannot_start_is_given_up_at_once(
    error: Exception, reason: str, ray: FakeRay, caplog: pytest.LogCaptureFixture
) -> None:
    places = FakePlaces(a=1)
    pool = open_pool(places)
    places.numbers["b"] = 2
    pool.collect(0.0)
    for actor in ray.living():
        if actor.node == "b":
            actor.error = error
    play(pool)
    assert machines(ray.living()) == ["a"]
    assert f"cannot start on machine b: {reason}; no more actors" in caplog.text
    assert pool.state().num_restarts == 0
    del places.numbers["a"]
    places.numbers["c"] = 1
    play(pool, times=1)
    next(actor for actor in ray.living() if actor.node == "c").error = error
    with pytest.raises(TrainingError, match=f"cannot start on machine c: .*{reason[:10]}"):
        play(pool)


@pytest.mark.parametrize("max_restarts", [0, 2])
def test_no_game_that_has_arrived_is_lost_with_an_actor(max_restarts: int, ray: FakeRay) -> None:
    pool = open_pool(FakePlaces(a=2), max_restarts=max_restarts)
    while pool.is_busy():
        pool.drain(1.0)
    pool.collect(0.0)
    first, second = ray.actors
    first.answer()  # of its three calls two end, and then it dies
    first.answer()
    games = [first, first]
    first.die()
    second.answer()
    games.append(second)
    assert [report.records[0] for report in pool.drain(0.0)] == games
    if max_restarts == 0:
        with pytest.raises(TrainingError, match="is used up"):
            pool.drain(0.0)
    else:
        assert pool.state().num_restarts == 1


# ----- actors that hang


def test_one_actor_that_hangs_while_others_answer_is_replaced(
    ray: FakeRay, caplog: pytest.LogCaptureFixture
) -> None:
    pool = open_pool(FakePlaces(a=1, b=1))
    ray.actors[0].hangs = True
    for _ in range(12):
        play(pool, times=2)
        ray.now += 59.0
    assert machines(ray.living()) == ["a", "b"]
    assert ray.actors[0].was_ended
    assert "self-play actor 0 hangs on machine a (1 of 2 restarts): no answer for 10" in caplog.text
    assert {actor.node for actor in play(pool)} == {"a", "b"}


def test_all_actors_that_hang_at_once_end_the_run(ray: FakeRay) -> None:
    pool = open_pool(FakePlaces(a=1, b=1))
    for actor in ray.actors:
        actor.hangs = True
    text = r"^2 of 2 self-play actors have been silent for 10\.0 minutes; .*limit_minutes=10$"
    with pytest.raises(TrainingError, match=text):
        play(pool, times=1000)


def test_weights_do_not_pile_up_for_an_actor_that_hangs(ray: FakeRay) -> None:
    pool = open_pool(FakePlaces(a=1))
    (actor,) = ray.actors
    play(pool, times=3)
    actor.hangs = True
    for version in range(2, 20):
        pool.publish(network(version))
        pool.collect(1.0)
    assert len(actor.open) <= MAX_IN_FLIGHT + 1
    actor.hangs = False
    play(pool, times=12)
    assert actor.weights == [1, 2, 19]


def test_no_more_calls_are_open_than_there_may_be(ray: FakeRay) -> None:
    pool = open_pool(FakePlaces(a=1, b=1))
    for _ in range(5):
        pool.collect(0.0)
    state = pool.state()
    assert (state.num_in_flight, state.most_in_flight) == (2 * MAX_IN_FLIGHT, 2 * MAX_IN_FLIGHT + 2)


# ----- map


def test_map_keeps_its_order_while_machines_come_and_go(ray: FakeRay) -> None:
    places = FakePlaces(a=1, b=1)
    pool = open_pool(places)
    done: list[int] = []

    def work(number: int) -> int:
        done.append(number)
        if len(done) == 3:  # while it waits for two calls
            del places.numbers["b"]
            places.numbers["c"] = 1
        if len(done) == 5:
            next(actor for actor in ray.living() if actor.node == "c").error = dead()
        return -number

    results = pool.map(work, [(number,) for number in range(12)], give_up=never)
    assert results == [-number for number in range(12)]
    assert machines(ray.living()) == ["a", "c"]
    assert pool.map(work, [], give_up=never) == []
    assert pool.map(work, [(1,)], give_up=lambda: True) is None


def test_map_drops_no_games_of_an_actor_that_starts_meanwhile(ray: FakeRay) -> None:
    places = FakePlaces(a=1)
    pool = open_pool(places)
    places.numbers["b"] = 1
    pool.collect(0.0)  # plays are open before the actor has started
    newcomer = ray.actors[-1]
    for _ in range(MAX_IN_FLIGHT):
        newcomer.answer()
    assert pool.map(never, [()] * 5, give_up=never) == [False] * 5
    assert pool.state().num_starting == 0
    games = [report.records[0] for report in pool.drain(0.0)]
    assert newcomer in games


def test_map_replaces_an_actor_that_hangs_and_does_its_work_elsewhere(ray: FakeRay) -> None:
    pool = open_pool(FakePlaces(a=1, b=1))
    play(pool)
    while pool.is_busy():
        pool.drain(1.0)

    def work(number: int) -> int:
        ray.now += 50.0
        if number == 1:
            ray.actors[0].hangs = True
        return number

    assert pool.map(work, [(n,) for n in range(30)], give_up=never) == list(range(30))
    assert ray.actors[0].was_ended


def test_errors_of_the_function_itself_come_through(ray: FakeRay) -> None:
    pool = open_pool(FakePlaces(a=1))

    def fail() -> None:
        raise RayTaskError("work", "Traceback ...", ZeroDivisionError("division by zero"))

    with pytest.raises(RayTaskError):
        pool.map(fail, [()], give_up=never)


def test_an_actor_that_gets_no_room_keeps_nobody_waiting(ray: FakeRay) -> None:
    pool = open_pool(FakePlaces(a=2))
    pool.publish(network(1))
    ray.actors[1].hangs = True
    while not pool.collect(1.0):
        pass
    while pool.is_busy():
        pool.drain(1.0)
    assert pool.state().num_starting == 1
    ray.actors[1].hangs = False
    while pool.state().num_starting:
        pool.drain(1.0)


def test_each_actor_of_a_machine_has_a_seat_of_its_own_which_the_next_one_takes_over(
    ray: FakeRay,
) -> None:
    pool = open_pool(FakePlaces(a=2, b=2))
    assert [actor.seat for actor in ray.actors] == [0, 1, 0, 1]
    pool.map(divmod, [(1, 1)] * 4, give_up=never)
    ray.actors[0].die()
    while len(ray.actors) == 4:
        pool.collect(1.0)
    assert ray.actors[4].seat == 0


class LostRay(FakeRay):
    """Ray without its processes: a call would end the process that makes it."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("put", "kill", "remote"):
            pytest.fail(f"ray.{name} was called")
        return super().__getattribute__(name)


@pytest.mark.parametrize("action", ["collect", "drain", "map", "publish"])
def test_without_rays_processes_the_run_ends_and_ray_is_left_alone(
    action: str, ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = open_pool(FakePlaces(a=2))
    monkeypatch.setattr(FakeProcesses, "are_lost", True)
    ray.__class__ = LostRay
    actions: dict[str, Callable[[], object]] = {
        "collect": lambda: pool.collect(1.0),
        "drain": lambda: pool.drain(1.0),
        "map": lambda: pool.map(never, [()], give_up=never),
        "publish": lambda: pool.publish(network(9)),
    }
    assert pool.store_share() == 0.0  # a number is no reason not to save a run
    with pytest.raises(RayLostError, match="raylet has ended"):
        actions[action]()
    pool.close()
    assert pool.num_actors == 1


def test_an_actor_that_died_with_ray_is_not_replaced(
    ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = open_pool(FakePlaces(a=2))
    ray.actors[0].error = dead()

    def wait_and_lose(calls: list[Call], **how: Any) -> tuple[list[Call], list[Call]]:
        ready = FakeRay.wait(ray, calls, **how)
        monkeypatch.setattr(FakeProcesses, "are_lost", True)
        monkeypatch.setattr(ray, "kill", lambda actor: pytest.fail("ray.kill was called"))
        return ready

    monkeypatch.setattr(ray, "wait", wait_and_lose)
    with pytest.raises(RayLostError):
        play(pool)
    assert len(ray.actors) == 2


def test_close_ends_all_actors(ray: FakeRay, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        pool = open_pool(FakePlaces(a=1, b=1))
        pool.close()
        pool.close()
    assert ray.living() == []
    assert not pool.is_busy()
    assert caplog.records == []
