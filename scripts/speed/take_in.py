"""How many games a second a run takes in: alone, and from actors that sleep."""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path

import numpy as np
import psutil

from alphago.games import Game
from alphago.games.random_play import random_game
from scripts.speed.sleeping_actor import SleepingActor, SleepingSetup
from selfplay.actors import ActorSetup
from selfplay.places import OneMachine
from selfplay.policy_targets import PolicyTarget, pack
from selfplay.ray_pool import RayPool
from selfplay.records import GameName, GameRecord
from selfplay.reports import ActorMemory, NewNetwork, PlayReport, PlayStats
from train.config import RunConfig
from train.progress import PlainProgress
from train.reporting import Reporter
from train.run import WAIT_S, take_in
from train.session import Session, open_session

NUM_RECORDS = 64  # different games


@dataclass(frozen=True, kw_only=True)
class TakeIn:
    """What the process at the centre can take in, alone.

    Attributes:
        num_reports: reports that it finds at each look.
        games_per_s: finished games.
        store_share: share of the time that storing takes.
        bytes_per_game: on the disk.
    """

    num_reports: int
    games_per_s: float
    store_share: float
    bytes_per_game: float


@dataclass(frozen=True, kw_only=True)
class Offered:
    """What it takes in of what actors offer.

    Attributes:
        offered_per_s: games that the actors would finish if nobody made them wait.
        games_per_s: games taken in.
        busy_share: share of the time in which the process at the centre does not wait for games.
        most_waiting: reports that it found at one look, at most.
        bound: reports that there can be at most.
        growth_mb: by how much its memory has grown in the second half.
    """

    offered_per_s: float
    games_per_s: float
    busy_share: float
    most_waiting: int
    bound: int
    growth_mb: float


@dataclass(frozen=True)
class RunAtRest:
    """A new run of which nothing is played.

    Attributes:
        session: its parts.
        reporter: what it shows.
    """

    session: Session
    reporter: Reporter

    def take_in(self, reports: list[PlayReport]) -> None:
        """Takes reports in as a run does, and begins an iteration after as many games."""
        take_in(self.session, self.reporter, reports)
        if self.session.totals.num_games >= self.session.config.games_per_iteration:
            self.session.begin_iteration()


@contextmanager
def run_at_rest(config: RunConfig) -> Iterator[RunAtRest]:
    """Opens a run in a folder that is removed at the end."""
    inline = replace(config, selfplay=replace(config.selfplay, mode="inline"))
    with (
        tempfile.TemporaryDirectory(prefix="alphago-scale-") as folder,
        open_session(inline, Path(folder), resume=False) as session,
        PlainProgress(sys.stderr) as progress,
    ):
        session.begin_iteration()
        yield RunAtRest(session, Reporter(session, Path(folder), progress))


def sample_records(game: Game, config: RunConfig) -> list[GameRecord]:
    """Returns random games with as many policy targets as the run would give them.

    Each target has as many actions as its search could visit.
    """
    rng = np.random.default_rng(config.seed)
    return [_random_record(game, config, rng) for _ in range(NUM_RECORDS)]


def _random_record(game: Game, config: RunConfig, rng: np.random.Generator) -> GameRecord:
    actions, targets = random_game(game, rng), list[PolicyTarget | None]()
    is_target = rng.random(len(actions)) < config.selfplay.full_search_probability
    states = game.initial_states(1)
    for action, is_learnt in zip(actions, is_target.tolist(), strict=True):
        legal = np.flatnonzero(game.legal_actions(states)[0]).astype(np.int16)
        chosen = rng.permutation(legal)[: config.selfplay.num_simulations]
        shares = np.full(len(chosen), 1.0 / len(chosen), np.float32)
        targets.append(PolicyTarget(chosen, shares) if is_learnt else None)
        states = game.step(states, [action])
    return GameRecord(
        game=game.spec.name,
        rules=game.spec.rules,
        network_version=0,
        name=GameName(0, 0, 0),
        actions=np.array(actions, np.int16),
        root_values=rng.uniform(-1.0, 1.0, len(actions)).astype(np.float32),
        returns=game.returns(states)[0],
        truncated=bool(game.is_truncated(states)[0]),
        **pack(targets),
    )


