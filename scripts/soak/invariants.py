"""What must hold at the end of a soak, each told as the list of what speaks against it."""

import time
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import psutil

from alphago.errors import AlphagoError
from alphago.files import BROKEN_FOLDER
from alphago.games import make_game
from scripts.ray_session import FOLDER_PREFIX, LOCK_FILE
from scripts.soak.driver import is_alive
from scripts.soak.observer import Observer, hash_of, numbers_of
from selfplay.records import GameRecord, read_records
from train.checkpoint import checkpoint_folders, load_checkpoint, read_best
from train.run_folder import RECORDS_FOLDER
from train.targets import rows_from_records

LEFT_BEHIND_S = 60.0  # after which nothing of a run may be there any more
_SHARED_MEMORY = Path("/dev/shm")
_RAY_FOLDERS = Path("/tmp")
_MOST_TOLD = 5  # cases of a kind that a report lists


def lost_games(observer: Observer) -> list[str]:
    """Tells which files of games are gone or have changed, and whether the log knows more games."""
    faults = []
    for name, digest in sorted(observer.files.items()):
        path = observer.run / RECORDS_FOLDER / name
        if not path.is_file():
            faults.append(f"{name} is gone")
        elif hash_of(path) != digest:
            faults.append(f"{name} has changed")
    told = observer.games_told()
    if told > observer.num_games:
        faults.append(f"{told} games were told of, {observer.num_games} are on the disk")
    end = 0
    for first, count in sorted(map(numbers_of, observer.files)):
        if first != end:
            faults.append(f"game {end} is followed by game {first}")
        end = first + count
    return faults


def all_records(observer: Observer) -> tuple[list[GameRecord], list[str]]:
    """Returns all games on the disk, and which files cannot be read."""
    records, faults = list[GameRecord](), []
    for path in sorted((observer.run / RECORDS_FOLDER).glob("*.*")):
        try:
            records += read_records(path)
        except AlphagoError as error:
            faults.append(str(error))
    return records, faults


def stored_twice(records: Sequence[GameRecord]) -> list[str]:
    """Tells which games, named by seed, actor and number, are there more than once."""
    counts = Counter(str(record) for record in records)
    return [f"{name}: {count} times" for name, count in counts.items() if count > 1]


def not_replayed(records: Sequence[GameRecord], *, game_name: str) -> list[str]:
    """Tells which games do not go as the rules say, or have another result."""
    game, faults = make_game(game_name), []
    for record in records:
        try:
            rows_from_records(game, [record])
        except AlphagoError as error:
            faults.append(str(error))
    return faults


def broken_checkpoints(run: Path) -> list[str]:
    """Tells which checkpoints cannot be used, and whether `best` names one that is not there."""
    faults, folders = [], checkpoint_folders(run)
    for folder in folders.values():
        try:
            load_checkpoint(folder)
        except AlphagoError as error:
            faults.append(str(error))
    best = read_best(run)
    if best is None or not any(folder.name == best for folder in folders.values()):
        faults.append(f"best is {best}, which is no checkpoint")
    return faults + [f"{path.name} was set aside" for path in run.glob(f"*/{BROKEN_FOLDER}/*")]


def processes_left(families: Collection[psutil.Process]) -> list[str]:
    """Waits for processes to end; tells which live on."""
    deadline = time.monotonic() + LEFT_BEHIND_S
    while any(map(is_alive, families)) and time.monotonic() < deadline:
        time.sleep(1.0)
    return [f"process {each.pid} ({_name(each)})" for each in families if is_alive(each)]


def shared_memory() -> set[str]:
    """Returns the names of all segments of shared memory, and of Ray's folders nobody holds."""
    names = {path.name for path in _SHARED_MEMORY.iterdir()} if _SHARED_MEMORY.is_dir() else set()
    return names | {path.parent.name for path in _RAY_FOLDERS.glob(f"{FOLDER_PREFIX}*/{LOCK_FILE}")}


def shared_memory_left(before: set[str]) -> list[str]:
    """Tells which segments and folders are new, and no process of anybody has open."""
    new = shared_memory() - before
    if not new:
        return []
    in_use = {name for name in new if any(name in text for text in _open_files())}
    return sorted(new - in_use)


def _open_files() -> list[str]:
    """Returns the paths of all files that a process has open or mapped, as far as may be seen."""
    found = []
    for process in psutil.process_iter():
        try:
            found += [each.path for each in process.open_files()]
            found += [each.path for each in process.memory_maps()]
        except psutil.Error:  # it has just ended, or is another user's
            continue
    return found


def _name(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[:80]
    except psutil.Error:
        return "unknown"


def shortened(faults: Sequence[str]) -> list[str]:
    """Returns the first faults, and how many more there are."""
    more = len(faults) - _MOST_TOLD
    return [*faults[:_MOST_TOLD], *([f"and {more} more"] if more > 0 else [])]
