"""Records for tests: random games with random policy targets, and the comparison of two records."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from alphago.games.game import Game
from alphago.games.random_play import random_game
from selfplay.policy_targets import PolicyTarget, pack
from selfplay.records import GameName, GameRecord


def make_record(
    game: Game, actions: Sequence[int], *, number: int = 0, is_target: Sequence[bool] | None = None
) -> GameRecord:
    """Returns the record of a finished game whose targets are uniform over the legal actions."""
    states = game.initial_states(1)
    legal_of_moves = []
    for action in actions:
        legal_of_moves.append(np.flatnonzero(game.legal_actions(states)[0]))
        states = game.step(states, [action])
    learnt = [True] * len(actions) if is_target is None else list(is_target)
    targets = [
        PolicyTarget(legal.astype(np.int16), np.full(len(legal), 1.0 / len(legal), np.float32))
        if is_learnt
        else None
        for legal, is_learnt in zip(legal_of_moves, learnt, strict=True)
    ]
    return GameRecord(
        game=game.spec.name,
        network_version=7,
        name=GameName(1, 2, number),
        actions=np.array(actions, np.int16),
        root_values=np.linspace(-1, 1, len(actions), dtype=np.float32),
        returns=game.returns(states)[0],
        truncated=bool(game.is_truncated(states)[0] or not game.is_over(states)[0]),
        **pack(targets),
    )


def random_records(game: Game, *, num_games: int, seed: int, first: int = 0) -> list[GameRecord]:
    """Returns random games numbered from `first`, in which three of four positions are targets."""
    rng = np.random.default_rng(seed)
    records = []
    for number in range(first, first + num_games):
        actions = random_game(game, rng)
        is_target = rng.random(len(actions)) < 0.75
        records.append(make_record(game, actions, number=number, is_target=is_target.tolist()))
    return records


def assert_same_record(first: GameRecord, second: GameRecord) -> None:
    """Fails unless all fields are equal, dtypes included."""
    for field in fields(GameRecord):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype, field.name
            np.testing.assert_array_equal(one, other, err_msg=field.name)
        else:
            assert one == other, field.name
