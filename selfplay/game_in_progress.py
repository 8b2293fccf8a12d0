"""One unfinished game of self-play: what its record will hold, and whether its winner is sure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from alphago.games.game import Game
from alphago.games.notation import replay
from alphago.types import FloatArray
from selfplay.records import ROUNDING

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
        targets: for each action the policy target as (actions, shares), None where it is no
            training target.
        root_values: for each action the search's value, view of the player who moved; 0 for random
            opening moves.
        movers: for each action the player who made it.
    """

    index: int
    network_version: int
    rng: np.random.Generator
    actions: list[int] = field(default_factory=list)
    is_full_search: bool = True
    targets: list[tuple[list[int], list[float]] | None] = field(default_factory=list)
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
    target = None
    if game.is_full_search:
        actions = np.flatnonzero(policy_target)
        target = (actions.tolist(), policy_target[actions].tolist())
    game.actions.append(action)
    game.targets.append(target)
    game.root_values.append(root_value)
    game.movers.append(mover)


def read_game(game: Game, saved: Mapping[str, Any]) -> GameInProgress:
    """Reads an unfinished game of `SelfPlay.snapshot`, whoever has written it.

    Raises:
        KeyError, TypeError, ValueError: if it is none.
    """
    rng = np.random.default_rng()
    rng.bit_generator.state = saved["rng"]
    actions, root_values = list(saved["actions"]), list(saved["root_values"])
    targets = [_read_target(target) for target in saved["targets"]]
    if not len(actions) == len(targets) == len(root_values):
        raise ValueError("an unfinished game has other targets or values than moves")
    if not all(abs(value) <= 1.0 + ROUNDING for value in root_values):  # NaN is refused as well
        raise ValueError(f"root_values: got {root_values!r}")
    movers = movers_of(game, actions)
    if game.is_over(replay(game, actions))[0]:
        raise ValueError("an unfinished game is over")
    return GameInProgress(
        index=read_count(saved, "index"),
        network_version=read_count(saved, "network_version"),
        rng=rng,
        actions=actions,
        targets=targets,
        root_values=root_values,
        movers=movers,
    )


def read_count(saved: Mapping[str, Any], key: str) -> int:
    """Returns an integer of at least 0 that 64 bits hold.

    Raises:
        KeyError, ValueError: if there is none.
    """
    number = saved[key]
    if type(number) is not int or not 0 <= number < 2**63:
        raise ValueError(f"{key}: got {number!r}")
    return number


def _read_target(target: Sequence[Any] | None) -> tuple[list[int], list[float]] | None:
    """Reads actions and shares of a policy target."""
    if target is None:
        return None
    actions, shares = target
    is_sound = len(actions) == len(shares) and all(type(action) is int for action in actions)
    if not is_sound or not all(0 < share <= 1 for share in shares):
        raise ValueError(f"targets: got {target!r}")
    return actions, shares


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
