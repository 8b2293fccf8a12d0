"""Workers that play parts of matches: this process, or several processes of Ray."""

import contextlib
import itertools
import os
import signal
from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

import psutil

from alphago.errors import PlayerError, TrainingError
from alphago.games import Game, make_game
from alphago.players import Player, make_player
from alphago.players.engine import EngineSettings
from alphago.players.game_follower import GameFollower
from eval.match_plan import MatchPart, play_part
from eval.matches import MatchProgress, MatchResult
from scripts.matches.players import find_player
from scripts.matches.settings import TIMEOUT_S
from selfplay.cpus import usable_cpus

# A worker keeps the players that it has used last: a network takes seconds to load, and memory. In
# a ladder a checkpoint plays five opponents in turn.
_MOST_PLAYERS = 8

_CLOSE_S = 5.0  # for a worker to end its GTP programs; then it is ended with them
_LOOK_S = 1.0  # how often the processes of Ray are looked for while workers play


# Which task it was (from 0, in the order in which they were taken) and its result.
FinishedTasks: TypeAlias = Generator[tuple[int, MatchResult], None, None]


class WorkerError(TrainingError):
    """A process that plays games has died."""


class MatchTask(NamedTuple):
    """A part of a match, as plain data that travels to a worker.

    Attributes:
        game: the game as text, `NAME[:key=value,...]`.
        players: the first and the second player as text, see `alphago.players.text`.
        part: the games.
        timeout_s: seconds that a move of a GTP program may take.
        names: how players of runs and checkpoints are called, in the result and in the seeds of
            their random choices; None for their texts.
        networks: the hashes of their networks, as in `MatchPlayer`; None where any will do.
    """

    game: str
    players: tuple[str, str]
    part: MatchPart
    timeout_s: float = TIMEOUT_S
    names: tuple[str, str] | None = None
    networks: tuple[str | None, str | None] = (None, None)


class Workers(Protocol):
    """The workers of a match or a ladder.

    Attributes:
        num_workers: how many tasks are played at a time.
    """

    num_workers: int

    def run(
        self, tasks: Iterable[MatchTask], *, progress: MatchProgress | None = None
    ) -> FinishedTasks:
        """Plays tasks, each on one worker.

        A task is taken from the iterator when a worker is free to play it, so what comes next may
        depend on the results so far. An iterator that has none at the moment is asked again after
        the next result. Whoever closes the generator drops the tasks that are being played.

        Args:
            tasks: what to play.
            progress: as in `play_match`, of the task that is being played; told where one worker
                plays in this process alone.

        Yields:
            Which task it was (from 0, in the order in which they were taken) and its result, as
            they finish.

        Raises:
            AlphagoError: whatever ended a task, as it was raised by the worker.
            MatchInterruptedError: on Ctrl-C in this process, with the games of the running task.
            KeyboardInterrupt: on Ctrl-C while other processes play.
            WorkerError: if a worker has died.
        """
        ...


@contextlib.contextmanager
def workers(num_workers: int, *, here: "MatchWorker | None" = None) -> Iterator[Workers]:
    """Makes workers for the time of the block, in which a request to terminate counts as Ctrl-C.

    Args:
        num_workers: how many. One is this process, more are processes of Ray, of one thread each.
        here: the worker of this process, where it exists already and has made players.

    Yields:
        The workers.

    Raises:
        TrainingError: if Ray does not start.
    """
    if num_workers == 1:
        with (
            contextlib.closing(here or MatchWorker(num_processes=usable_cpus())) as worker,
            interrupted_by_signals(),
        ):
            yield InlineWorkers(worker)
        return
    from scripts.ray_session import ray_session

    num_gpus = _num_gpus()
    with ray_session(num_actors=num_workers, num_gpus=num_gpus):
        pool = RayWorkers(num_workers, num_gpus=num_gpus)
        with contextlib.closing(pool), interrupted_by_signals():
            yield pool


