"""Do the search's values come true? Values at the root against results, over bins of the value."""

from collections.abc import Sequence

import numpy as np

from alphago.games.game import Game
from alphago.types import BoolArray, FloatArray, Int8Array, value_for
from scripts.report_page.json_files import Json
from scripts.report_page.recorded_games import num_random_moves
from selfplay.records import GameRecord
from train.learner import calibration_error

CALIBRATION_GAMES = 400  # the newest ones, at least
NUM_BINS = 10  # of equal width from -1 to 1, as in `calibration_error`


def calibration_of(game: Game, records: Sequence[GameRecord]) -> Json | None:
    """Compares the values that searches found at the root with what came of the games.

    Both are in the view of the player to move, 1 for won. Random opening moves do not count.

    Args:
        game: the rules of the records.
        records: finished games that replay.

    Returns:
        `bins` with `low`, `high`, `count`, and the means `value` and `result` (None in an empty
        one); `error`, see `calibration_error`; `num_positions`, `num_games`. None without a
        position.
    """
    players = movers(game, records)
    pairs = [_pairs(record, movers) for record, movers in zip(records, players, strict=True)]
    if not sum(len(values) for values, _ in pairs):
        return None
    values = np.concatenate([values for values, _ in pairs])
    results = np.concatenate([results for _, results in pairs])
    return {
        "bins": _bins(values, results),
        "error": calibration_error(values, results),
        "num_positions": len(values),
        "num_games": len(records),
    }


def movers(game: Game, records: Sequence[GameRecord]) -> list[Int8Array]:
    """Returns who made each move of each game, int8 [T] each, by playing all at once."""
    lengths = np.array([len(record.actions) for record in records], np.int64)
    longest = int(lengths.max(initial=0))
    players = np.zeros((len(records), longest), np.int8)
    states = game.initial_states(len(records))
    for ply in range(longest):
        rows = np.flatnonzero(lengths > ply)
        players[:, ply] = game.to_play(states)
        actions = np.array([records[row].actions[ply] for row in rows.tolist()], np.int64)
        game.play(states, actions, rows)
    return [row[:length] for row, length in zip(players, lengths, strict=True)]


def _pairs(record: GameRecord, players: Int8Array) -> tuple[FloatArray, FloatArray]:
    """Returns value and result of each searched position, in the view of the player to move."""
    searched: BoolArray = np.arange(len(players)) >= num_random_moves(record)
    returns = np.broadcast_to(record.returns, (len(players), len(record.returns)))
    return record.root_values[searched], value_for(returns, players)[searched]


def _bins(values: FloatArray, results: FloatArray) -> list[Json]:
    edges = np.linspace(-1.0, 1.0, NUM_BINS + 1)
    places = np.clip(((values + 1) / 2 * NUM_BINS).astype(int), 0, NUM_BINS - 1)
    bins = []
    for number in range(NUM_BINS):
        inside = places == number
        count = int(inside.sum())
        bins.append(
            {
                "low": float(edges[number]),
                "high": float(edges[number + 1]),
                "count": count,
                "value": float(values[inside].mean()) if count else None,
                "result": float(results[inside].mean()) if count else None,
            }
        )
    return bins
