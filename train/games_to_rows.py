"""Finished games on the way to the window: replayed, made into rows, learnt from or held out."""

from collections.abc import Iterable, Iterator

from alphago.errors import RecordError
from alphago.games.game import Game
from selfplay.records import GameRecord, is_held_out
from train.replay_buffer import ReplayBuffer
from train.targets import replay_faults, rows_from_records

# Replayed in lockstep; bounds the memory that their rows take on the way, at 19x19 some 30 KB each.
MOVES_PER_REPLAY = 20_000


def append_games(buffer: ReplayBuffer, game: Game, records: Iterable[GameRecord]) -> None:
    """Adds the positions of finished games, each to the learnt or to the held-out ones.

    Args:
        buffer: the window.
        game: the rules by which they were played.
        records: the games, oldest first.

    Raises:
        RecordError: as `rows_from_records` does; the games before the faulty batch are added.
    """
    config, auxiliary = buffer.config, buffer.auxiliary
    fraction = config.holdout_fraction
    for games in _batches(records):
        held_out = [record for record in games if is_held_out(record, fraction)]
        learnt = [record for record in games if not is_held_out(record, fraction)]
        rows = rows_from_records(
            game,
            learnt,
            root_value_share=config.root_value_share,
            root_value_horizon=config.root_value_horizon,
            auxiliary=auxiliary,
        )
        rows_held_out = rows_from_records(game, held_out, auxiliary=auxiliary)
        buffer.append(rows)
        buffer.append_held_out(rows_held_out)


def append_sound_games(
    buffer: ReplayBuffer, game: Game, records: Iterable[GameRecord]
) -> list[str]:
    """Adds the positions of games from the disk, leaving out those that do not replay.

    Unlike games just played, such a game says nothing about this program: it may have been written
    by another.

    Args:
        buffer: the window.
        game: the rules.
        records: the games, oldest first.

    Returns:
        What is wrong with each game that was left out.
    """
    faults = []
    for games in _batches(records):
        try:
            append_games(buffer, game, games)
        except RecordError:
            found = replay_faults(game, games)
            faults += [fault for fault in found if fault is not None]
            sound = [r for r, fault in zip(games, found, strict=True) if fault is None]
            append_games(buffer, game, sound)
    return faults


def _batches(records: Iterable[GameRecord]) -> Iterator[list[GameRecord]]:
    """Yields the games in batches of at most `MOVES_PER_REPLAY` moves, or of one longer game."""
    games: list[GameRecord] = []
    num_moves = 0
    for record in records:
        if games and num_moves + len(record.actions) > MOVES_PER_REPLAY:
            yield games
            games, num_moves = [], 0
        games.append(record)
        num_moves += len(record.actions)
    if games:
        yield games
