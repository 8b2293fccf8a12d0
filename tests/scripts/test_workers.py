"""Workers that play parts of matches, in this process and in Ray's."""

import contextlib
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import ray

from alphago.errors import PlayerError
from alphago.players import make_player
from alphago.players.engine import EnginePlayer
from eval.match_plan import PAIRS_PER_PART, MatchPart, plan_match
from eval.matches import MatchResult
from scripts.main import main
from scripts.matches.players import find_player
from scripts.workers import MatchTask, MatchWorker, RayWorkers, WorkerError, Workers, workers
from tests.scripts.tiny_run import TINY

FAKE = Path(__file__).parents[1] / "reference" / "fake_gtp_engine.py"
WAIT_S = 60.0  # longest time for a process to start or to end on a busy machine


def parts(num_parts: int, *, seed: int = 0) -> list[MatchPart]:
    return plan_match([[cell % 7] for cell in range(PAIRS_PER_PART * num_parts)], seed=seed)


def tasks(num_tasks: int, *players: str, game: str = "tic_tac_toe") -> list[MatchTask]:
    first, second = players or ("random", "random")
    return [MatchTask(game, (first, second), part) for part in parts(num_tasks)]


def results_of(pool: Workers, wanted: list[MatchTask]) -> list[MatchResult]:
    """Returns the results in the order of the tasks."""
    results = dict(pool.run(wanted))
    return [results[number] for number in range(len(wanted))]


@pytest.fixture(scope="module")
def inline() -> Iterator[Workers]:
    with workers(1) as pool:
        yield pool


@pytest.fixture(scope="module")
def two() -> Iterator[RayWorkers]:
    """Two processes, started once for all tests here."""
    with workers(2) as pool:
        assert isinstance(pool, RayWorkers)
        yield pool