def simulations_per_move(config: RunConfig) -> float:
    """Returns the mean simulations of a move; each asks the network for about one evaluation."""
    selfplay = config.selfplay
    full = selfplay.full_search_probability
    return full * selfplay.num_simulations + (1.0 - full) * selfplay.fast_num_simulations


def measure_take_in(
    run: RunAtRest, records: Sequence[GameRecord], *, num_reports: int, seconds: float
) -> TakeIn:
    """Takes reports in as fast as it can.

    Args:
        run: what takes them in.
        records: the games of which reports are made.
        num_reports: that arrive together.
        seconds: how long.
    """
    store = run.session.store
    numbers, before, files = count(store.num_games), store.num_games, set(store.folder.iterdir())
    watch = _Watch(store.append)
    store.append = watch  # type: ignore[method-assign]
    taken_s = 0.0
    while taken_s < seconds:
        reports = [_report(run.session, records, numbers) for _ in range(num_reports)]
        began = time.perf_counter()
        run.take_in(reports)
        taken_s += time.perf_counter() - began
    del store.append  # the method is seen again
    num_games = store.num_games - before
    num_bytes = sum(path.stat().st_size for path in set(store.folder.iterdir()) - files)
    return TakeIn(
        num_reports=num_reports,
        games_per_s=num_games / taken_s,
        store_share=watch.seconds / taken_s,
        bytes_per_game=num_bytes / num_games,
    )


class _Watch:
    """Calls a function and adds up the time."""

    def __init__(self, function: Callable[[Sequence[GameRecord]], None]) -> None:
        self.seconds = 0.0
        self._function = function

    def __call__(self, records: Sequence[GameRecord]) -> None:
        began = time.perf_counter()
        self._function(records)
        self.seconds += time.perf_counter() - began


def _report(session: Session, records: Sequence[GameRecord], numbers: Iterator[int]) -> PlayReport:
    """Returns a report of games that nobody has handed over yet."""
    num_games = session.setup.selfplay.games_per_call
    games = [
        replace(records[number % len(records)], name=GameName(0, 0, number))
        for number in islice(numbers, num_games)
    ]
    return PlayReport(games, PlayStats(1.0, 1.0, 1, 1, 1, 1, 1), ActorMemory(0, 0, 0))


def sleeping_setup(
    setup: ActorSetup, records: Sequence[GameRecord], *, games_per_s: float
) -> SleepingSetup:
    """Returns the setup of an actor that hands over so many games a second."""
    return SleepingSetup(**vars(setup), records=list(records), games_per_s=games_per_s)


def measure_offered(
    run: RunAtRest, setup: SleepingSetup, *, num_actors: int, seconds: float
) -> Offered:
    """Takes in what sleeping actors offer, as a run does. Ray must be running."""
    session = run.session
    places = OneMachine(num_actors=num_actors)
    pool = RayPool(setup, places, first_actor=0, actor_class=SleepingActor)
    with closing(pool):
        pool.publish(NewNetwork(0, session.best, session.positions))
        while pool.state().num_starting:
            pool.collect(WAIT_S)
        started, before = time.perf_counter(), session.store.num_games
        waited_s, most_waiting, memory = 0.0, 0, list[int]()
        while (elapsed := time.perf_counter() - started) < seconds:
            began = time.perf_counter()
            reports = pool.collect(WAIT_S)
            waited_s += time.perf_counter() - began
            most_waiting = max(most_waiting, len(reports))
            run.take_in(reports)
            memory.append(psutil.Process().memory_info().rss)
    return Offered(
        offered_per_s=setup.games_per_s * num_actors,
        games_per_s=(session.store.num_games - before) / elapsed,
        busy_share=1.0 - waited_s / elapsed,
        most_waiting=most_waiting,
        bound=num_actors * setup.selfplay.max_in_flight,
        growth_mb=(memory[-1] - memory[len(memory) // 2]) / 2**20,
    )
