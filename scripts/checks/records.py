"""Checks the games of a run: files whole, games played by the rules, none there twice."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from alphago.errors import RecordError
from alphago.games.game import Game
from scripts.checks.findings import FAULT, Finding, Repair
from selfplay.record_store import RecordFile, keep_only, numbers_given
from selfplay.records import BrokenRecordFileError, GameName, GameRecord, read_sound_records
from train.run_folder import ACTORS_PER_SITTING, RECORDS_FOLDER
from train.targets import replay_faults

STOPS = "a run that goes on stops where it reads it"
_MOST_RANGES = 3  # of numbers of lost games that a line names


class CheckedGames(NamedTuple):
    """What the files of a run hold.

    Attributes:
        num_games: games that could be read.
        num_sittings: processes that must have worked on the run, by the actors of its games.
        findings: what is wrong.
    """

    num_games: int
    num_sittings: int
    findings: list[Finding]


class _Games:
    """The games that were met."""

    def __init__(self, seed: int | None) -> None:
        self.num_games = 0
        self.num_sittings = 0
        self._seed = seed
        self._names: set[GameName] = set()

    def meet(self, record: GameRecord) -> bool:
        """Notes a game; returns whether it was met before."""
        self.num_games += 1
        name = record.name
        if name.run_seed == self._seed:  # games of other runs say nothing about this one
            self.num_sittings = max(self.num_sittings, name.actor // ACTORS_PER_SITTING + 1)
        is_known = name in self._names
        self._names.add(name)
        return is_known


def check_records(
    run: Path,
    files: Sequence[RecordFile],
    *,
    game: Game | None,
    seed: int | None,
    tick: Callable[[str], None],
) -> CheckedGames:
    """Reads every game, replays it by the rules and compares its result.

    Args:
        run: folder of the run.
        files: its files of games, oldest first.
        game: the rules; None where nobody knows them, and nothing is replayed.
        seed: of the run, None where nobody knows it.
        tick: told the name of each file before it is read.
    """
    games, findings = _Games(seed), []
    for file in files:
        tick(f"{RECORDS_FOLDER}/{file.path.name}")
        finding = _check_file(run, file, game, games)
        if finding is not None and file.path.exists():
            findings.append(finding)
    return CheckedGames(games.num_games, games.num_sittings, findings)


def find_lost_games(run: Path, num_counted: int) -> list[Finding]:
    """Tells which games are on the disk no more.

    Args:
        run: folder of the run.
        num_counted: games that its newest checkpoint counts.
    """
    given = [*numbers_given(run / RECORDS_FOLDER), (num_counted, num_counted)]
    lost, end = [], 0
    for first, next_end in given:
        if first > end:
            lost.append((end, first))
        end = max(end, next_end)
    if not lost:
        return []
    num_lost = sum(end - first for first, end in lost)
    ranges = ", ".join(_range_text(*each) for each in lost[:_MOST_RANGES])
    more = ", ..." if len(lost) > _MOST_RANGES else ""
    what = f"{num_lost:,} games are missing: number {ranges}{more}"
    return [Finding(FAULT, RECORDS_FOLDER, what, "the run goes on without them")]


class _Content(NamedTuple):
    """What a file holds.

    Attributes:
        num_games: games that are there, of whatever kind.
        new: sound games that were not met before.
        double: sound games that were.
        unsound: what is wrong with each of the others.
    """

    num_games: int
    new: list[GameRecord]
    double: list[GameRecord]
    unsound: list[str]


def _check_file(run: Path, file: RecordFile, game: Game | None, games: _Games) -> Finding | None:
    where = f"{RECORDS_FOLDER}/{file.path.name}"
    try:
        content = _read(file, game, games)
    except RecordError as error:
        what = str(error).removeprefix(f"{file.path}: ")
        follows = STOPS
        if isinstance(error, BrokenRecordFileError):
            follows = f"its {file.num_games:,} games are lost; a run that goes on sets it aside"
        return Finding(FAULT, where, what, follows, _keep(run, file, []))
    what = _faults_of(file, content)
    if not what:
        return None
    return Finding(FAULT, where, what, _consequence(content), _keep(run, file, content.new))


def _read(file: RecordFile, game: Game | None, games: _Games) -> _Content:
    """Reads and replays the games of a file, and compares them with those that were met.

    Raises:
        RecordError: if it cannot be read, or a run that reads it stops.
    """
    records, unsound = read_sound_records(file.path)
    num_games = len(records) + len(unsound)
    if game is not None:
        foreign = {record.game for record in records} - {game.spec.name}
        if foreign:
            raise RecordError(f"{file.path}: is of {foreign.pop()}, not of {game.spec.name}")
        faults = replay_faults(game, records)
        unsound += [fault for fault in faults if fault is not None]
        records = [each for each, fault in zip(records, faults, strict=True) if fault is None]
    new: list[GameRecord] = []
    double: list[GameRecord] = []
    for record in records:
        (double if games.meet(record) else new).append(record)
    return _Content(num_games, new, double, unsound)


def _faults_of(file: RecordFile, content: _Content) -> str:
    """Returns what is wrong with a file that can be read, an empty text if nothing is."""
    faults = []
    if content.num_games != file.num_games:
        faults.append(f"holds {content.num_games:,} games, its name says {file.num_games:,}")
    if content.unsound:
        share = f"{len(content.unsound):,} of {content.num_games:,} games"
        faults.append(f"{share} unsound, first {content.unsound[0]}")
    if content.double:
        share = f"{len(content.double):,} of {content.num_games:,} games"
        faults.append(f"{share} are in another file too, first {content.double[0]}")
    return "; ".join(faults)


def _consequence(content: _Content) -> str:
    if content.double:
        return "these are learnt from twice"
    if content.unsound:
        return "these are not learnt from"
    return "games are counted wrongly"


def _keep(run: Path, file: RecordFile, records: Sequence[GameRecord]) -> Repair:
    """Returns what sets a file aside and keeps these games of it."""

    def repair() -> str:
        aside = keep_only(file, records).relative_to(run)
        kept = f", {len(records):,} of its games kept" if records else ""
        return f"set aside as {aside}{kept}"

    return repair


def _range_text(first: int, end: int) -> str:
    return f"{first:,}" if end == first + 1 else f"{first:,} to {end - 1:,}"