@contextlib.contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Lets a request to terminate and a lost terminal count as Ctrl-C, so that results are told.

    What `nohup` ignores stays ignored. Ray, which must run by now, would print its stack and exit.
    """
    signals = [
        each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN
    ]
    before = {each: signal.signal(each, signal.default_int_handler) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class _PlayerKey(NamedTuple):
    """Which player of a worker it is; the fields as in `MatchTask`."""

    game: str
    text: str
    name: str
    network: str | None
    timeout_s: float
    is_twin: bool  # the second one, where both players of a match are the same


class MatchWorker:
    """Plays tasks one after the other, and keeps the players it has used last."""

    def __init__(self, *, num_processes: int = 1) -> None:
        """Begins without players.

        Args:
            num_processes: GTP programs at a time, for each player that is one.
        """
        self._num_processes = num_processes
        self._games: dict[str, Game] = {}
        self._players: dict[_PlayerKey, Player] = {}  # the one used last is the last

    def game(self, text: str) -> Game:
        """Returns the game of a text.

        Raises:
            AlphagoError: if there is none.
        """
        if text not in self._games:
            self._games[text] = make_game(text)
        return self._games[text]

    def players(
        self,
        game: str,
        texts: tuple[str, str],
        *,
        names: tuple[str, str] | None = None,
        networks: tuple[str | None, str | None] = (None, None),
        timeout_s: float = TIMEOUT_S,
    ) -> tuple[Player, Player]:
        """Returns two players, also where their texts are equal; the arguments as in `MatchTask`.

        Raises:
            PlayerError: if the network of one is another than it should be.
            AlphagoError: if one cannot be made.
        """
        first, second = (
            _PlayerKey(game, text, name, network, timeout_s, is_twin=False)
            for text, name, network in zip(texts, names or texts, networks, strict=True)
        )
        if first == second:
            second = second._replace(is_twin=True)
        return self._player(first), self._player(second)

    def play(self, task: MatchTask, progress: MatchProgress | None = None) -> MatchResult:
        """Plays a task, see `play_part`."""
        first, second = self.players(
            task.game,
            task.players,
            names=task.names,
            networks=task.networks,
            timeout_s=task.timeout_s,
        )
        return play_part(self.game(task.game), first, second, task.part, progress)

    def process_id(self) -> int:
        """Returns the number of the process that it runs in."""
        return os.getpid()

    def close(self) -> None:
        """Drops the players and ends the GTP programs."""
        while self._players:
            self._drop_oldest()

    def _player(self, key: _PlayerKey) -> Player:
        player = self._players.pop(key, None) or self._make(key)
        self._players[key] = player
        if len(self._players) > _MOST_PLAYERS:
            self._drop_oldest()
        return player

    def _make(self, key: _PlayerKey) -> Player:
        player = make_player(
            key.text,
            game=self.game(key.game),
            engines=EngineSettings(timeout_s=key.timeout_s, num_processes=self._num_processes),
            name=key.name,
        )  # without a seed: `play_part` gives one for each part
        # Looked at afterwards: what is here now may be newer than what the player has loaded, which
        # stops the match for nothing, but never the other way round.
        if key.network is not None and find_player(key.text).network != key.network:
            raise PlayerError(f"{key.name}: its network has been replaced since the match began")
        return player

    def _drop_oldest(self) -> None:
        player = self._players.pop(next(iter(self._players)))
        if isinstance(player, GameFollower):
            player.close()


class InlineWorkers:
    """One worker, this process."""

    num_workers = 1

    def __init__(self, worker: MatchWorker) -> None:
        """Keeps the worker."""
        self._worker = worker

    def run(
        self, tasks: Iterable[MatchTask], *, progress: MatchProgress | None = None
    ) -> FinishedTasks:
        """Plays tasks one after the other, see `Workers`."""
        upcoming = iter(tasks)
        for number in itertools.count():
            task = next(upcoming, None)
            if task is None:
                return
            yield number, self._worker.play(task, progress)


class RayWorkers:
    """Workers in processes of their own. Ray must have been started."""

    def __init__(self, num_workers: int, *, num_gpus: int) -> None:
        """Prepares them; each starts with its first task.

        Args:
            num_workers: how many.
            num_gpus: GPUs that they share.
        """
        import ray

        from selfplay.ray_processes import RayProcesses
        from selfplay.resources import gpu_share

        self._processes = RayProcesses()
        share = gpu_share(num_actors=num_workers, num_gpus=num_gpus)
        # One CPU: Ray makes it OMP_NUM_THREADS.
        self._remote_worker = ray.remote(num_cpus=1, num_gpus=share)(MatchWorker)
        self.num_workers = num_workers
        # By slot, from 0 to num_workers - 1.
        self._actors: dict[int, Any] = {}
        self._process_ids: dict[int, Any] = {}  # open or answered calls

    def run(
        self, tasks: Iterable[MatchTask], *, progress: MatchProgress | None = None
    ) -> FinishedTasks:
        """Plays as many tasks at a time as there are workers, see `Workers`."""
        upcoming, numbers = iter(tasks), itertools.count()
        calls: dict[Any, tuple[int, int]] = {}  # open call -> the task's number, the worker's slot
        try:
            while True:
                busy = {slot for _, slot in calls.values()}
                for slot in sorted(set(range(self.num_workers)) - busy):
                    if (task := next(upcoming, None)) is None:
                        break
                    calls[self._actor(slot).play.remote(task)] = (next(numbers), slot)
                if not calls:
                    return
                ready = self._wait(list(calls))
                number, slot = calls[ready[0]]
                result = _answer(ready[0], slot=slot)
                del calls[ready[0]]
                yield number, result
        finally:
            self._end([slot for _, slot in calls.values()])

    def close(self) -> None:
        """Ends all workers and their GTP programs; what they are playing is dropped."""
        import ray

        from selfplay.ray_processes import RayLostError

        with contextlib.suppress(RayLostError):
            self._processes.look_now()
            goodbyes = [actor.close.remote() for actor in self._actors.values()]
            if goodbyes:
                ray.wait(goodbyes, num_returns=len(goodbyes), timeout=_CLOSE_S)
        self._end(list(self._actors))

    def _wait(self, calls: list[Any]) -> list[Any]:
        """Waits until a call is answered.

        Raises:
            RayLostError: if Ray has ended meanwhile.
        """
        import ray

        ready: list[Any] = []
        while not ready:
            self._processes.look()
            ready, _ = ray.wait(calls, num_returns=1, timeout=_LOOK_S)
        return ready

    def _actor(self, slot: int) -> Any:
        """Returns the worker of a slot, started if there is none."""
        if slot not in self._actors:
            self._actors[slot] = self._remote_worker.remote()
            self._process_ids[slot] = self._actors[slot].process_id.remote()
        return self._actors[slot]

    def _end(self, slots: list[int]) -> None:
        """Ends workers at once; without Ray they end by themselves."""
        from selfplay.ray_processes import RayLostError

        with contextlib.suppress(RayLostError):
            self._processes.look_now()
            for slot in slots:
                self._end_one(slot)

    def _end_one(self, slot: int) -> None:
        """Ends a worker, and the programs that it has started, which would outlive it."""
        import ray
        from ray.exceptions import GetTimeoutError, RayError

        programs: list[psutil.Process] = []
        # A worker that has not started yet, or has died, has no programs that can be found.
        with contextlib.suppress(RayError, GetTimeoutError, psutil.Error):
            process_id = ray.get(self._process_ids.pop(slot), timeout=0)
            programs = psutil.Process(process_id).children(recursive=True)
        ray.kill(self._actors.pop(slot))
        for program in programs:
            with contextlib.suppress(psutil.Error):
                program.kill()


def _answer(call: Any, *, slot: int) -> Any:
    """Returns what a call answered; an error of ours comes as it was raised in the worker."""
    from selfplay.actor_slots import DEAD, answer_of, reason_of_death

    try:
        return answer_of(call)
    except DEAD as error:
        raise WorkerError(f"worker {slot + 1} died: {reason_of_death(error)}") from error


def _num_gpus() -> int:
    """Returns how many GPUs there are for the workers to share."""
    import torch

    from alphago.network.evaluator import cuda_fault

    return 0 if cuda_fault() else torch.cuda.device_count()
