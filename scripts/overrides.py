"""Reads and checks Hydra overrides (`train.batch_size=512`) before anything heavy starts.

Hydra's own messages speak of structs and appending; here each mistake is one line with the key and
the nearest key that exists.
"""

import dataclasses
import itertools
import math
import re
import types
import typing
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Union

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, RangeSweep
from hydra.errors import HydraException

import configs
from scripts.arguments import CommandLineError, hint, refuse_pairs

CONFIG_FOLDER = Path(configs.__file__).resolve().parent
GROUPS = ("game", "network", "selfplay", "experiment")
OPTIONAL_GROUPS = ("experiment",)
TEXT_KEYS = (
    "ray.address",
    "run_dir",
    "suite.file",
    "yardstick.player",
)  # free text: a path may hold characters that Hydra's grammar does not know
_LONGEST = 4200  # characters of an override; a path may have 4095
_BRACKETS = ("[", "{", "(")
_MOST_BRACKETS = 40
_MOST_JOBS = 1000
# `${oc.env:HOME}`, or an interpolation within another: what is called may be put together there.
_RESOLVER = re.compile(r"\$\{[^}]*(:|\$\{)")
ALL_KEYS = "`alphago train --cfg job` shows all keys"


def group_options(group: str) -> list[str]:
    """Returns the names of the YAML files of a group."""
    return sorted(path.stem for path in (CONFIG_FOLDER / group).glob("*.yaml"))


@cache
def leaf_types() -> dict[str, Any]:
    """Returns the type of every option by its dotted key."""
    from train.config import RunConfig

    return dict(_leaves(RunConfig, prefix=""))