def test_players_are_made_once_for_each_game_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def count(text: str, **options: object) -> object:
        made.append(text)
        return make_player(text, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("scripts.workers.make_player", count)
    with workers(1) as pool:
        results_of(pool, tasks(3, "random", "alphabeta:depth=1"))
        assert made == ["random", "alphabeta:depth=1"]
        results_of(pool, tasks(1, "alphabeta:depth=1", "random"))
        assert len(made) == 2
        results_of(pool, tasks(1, "random", "random"))  # a twin
        results_of(pool, tasks(1, "random", "random", game="connect_four"))
    assert made[2:] == ["random", "random", "random"]


def test_the_players_of_a_match_are_two_even_if_their_texts_are_equal() -> None:
    first, second = MatchWorker().players("tic_tac_toe", ("random", "random"))
    assert first is not second


def test_the_players_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scripts.workers._MOST_PLAYERS", 2)
    worker = MatchWorker()
    engine, random = worker.players(
        "go_5x5", (f"gtp:{shlex.join([sys.executable, str(FAKE)])}", "random")
    )
    assert isinstance(engine, EnginePlayer)
    closed: list[bool] = []
    monkeypatch.setattr(engine, "close", lambda: closed.append(True))
    assert worker.players("go_5x5", ("random", "flat_mc:playouts=1"))[0] is random
    assert closed == [True]
    worker.close()
    assert worker.players("go_5x5", ("random", "minimax"))[0] is not random


def test_a_network_that_has_been_replaced_does_not_play(tmp_path: Path) -> None:
    runs = [tmp_path / "old", tmp_path / "new"]
    for seed, folder in enumerate(runs):
        assert main(["train", *TINY, f"run_dir={folder}", f"seed={seed}"]) == 0
    player = find_player(f"{runs[0]}:simulations=2")
    task = tasks(1, player.text, "random")[0]._replace(
        names=(player.typed, "random"), networks=(player.network, None)
    )
    assert MatchWorker().play(task).first == player.typed
    checkpoint = Path(player.text.partition(":")[0])
    shutil.rmtree(checkpoint)
    with pytest.raises(PlayerError, match=f"^{checkpoint}.*: no such"):
        MatchWorker().play(task)
    shutil.copytree(max((runs[1] / "checkpoints").iterdir()), checkpoint)
    with pytest.raises(PlayerError, match=f"^{player.typed}: its network has been replaced since"):
        MatchWorker().play(task)


def test_a_name_decides_the_random_choices_and_no_path(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert main(["train", *TINY, f"run_dir={folder}"]) == 0
    shutil.copytree(folder, tmp_path / "moved")
    wanted = [
        task._replace(names=("step=1", "random"))
        for path in (folder, tmp_path / "moved")
        for task in tasks(1, f"{path}:simulations=1", "random")
    ]
    worker = MatchWorker()
    assert worker.play(wanted[0]) == worker.play(wanted[1])


def test_tasks_are_taken_when_a_worker_is_free(inline: Workers) -> None:
    taken: list[int] = []

    def upcoming() -> Iterator[MatchTask]:
        for number, task in enumerate(tasks(3)):
            taken.append(number)
            yield task

    for number, _ in inline.run(upcoming()):
        assert taken == list(range(number + 1))
    assert taken == [0, 1, 2]


class Queue:
    """An iterator that may have more tasks later."""

    def __init__(self, *content: MatchTask) -> None:
        self.content = list(content)

    def __iter__(self) -> "Queue":
        return self

    def __next__(self) -> MatchTask:
        if not self.content:
            raise StopIteration
        return self.content.pop(0)


@pytest.mark.parametrize("kind", ["inline", "two"])
def test_more_tasks_may_come_with_the_results(kind: str, request: pytest.FixtureRequest) -> None:
    pool: Workers = request.getfixturevalue(kind)
    first, second, third = tasks(3)
    queue = Queue(first)
    numbers = []
    for number, _ in pool.run(queue):
        numbers.append(number)
        if number == 0:
            queue.content += [second, third]
    assert sorted(numbers) == [0, 1, 2]


def test_one_worker_and_two_give_the_same_games_bit_for_bit(
    inline: Workers, two: RayWorkers
) -> None:
    for players in (("random", "alphabeta:depth=2"), ("uct:playouts=8", "random")):
        wanted = tasks(5, *players)
        assert results_of(two, wanted) == results_of(inline, wanted)


@pytest.mark.parametrize("kind", ["inline", "two"])
def test_errors_come_as_they_were_raised(kind: str, request: pytest.FixtureRequest) -> None:
    pool: Workers = request.getfixturevalue(kind)
    with pytest.raises(PlayerError, match=r"^nobody: no such kind of player") as caught:
        results_of(pool, tasks(3, "random", "nobody"))
    assert "\n" not in str(caught.value)
    assert len(results_of(pool, tasks(2))) == 2  # it goes on


@pytest.mark.parametrize("kind", ["inline", "two"])
def test_a_request_to_terminate_counts_as_ctrl_c(kind: str, request: pytest.FixtureRequest) -> None:
    pool: Workers = request.getfixturevalue(kind)
    with pytest.raises(KeyboardInterrupt), contextlib.closing(pool.run(tasks(3))) as results:
        for _ in results:
            os.kill(os.getpid(), signal.SIGTERM)


def test_who_stops_early_can_go_on_with_other_tasks(two: RayWorkers) -> None:
    wanted = tasks(4)
    endless = tasks(1, "uct:playouts=1000000", "random", game="connect_four")
    running = two.run([wanted[0], *endless])
    assert next(running)[0] == 0
    running.close()
    assert results_of(two, wanted) == results_of(two, wanted)


def test_a_dead_worker_is_told_in_one_line(two: RayWorkers) -> None:
    endless = tasks(2, "uct:playouts=1000000", "random", game="connect_four")
    running = two.run([*tasks(1), *endless])
    next(running)
    victim = psutil.Process(ray.get(two._process_ids[1]))
    victim.kill()
    with pytest.raises(WorkerError, match=r"^worker 2 died: ") as caught:
        next(running)
    assert "\n" not in str(caught.value)
    assert len(results_of(two, tasks(2))) == 2  # another one takes its place


def has_ended(file: Path) -> bool:
    """Whether the program that has noted its number in a file is gone."""
    return not psutil.pid_exists(int(file.read_text()))


def test_programs_end_with_their_worker(two: RayWorkers, tmp_path: Path) -> None:
    script = "import os, sys, runpy; open(sys.argv[1], 'w').write(str(os.getpid())); "
    script += f"sys.argv = ['fake', '--flaw=hang:1']; runpy.run_path({str(FAKE)!r}, "
    script += "run_name='__main__')"
    file = tmp_path / "number"
    engine = "gtp:" + shlex.join([sys.executable, "-c", script, str(file)])
    (part,) = plan_match([[0]], seed=0)
    hanging = MatchTask("go_5x5", (engine, "random"), part, timeout_s=1000.0)
    running = two.run([hanging, *tasks(1)])
    assert next(running)[0] == 1
    deadline = time.monotonic() + WAIT_S
    while not (file.exists() and file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not has_ended(file)
    running.close()
    while not has_ended(file) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert has_ended(file)
