"""Ablations as files: one run, and variants of it that differ in one switch each.

    base:                # overrides of every run, as `alphago train` takes them
      - game=go_9x9
      - minutes=8
    variants:            # what each has for itself, in place of what it is in the base
      deeper: [selfplay.num_simulations=64]
    simulations: 100     # of each network, per move
    games: 200           # of each pairing
    anchors:             # players of the game's ladder, or others
      - uct:playouts=1000

Those of the project lie in `configs/ablations/`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alphago.errors import AlphagoError
from alphago.players.text import KINDS
from alphago.types import MAX_SIMULATIONS
from alphago.yaml_files import read_yaml
from scripts.arguments import hint
from scripts.overrides import CONFIG_FOLDER

ABLATIONS = CONFIG_FOLDER / "ablations"
BASE = "base"  # what the run without any change is called among the players

_KEYS = ("base", "variants", "simulations", "games", "anchors")
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")  # of a variant, a folder's name too


class AblationError(AlphagoError):
    """An ablation's file cannot be read or is none, or its folder holds something else."""


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """What is trained and how it is rated.

    Attributes:
        base: overrides of every run.
        variants: by name the overrides that a variant has for itself, at least one each.
        simulations: of each network, per move.
        games: of each pairing, an even number.
        anchors: players that the networks are rated against, at least one.
    """

    base: Sequence[str]
    variants: Mapping[str, Sequence[str]]
    simulations: int
    games: int
    anchors: Sequence[str]

    @property
    def names(self) -> list[str]:
        """The runs: the base, then the variants."""
        return [BASE, *self.variants]

    def overrides(self, name: str) -> list[str]:
        """Returns all overrides of a run; what a variant has for itself takes the base's place."""
        own = list(self.variants.get(name, ()))
        keys = {_key(text) for text in own}
        return [text for text in self.base if _key(text) not in keys] + own


def find_ablation(text: str) -> Path:
    """Returns the file of an ablation that is given as a path, or by name if the project has it."""
    shipped = ABLATIONS / f"{text}.yaml"
    path = Path(text)
    return shipped if not path.exists() and shipped.exists() else path


def load_ablation(path: Path) -> Ablation:
    """Reads an ablation's file; its overrides are looked at when they are composed.

    Raises:
        AblationError: naming what is wrong with it.
    """
    data = read_yaml(path, error=AblationError)
    if not isinstance(data, dict):
        raise AblationError(f"{path}: no ablation, allowed: {', '.join(_KEYS)}")
    for key in data:
        if key not in _KEYS:
            near = hint(str(key), _KEYS)
            raise AblationError(f"{path}: {key}: unknown key{near}; allowed: {', '.join(_KEYS)}")
    missing = [key for key in _KEYS if key not in data]
    if missing:
        raise AblationError(f"{path}: lacks {', '.join(missing)}")
    _check_variants(path, data["variants"])
    return Ablation(
        base=_texts(path, "base", data["base"], allowed="a list of key=value"),
        variants={
            name: _texts(path, f"variants: {name}", texts, allowed="a list of key=value")
            for name, texts in data["variants"].items()
        },
        simulations=_number(path, data, "simulations", highest=MAX_SIMULATIONS),
        games=_number(path, data, "games", lowest=2, is_even=True),
        anchors=_texts(path, "anchors", data["anchors"], allowed="a list of players"),
    )


def _check_variants(path: Path, variants: object) -> None:
    """Raises unless there are variants, with names that no player and no other run has."""
    if not isinstance(variants, dict) or not variants:
        raise AblationError(f"{path}: variants: got {variants!r}, allowed: NAME: [key=value, ...]")
    for name in variants:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in (BASE, *KINDS):
            raise AblationError(
                f"{path}: variants: got the name {name!r}, allowed: lower case letters, digits,"
                f" '_', '-' and '.', and neither {BASE} nor a kind of player"
            )


def _texts(path: Path, key: str, value: object, *, allowed: str) -> list[str]:
    """Reads a list of at least one text."""
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise AblationError(f"{path}: {key}: got {value!r}, allowed: {allowed}")
    return value


def _number(
    path: Path,
    data: Mapping[str, Any],
    key: str,
    *,
    lowest: int = 0,
    highest: int | None = None,
    is_even: bool = False,
) -> int:
    """Reads an integer."""
    value = data[key]
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    in_bounds = is_integer and lowest <= value and (highest is None or value <= highest)
    if not in_bounds or (is_even and value % 2):
        kind = "an even integer" if is_even else "an integer"
        bounds = f"of at least {lowest}" if highest is None else f"from {lowest} to {highest}"
        raise AblationError(f"{path}: {key}: got {value!r}, allowed: {kind} {bounds}")
    return int(value)


def _key(override: str) -> str:
    return override.partition("=")[0].strip()