def _leaves(schema: type, *, prefix: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, kind in typing.get_type_hints(schema).items():
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            found += _leaves(kind, prefix=f"{prefix}{name}.")
        else:
            found.append((prefix + name, kind))
    return found


def allowed_values(key: str) -> str:
    """Returns what an option accepts, in words."""
    names = {
        int: "an integer",
        float: "a number",
        bool: "true or false",
        str: "text",
        list[str]: "a list of names in brackets",
        types.NoneType: "null",
    }
    kind = leaf_types()[key]
    members = (
        typing.get_args(kind)
        if isinstance(kind, types.UnionType) or typing.get_origin(kind) is Union
        else (kind,)
    )
    return " or ".join(names[member] for member in members)


def parse_override(text: str) -> Override:
    """Reads one override and checks its key.

    Raises:
        CommandLineError: if it cannot be read, or names no option or group.
    """
    key, equals, value = text.partition("=")
    _check_size(text)
    _check_form(text, key=key, has_value=bool(equals))
    name, colon, options = value.partition(":")
    if key == "game" and colon:
        separate = " ".join(f"game.{option}" for option in options.split(","))
        raise CommandLineError(f"{text}: in a run's configuration this is game={name} {separate}")
    try:
        override = OverridesParser.create().parse_override(_quote_text(text))
    except (HydraException, ValueError, RecursionError):  # ValueError: of endless digits
        raise CommandLineError(
            f"{text}: cannot be read as key=value; close every quote and bracket, and quote values"
            f" with brackets, braces or commas: {key}=\"'...'\""
        ) from None
    _check_key(override)
    return override


def expand(texts: Sequence[str], *, multirun: bool) -> list[list[str]]:
    """Returns the overrides of every job: one job, or the product of all sweeps with `multirun`.

    Raises:
        CommandLineError: if an override is wrong, or sweeps without `multirun`.
    """
    refuse_pairs(texts, keys=known_keys())
    choices: list[list[str]] = []
    for text in texts:
        override = parse_override(text)
        if not override.is_sweep_override():
            choices.append([str(override.input_line)])
        elif multirun:
            values = [f"{override.key_or_group}={value}" for value in _sweep(override, text)]
            choices.append(values)
        else:
            raise CommandLineError(f"{text}: several values need --multirun")
    num_jobs = math.prod(map(len, choices))
    if num_jobs > _MOST_JOBS:
        raise CommandLineError(f"--multirun: got {num_jobs} runs, allowed: up to {_MOST_JOBS}")
    jobs = [list(job) for job in itertools.product(*choices)]
    for job in jobs:
        for text in job:
            check_group_option(parse_override(text))
    return jobs


def swept(jobs: Sequence[Sequence[str]]) -> list[list[str]]:
    """Returns, for each job, the overrides that are not the same in all of them."""
    differ = [len(set(column)) > 1 for column in zip(*jobs, strict=True)]
    return [[text for text, differs in zip(job, differ, strict=True) if differs] for job in jobs]


def check_group_option(override: Override) -> None:
    """Checks that the override of a group names one of its files; others pass.

    Raises:
        CommandLineError: if it does not.
    """
    group, value = override.key_or_group, override.value()
    if group not in GROUPS or (value is None and group in OPTIONAL_GROUPS):
        return
    options = group_options(group)
    if value not in options:
        given = str(override.input_line).partition("=")[2]
        near = hint(given, options)
        if group == "game" and given.startswith("go_"):
            near += f"; other boards: game=go_13x13 game.name={given} game.max_moves=null"
        raise CommandLineError(f"{group}: got {given!r}{near}; allowed: {', '.join(options)}")


def _check_size(text: str) -> None:
    """Refuses what the parser would take long for, and values that are looked up elsewhere."""
    if len(text) > _LONGEST or sum(map(text.count, _BRACKETS)) > _MOST_BRACKETS:
        raise CommandLineError(
            f"{text[:60]}...: too long, allowed: {_LONGEST} characters and {_MOST_BRACKETS}"
            " opening brackets"
        )
    if _RESOLVER.search(text):
        raise CommandLineError(
            f"{text}: a value may refer to another option, as in ${{gate.num_games}}, and to"
            " nothing else"
        )


def _check_form(text: str, *, key: str, has_value: bool) -> None:
    if text[:1] in ("+", "~"):
        bare = text.lstrip("+~")
        known = is_key(bare.partition("=")[0])
        how = f"; write {bare.partition('=')[0]}=VALUE" if known else _key_hint(bare)
        raise CommandLineError(f"{text}: options can be neither added nor removed{how}")
    if not has_value or not key:
        raise CommandLineError(f"{text}: expected key=value{_key_hint(text)}")
    if key.split(".")[0].split("/")[0] == "hydra":
        raise CommandLineError(
            f"{key}: the settings of Hydra itself are not used; the folder of a run is run_dir;"
            f" {ALL_KEYS}"
        )
    if not is_key(key) and key not in _sections():
        raise CommandLineError(f"{key}: unknown key{_key_hint(key)}")


def _check_key(override: Override) -> None:
    key = override.key_or_group
    if key in _sections() and key not in GROUPS and not isinstance(override.value(), dict):
        inside = [leaf for leaf in leaf_types() if leaf.startswith(f"{key}.")]
        raise CommandLineError(
            f"{key}: is a section, set the keys in it: {', '.join(inside[:3])} ..."
        )


def is_key(key: str) -> bool:
    """Tells whether a key names an option or a group."""
    return key in known_keys()


def known_keys() -> list[str]:
    """Returns the dotted keys of all options, and the groups."""
    return [*leaf_types(), *GROUPS]


def _sections() -> set[str]:
    return {key.partition(".")[0] for key in leaf_types() if "." in key}


def _key_hint(text: str) -> str:
    key = text.partition("=")[0]
    return hint(key, known_keys()) or f"; {ALL_KEYS}"


def _quote_text(text: str) -> str:
    """Quotes a free-text value unless it is quoted, null, an interpolation or a sweep."""
    key, _, value = text.partition("=")
    free = key in TEXT_KEYS and value not in ("", "null") and value[0] not in "'\""
    if not free or "${" in value or "," in value:
        return text
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{key}="{escaped}"'


def _sweep(override: Override, text: str) -> list[str]:
    try:
        values = _first_values(override)
    except (HydraException, ValueError, TypeError) as error:
        raise CommandLineError(f"{text}: not a list of values ({error})") from None
    if len(values) > _MOST_JOBS:
        raise CommandLineError(f"{text}: more than {_MOST_JOBS} values")
    return values


def _first_values(override: Override) -> list[str]:
    """Returns the values of a sweep as texts; of too many only one more than there may be.

    Those of a range are counted before: of one that is shuffled Hydra makes a list.
    """
    value, at_most = override.value(), _MOST_JOBS + 1
    if isinstance(value, RangeSweep):
        first = [str(each) for each in itertools.islice(value.range(), at_most)]
        if len(first) == at_most:
            return first
    return list(itertools.islice(override.sweep_string_iterator(), at_most))
