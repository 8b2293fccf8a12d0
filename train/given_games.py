"""Games of another run that a new run is given, to learn from before it plays any of its own.

So a larger network begins where a small one, which plays several times as many games in the same
time, has come to (KataGo's runs grow their networks likewise, Wu 2019, section 4). The other run is
only read.
"""

from pathlib import Path

import numpy as np

from alphago.errors import ConfigError
from alphago.games.game import GameSpec
from selfplay.record_store import record_files
from selfplay.records import GameRecord, read_sound_records
from train.run_folder import RECORDS_FOLDER

_KEY = "games_from"


def check_given_games(run: Path, spec: GameSpec, *, seed: int) -> None:
    """Checks by its newest games that a run has some that can be given to another one.

    Args:
        run: folder of the run with the games.
        spec: the game of the run that is given them.
        seed: of that run.

    Raises:
        ConfigError: if there are none, or they are of another game, rules or seed.
        RecordError: if they cannot be read.
    """
    _check(run, newest_games(run, num_positions=1), spec, seed=seed)


def newest_games(run: Path, *, num_positions: int) -> list[GameRecord]:
    """Returns the newest games of a run, oldest first.

    Args:
        run: its folder.
        num_positions: whole files are taken until they hold at least this many positions to learn
            from, or until there are no more.

    Raises:
        RecordError: if a file cannot be read.
    """
    chosen: list[list[GameRecord]] = []
    needed = num_positions
    for file in reversed(record_files(run / RECORDS_FOLDER)):
        if needed <= 0:
            break
        records, _ = read_sound_records(file.path)
        chosen.append(records)
        needed -= sum(int(np.count_nonzero(record.is_target)) for record in records)
    return [record for records in reversed(chosen) for record in records]


def given_games(run: Path, spec: GameSpec, *, seed: int, num_positions: int) -> list[GameRecord]:
    """Returns the newest games of a run, oldest first, all fit to be another run's first games.

    Args:
        run: as in `check_given_games`.
        spec: likewise.
        seed: likewise.
        num_positions: as in `newest_games`.

    Raises:
        ConfigError, RecordError: as in `check_given_games`.
    """
    records = newest_games(run, num_positions=num_positions)
    _check(run, records, spec, seed=seed)
    return records


def _check(run: Path, records: list[GameRecord], spec: GameSpec, *, seed: int) -> None:
    if not records:
        raise ConfigError(_KEY, str(run), "the folder of a run that has games")
    for record in records:
        if (record.game, record.rules) != (spec.name, spec.rules):
            kind = " ".join([record.game, record.rules]).strip()
            wanted = " ".join([spec.name, spec.rules]).strip()
            raise ConfigError(_KEY, f"{run} with games of {kind}", f"games of {wanted}")
        if record.name.run_seed == seed:  # its names would be those of our own games
            raise ConfigError(_KEY, f"{run} with games of seed {seed}", "games of another seed")
