"""One unfinished game of self-play: what its record will hold, and whether its winner is sure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from alphago.games.game import Game
from alphago.types import FloatArray
from selfplay.policy_targets import PolicyTarget, sparse

DECIDED_PLIES = 3  # moves in a row whose searches must be sure of the result (KataGo: 3)


@dataclass
class GameInProgress:
    """One unfinished game of a row: its random stream and what its record will hold.

    Attributes:
        index: number of the game within its actor.
        network_version: version of the network that began it.
        rng: the game's own stream; decides noise, kinds of search and moves.
        actions: actions so far.
        is_full_search: kind of the running search.
        targets: for each action the policy target, None where the position is not learnt from.
        root_values: for each action the search's value, view of the player who moved; 0 for random
            opening moves.
        movers: for each action the player who made it.
    """

    index: int
    network_version: int
    rng: np.random.Generator
    actions: list[int] = field(default_factory=list)
    is_full_search: bool = True
    targets: list[PolicyTarget | None] = field(default_factory=list)
    root_values: list[float] = field(default_factory=list)
    movers: list[int] = field(default_factory=list)


def note_move(
    game: GameInProgress,
    action: int,
    *,
    mover: int,
    policy_target: FloatArray,
    root_value: float,
) -> None:
    """Notes a move and what its search found.

    Args:
        game: changed in place.
        action: the move.
        mover: who made it.
        policy_target: float32 [A], noted as a target if the search was a full one.
        root_value: the search's value, view of the mover.
    """
    game.actions.append(action)
    game.targets.append(sparse(policy_target) if game.is_full_search else None)
    game.root_values.append(root_value)
    game.movers.append(mover)


def movers_of(game: Game, actions: Sequence[int]) -> list[int]:
    """Returns the player who made each of some actions from the start of a game."""
    movers = []
    states = game.initial_states(1)
    for action in actions:
        movers.append(int(game.to_play(states)[0]))
        states = game.step(states, [action])
    return movers


def has_sure_winner(
    root_values: Sequence[float], movers: Sequence[int], *, decided_value: float
) -> bool:
    """Tells whether the last `DECIDED_PLIES` searches were sure that one player wins, the same.

    Args:
        root_values: of all moves so far, each in the view of the player who moved.
        movers: these players.
        decided_value: size of a value that counts as sure.
    """
    last = zip(root_values[-DECIDED_PLIES:], movers[-DECIDED_PLIES:], strict=True)
    values = [value if mover == 0 else -value for value, mover in last]  # view of player 0
    if len(values) < DECIDED_PLIES:
        return False
    return min(values) >= decided_value or max(values) <= -decided_value
