"""What a soak has seen of the run: every file of games, and the counters after each sitting."""

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from alphago.errors import CheckpointError
from train.checkpoint import checkpoint_folders, read_state
from train.run_folder import RECORDS_FOLDER

LOG_FILE = "log.jsonl"


class Counters(NamedTuple):
    """What the newest checkpoint says that the run has done."""

    step: int
    iteration: int
    version: int
    games: int
    seconds: float


class Observer:
    """Looks at the folder of a run again and again.

    Attributes:
        run: the folder.
        files: hash of each file of games that was ever there, by name.
        counters: those of the newest checkpoint, once after each sitting.
        faults: what was seen that must not be.
    """

    def __init__(self, run: Path) -> None:
        """Has seen nothing yet."""
        self.run = run
        self.files: dict[str, str] = {}
        self.counters: list[Counters] = []
        self.faults: list[str] = []

    @property
    def num_games(self) -> int:
        """Games in all files that were seen."""
        return sum(count for _, count in map(numbers_of, self.files))

    def look(self) -> None:
        """Notes the files of games that have come."""
        for path in (self.run / RECORDS_FOLDER).glob("*.npz"):
            if path.name not in self.files:
                self.files[path.name] = hash_of(path)

    def note_sitting(self) -> None:
        """Notes the counters of the newest checkpoint, which must not be behind earlier ones."""
        self.look()
        found = newest_counters(self.run)
        if found is None:
            return
        if self.counters:
            for name, before, now in zip(Counters._fields, self.counters[-1], found, strict=True):
                if now < before:
                    self.faults.append(f"{name} fell from {before} to {now}")
        self.counters.append(found)

    def games_told(self) -> int:
        """Returns the most games that the log, or a checkpoint, has ever told of."""
        told = [each.games for each in self.counters]
        for event in read_log(self.run):
            told.append(int(event.get("selfplay/games", event.get("games", 0))))
        return max(told, default=0)


def newest_counters(run: Path) -> Counters | None:
    """Returns the counters of the newest checkpoint, None before the first."""
    for step, folder in reversed(checkpoint_folders(run).items()):
        with contextlib.suppress(CheckpointError):  # being replaced at this moment
            state = read_state(folder)
            counters = state["counters"]
            return Counters(
                step=step,
                iteration=counters["iteration"],
                version=counters["version"],
                games=state["num_games"],
                seconds=counters["seconds"],
            )
    return None


def read_log(run: Path) -> list[dict[str, Any]]:
    """Returns the events of a run's log; a line that was broken off is left out."""
    events = []
    with contextlib.suppress(FileNotFoundError):
        for line in (run / LOG_FILE).read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                events.append(json.loads(line))
    return events


def numbers_of(name: str) -> tuple[int, int]:
    """Returns the number of the first game of a file, and how many games it has, by its name."""
    first, _, count = name.removesuffix(".npz").partition("-")
    return int(first), int(count)


def hash_of(path: Path) -> str:
    """Returns the hash of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
