"""What an exported network says about itself, so that another program can use it."""

import importlib.metadata
import json
from collections.abc import Mapping
from dataclasses import asdict

from alphago.games.game import Game, game_text
from alphago.network.graph import LOGITS, OBSERVATIONS, VALUE
from alphago.network.weights import NetworkInfo

SCHEMA_VERSION = 1  # of the entries
PREFIX = "alphago."  # of every entry: formats keep entries of other programs beside them
DISTRIBUTION = "alphago-selfplay"  # as in pyproject.toml

_BATCH = "batch"  # an axis of any length from 1

_BOARD = (
    "Row 0 is the top row of the board as drawn, column 0 the left one: of Go, row 0 holds the"
    " points with the highest numbers, column 0 those of the letter A."
)
_INPUT = (
    "One position per row of the batch, planes of zeros and ones in the order of the entry"
    " `planes`, each [rows, columns]. What is own and what the opponent's is the view of the player"
    " to move."
)
_LOGITS = (
    "One number per action, in the order of the entry `actions`; their softmax is the policy."
    " Nothing is masked: actions that are illegal have numbers too."
)
_VALUE = "The expected result in the view of the player to move, from -1 (lost) to 1 (won)."


def describe_network(game: Game, info: NetworkInfo) -> dict[str, str]:
    """Returns what is to be known of a network by entry; EXPORT.md lists the entries.

    Args:
        game: the game it is exported for, with the planes that it has learnt from.
        info: what its checkpoint says.

    Returns:
        Texts, most of them JSON, by names that begin with `PREFIX`.
    """
    spec = game.spec
    shape = [_BATCH, *spec.observation_shape]
    entries = {
        "schema_version": SCHEMA_VERSION,
        "version": importlib.metadata.version(DISTRIBUTION),
        "torch_version": importlib.metadata.version("torch"),
        "game": game_text(spec),
        "network": asdict(info.network),
        "step": info.step,
        OBSERVATIONS: {"dtype": "float32", "shape": shape, "meaning": _INPUT},
        LOGITS: {"dtype": "float32", "shape": [_BATCH, spec.num_actions], "meaning": _LOGITS},
        VALUE: {"dtype": "float32", "shape": [_BATCH, 1], "meaning": _VALUE},
        "planes": game.plane_names,
        "actions": [game.action_to_text(action) for action in range(spec.num_actions)],
        "pass_action": spec.pass_action,
        "board": _BOARD,
    }
    return {
        PREFIX + key: value if isinstance(value, str) else json.dumps(value)
        for key, value in entries.items()
    }


def as_text(metadata: Mapping[str, str]) -> str:
    """Returns the entries for people to read, one on each line."""
    return "\n".join(f"{key.removeprefix(PREFIX)}: {value}" for key, value in metadata.items())
