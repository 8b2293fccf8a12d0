"""From finished games to what the network shall say: (s, pi, z), one row per position."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from alphago.errors import RecordError
from alphago.games.game import Game, GameSpec, game_text
from alphago.types import (
    NUM_PLAYERS,
    BoolArray,
    FloatArray,
    States,
    UInt8Array,
    value_for,
)
from selfplay.records import GameRecord, check_record
from train.auxiliary import AUXILIARY_TARGETS
from train.replayed_games import ReplayedGames, in_lines, searched_values


class TrainingRows(NamedTuple):
    """Positions to learn from."""

    observations: UInt8Array  # [R, C, H, W], zeros and ones, view of the player to move
    policy_targets: FloatArray  # [R, A], sums to 1, exactly 0 where illegal
    value_targets: FloatArray  # [R], in [-1, 1], view of the player to move
    # What the auxiliary heads shall say, by head, see `train.auxiliary`; [R, ...].
    auxiliary: Mapping[str, npt.NDArray[Any]] = MappingProxyType({})

    def arrays(self) -> list[npt.NDArray[Any]]:
        """Returns all arrays, always in the same order."""
        return [*self[:3], *self.auxiliary.values()]

    def with_arrays(self, arrays: Sequence[npt.NDArray[Any]]) -> Self:
        """Returns rows of other arrays, given in the order of `arrays`."""
        observations, policy_targets, value_targets, *others = arrays
        auxiliary = dict(zip(self.auxiliary, others, strict=True))
        return type(self)(observations, policy_targets, value_targets, auxiliary)


def rows_from_records(
    game: Game,
    records: Sequence[GameRecord],
    *,
    root_value_share: float = 0.0,
    root_value_horizon: float = 1.0,
    auxiliary: Sequence[str] = (),
) -> TrainingRows:
    """Replays games and collects their positions.

    All games are replayed in lockstep, one batched step per ply. The value target is the result of
    the game, mixed with what the search said from this position on; a truncated game counts as what
    its last position is worth, which is a draw where the rules do not say.

    Args:
        game: the rules by which the records were played.
        records: finished games.
        root_value_share: share of the search's values in the value target, 0 for the result alone.
        root_value_horizon: as in `searched_values`.
        auxiliary: the auxiliary heads that need targets.

    Returns:
        The positions with `is_target`, record after record, each in the order of its moves.

    Raises:
        RecordError: naming the game, if a record is unsound (NaN included), does not replay, ends
            otherwise than it says, or has a policy target on an illegal action.
    """
    for record in records:
        check_record(record)
        if (record.game, record.rules) != (game.spec.name, game.spec.rules):
            was = f" by the rules {record.rules}" if record.game == game.spec.name else ""
            raise RecordError(f"{record}{was}: expected a record of {game_text(game.spec)}")
    rows = _rows_to_fill(game.spec, records)
    replayed = _replay(game, records, rows)
    _check_results(game, replayed.ends, records)
    results = np.array([record.returns for record in records], np.float32).reshape(-1, NUM_PLAYERS)
    movers = replayed.at_rows(replayed.to_play)
    outcomes = value_for(results[replayed.game_of_row], movers)
    searched = searched_values(replayed, horizon=root_value_horizon)
    share = np.float32(root_value_share)
    rows.value_targets[:] = (1 - share) * outcomes + share * searched
    targets = {name: AUXILIARY_TARGETS[name].of_rows(replayed) for name in auxiliary}
    return rows._replace(auxiliary=targets)


def replay_faults(game: Game, records: Sequence[GameRecord]) -> list[str | None]:
    """Returns what is wrong with each record, None for one that replays to the result it tells."""
    try:
        rows_from_records(game, records)
    except RecordError:
        return [_replay_fault(game, record) for record in records]
    return [None] * len(records)


def _replay_fault(game: Game, record: GameRecord) -> str | None:
    try:
        rows_from_records(game, [record])
    except RecordError as error:
        return str(error)
    return None


def _replay(game: Game, records: Sequence[GameRecord], rows: TrainingRows) -> ReplayedGames:
    """Plays all games in lockstep and fills in the observations of the rows.

    Args:
        game: the rules.
        records: the games.
        rows: complete but for their observations and value targets.
    """
    is_target = in_lines(records, "is_target", np.bool_)  # [G, T]
    lengths = np.array([len(record.actions) for record in records], dtype=np.int64)  # [G]
    row_of = np.cumsum(is_target).reshape(is_target.shape) - 1  # [G, T], where is_target holds
    to_play = np.zeros(is_target.shape, np.int8)
    states = game.initial_states(len(records))
    for ply in range(is_target.shape[1]):
        learnt = np.flatnonzero(is_target[:, ply])
        positions, filled = states[learnt], row_of[learnt, ply]
        on_illegal = (rows.policy_targets[filled] > 0.0) & ~game.legal_actions(positions)
        _raise_for(on_illegal.any(axis=1), learnt, records, f"target {ply} is on an illegal action")
        rows.observations[filled] = game.observe(positions)
        playing = np.flatnonzero(lengths > ply)
        to_play[playing, ply] = game.to_play(states[playing])
        states[playing] = _step(game, states[playing], playing, records=records, ply=ply)
    return ReplayedGames(game, records, to_play, states, *np.nonzero(is_target))


def _rows_to_fill(spec: GameSpec, records: Sequence[GameRecord]) -> TrainingRows:
    """Allocates the rows of the records; policy targets are complete already."""
    targets = [_dense_targets(record, spec.num_actions) for record in records]
    policy_targets = np.concatenate([np.zeros((0, spec.num_actions), np.float32), *targets])
    num_rows = len(policy_targets)
    return TrainingRows(
        observations=np.empty((num_rows, *spec.observation_shape), dtype=np.uint8),
        policy_targets=policy_targets,
        value_targets=np.empty(num_rows, dtype=np.float32),
    )


def _dense_targets(record: GameRecord, num_actions: int) -> FloatArray:
    """Spreads a record's sparse policy targets, float32 [positions learnt from, A]."""
    actions = record.target_actions
    if ((actions < 0) | (actions >= num_actions)).any():
        raise RecordError(f"{record}: a policy target names an action outside 0..{num_actions - 1}")
    dense = np.zeros((len(record.actions), num_actions), dtype=np.float32)
    moves = np.repeat(np.arange(len(record.actions)), np.diff(record.target_offsets))
    dense[moves, actions] = record.target_shares
    if np.count_nonzero(dense) != len(actions):
        raise RecordError(f"{record}: a policy target names an action twice")
    return dense[record.is_target]


