"""The players of a match: found once, so that everybody plays the same networks from then on."""

import hashlib
from typing import NamedTuple

from alphago.players.text import pin_network
from alphago.types import Weights


class MatchPlayer(NamedTuple):
    """A player of a match."""

    typed: str  # as the user wrote it
    text: str  # that makes it; a network's names its checkpoint
    network: str | None  # hash of its weights, None for a player without


def find_player(typed: str) -> MatchPlayer:
    """Finds the network of a player, if it has one.

    Raises:
        PlayerError: if the text names no player or has an unknown option.
        CheckpointError: if a run or checkpoint is broken.
    """
    pinned = pin_network(typed)
    if pinned is None:
        return MatchPlayer(typed, typed, None)
    text, found = pinned
    return MatchPlayer(typed, text, _digest(found.weights))


def _digest(weights: Weights) -> str:
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(name.encode() + weights[name].tobytes())
    return digest.hexdigest()
