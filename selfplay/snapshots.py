"""Unfinished games as data for JSON: what a checkpoint keeps of an actor, and a run goes on with.

A snapshot of one group of games holds `actor`, `num_games_begun` and `games`; one of several groups
holds `groups`, their snapshots. Whoever wrote it, it is checked when it is read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alphago.games.game import Game
from alphago.games.notation import replay
from selfplay.game_in_progress import GameInProgress, movers_of
from selfplay.policy_targets import PolicyTarget
from selfplay.random_state import rng_from_state, rng_state
from selfplay.records import ROUNDING, GameRecord


def game_to_json(game: GameInProgress) -> dict[str, Any]:
    """Returns copies of all that an unfinished game is: it goes on, its snapshot does not."""
    return {
        "index": game.index,
        "network_version": game.network_version,
        "rng": rng_state(game.rng),
        "actions": list(game.actions),
        "targets": [
            None if target is None else [target.actions.tolist(), target.shares.tolist()]
            for target in game.targets
        ],
        "root_values": list(game.root_values),
    }


def game_from_json(rules: Game, saved: Mapping[str, Any]) -> GameInProgress:
    """Returns the unfinished game that `game_to_json` wrote.

    Raises:
        KeyError, TypeError, ValueError: if it is none.
    """
    actions, root_values = list(saved["actions"]), list(saved["root_values"])
    targets = [_read_target(target) for target in saved["targets"]]
    if not len(actions) == len(targets) == len(root_values):
        raise ValueError("an unfinished game has other targets or values than moves")
    if not all(abs(value) <= 1.0 + ROUNDING for value in root_values):  # NaN is refused as well
        raise ValueError(f"root_values: got {root_values!r}")
    movers = movers_of(rules, actions)
    if rules.is_over(replay(rules, actions))[0]:
        raise ValueError("an unfinished game is over")
    return GameInProgress(
        index=read_count(saved, "index"),
        network_version=read_count(saved, "network_version"),
        rng=rng_from_state(saved["rng"]),
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


def _read_target(target: Sequence[Any] | None) -> PolicyTarget | None:
    """Reads actions and shares of a policy target."""
    if target is None:
        return None
    actions, shares = target
    is_sound = len(actions) == len(shares) and all(type(action) is int for action in actions)
    if not is_sound or not all(0 < share <= 1 for share in shares):
        raise ValueError(f"targets: got {target!r}")
    return PolicyTarget(np.array(actions, np.int16), np.array(shares, np.float32))


def join_groups(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the snapshot of an actor with these groups."""
    return parts[0] if len(parts) == 1 else {"groups": list(parts)}


def split_groups(snapshot: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the snapshots of an actor's groups."""
    parts: list[dict[str, Any]] = snapshot.get("groups", [snapshot])
    return parts


def without_finished(snapshot: dict[str, Any], records: Sequence[GameRecord]) -> dict[str, Any]:
    """Returns a snapshot without the games that its actor finished after it was taken.

    A killed run may have stored games later than its last checkpoint. Gone on with, they would be
    played again, and stored a second time.

    Args:
        snapshot: of an actor.
        records: games stored since then, of this actor and of others.
    """
    return join_groups([_group_without(part, records) for part in split_groups(snapshot)])


def _group_without(snapshot: dict[str, Any], records: Sequence[GameRecord]) -> dict[str, Any]:
    """Returns the snapshot of one group without its games that are among the records."""
    numbers = {record.name.number for record in records if record.name.actor == snapshot["actor"]}
    return snapshot | {
        "num_games_begun": max(snapshot["num_games_begun"], max(numbers, default=-1) + 1),
        "games": [game for game in snapshot["games"] if game["index"] not in numbers],
    }
