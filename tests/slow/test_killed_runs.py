"""`kill -9` of a run at random moments: it always starts again, and no finished game is lost."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from alphago.games import make_game
from selfplay.records import read_records
from train.checkpoint import newest_checkpoint
from train.targets import rows_from_records

pytestmark = pytest.mark.slow

NUM_KILLS = 20
OPTIONS = [
    "game=tic_tac_toe",
    "suite.file=null",
    "network=tiny",
    "selfplay.num_actors=2",
    "selfplay.num_simulations=16",
    "selfplay.fast_num_simulations=8",
    "selfplay.num_games=16",
    "games_per_iteration=40",
    "gate.num_games=4",
    "gate.num_simulations=8",
    "gate.opening_plies=2",
    "train.batch_size=32",
    "minutes=60",
]


def alphago(*words: str, output: Path) -> subprocess.Popen[bytes]:
    with output.open("ab") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "scripts.main", *words],
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def record_numbers(run: Path) -> list[tuple[int, int]]:
    """Returns (number of the first game, games) of each record file, in order."""
    names = sorted(path.stem for path in (run / "records").glob("*.npz"))
    return [(int(first), int(count)) for first, count in (name.split("-") for name in names)]


def games_on_disk(run: Path) -> int:
    return sum(count for _, count in record_numbers(run))


def games_logged(run: Path) -> int:
    """Returns the most games that any line of the log counted; the last line may be cut."""
    most = 0
    for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        most = max(most, entry.get("selfplay/games", entry.get("games", 0)))
    return most


def ray_processes() -> Iterator[psutil.Process]:
    for process in psutil.process_iter(["cmdline"]):
        if "alphago-" in " ".join(process.info["cmdline"] or []) and process.pid != os.getpid():
            yield process


def test_a_run_killed_twenty_times_loses_no_finished_game(tmp_path: Path) -> None:
    rng = np.random.default_rng(2024)
    run, output = tmp_path / "run", tmp_path / "output.txt"
    step, games = 0, 0
    for kill in range(NUM_KILLS):
        began = kill > 0 and (run / "config.yaml").exists()
        words = ["resume", str(run)] if began else ["train", *OPTIONS, f"run_dir={run}"]
        process = alphago(*words, output=output)
        time.sleep(float(rng.uniform(4.0, 16.0)))
        assert process.poll() is None, output.read_text()[-3000:]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not (run / "config.yaml").exists():
            for path in run.glob("*"):
                path.unlink()
            continue
        found = newest_checkpoint(run)
        if found is None:
            continue
        assert found[1].step >= step, "went back behind a complete checkpoint"
        assert games_on_disk(run) >= max(games, games_logged(run)), "a finished game was lost"
        step, games = found[1].step, games_on_disk(run)
    process = alphago("resume", str(run), "steps=" + str(step + 20), output=output)
    assert process.wait(timeout=120) == 0, output.read_text()[-3000:]

    numbers = record_numbers(run)
    assert [first for first, _ in numbers] == [0, *np.cumsum([n for _, n in numbers])[:-1].tolist()]
    game = make_game("tic_tac_toe")
    for path in sorted((run / "records").glob("*.npz")):
        rows_from_records(game, read_records(path))
    deadline = time.monotonic() + 60
    while list(ray_processes()) and time.monotonic() < deadline:
        time.sleep(1.0)
    assert not list(ray_processes()), "processes were left behind"