def _step(
    game: Game,
    states: States,
    playing: npt.NDArray[np.int64],
    *,
    records: Sequence[GameRecord],
    ply: int,
) -> States:
    """Plays move number `ply` of the games `playing` [B], whose states [B] are given."""
    actions = np.array([records[index].actions[ply] for index in playing.tolist()], np.int64)
    in_range = (actions >= 0) & (actions < game.spec.num_actions)
    _raise_for(~in_range, playing, records, f"move {ply} is no action")
    is_legal = game.legal_actions(states)[np.arange(len(actions)), actions]
    _raise_for(~is_legal, playing, records, f"move {ply} is illegal")
    return game.step(states, actions)


def _raise_for(
    is_bad: BoolArray, games: npt.NDArray[np.int64], records: Sequence[GameRecord], fault: str
) -> None:
    """Raises RecordError naming the first of the games [B] that is bad [B]."""
    if is_bad.any():
        raise RecordError(f"{records[int(games[np.argmax(is_bad)])]}: {fault}")


def _check_results(game: Game, states: States, records: Sequence[GameRecord]) -> None:
    """Raises RecordError if a game does not end as its record says."""
    over, truncated = game.is_over(states), game.is_truncated(states)
    ended = over & ~truncated  # by the rules
    for record, has_ended, is_over, result in zip(
        records, ended, over, game.returns(states), strict=True
    ):
        if record.truncated and has_ended:
            raise RecordError(f"{record}: the game is over, but marked truncated")
        if not (record.truncated or has_ended):
            how = (
                "is truncated, but not marked so" if is_over else "is not over after its last move"
            )
            raise RecordError(f"{record}: the game {how}")
        if not np.array_equal(result, record.returns):
            got, said = result.tolist(), record.returns.tolist()
            raise RecordError(f"{record}: replays to the result {got}, the record says {said}")
