"""YAML within bounds: errors of one line, no lost keys, and nothing that a few bytes blow up.

An alias stands for all that it names, so that ten lines can mean a billion values: what a file
means is counted before it is built. Tags (`!!python/object`, `!!timestamp`) ask for types, which
nothing here needs.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from alphago.errors import AlphagoError
from alphago.files import MIB, read_text_file, reason

MOST_BYTES = MIB // 4  # of a file
_MOST_VALUES = 20_000  # keys and values that it means, aliases written out
_DEEPEST = 40  # lists and mappings within each other
_MOST_DIGITS = 3500  # of a number; Python writes none with more than 4300 decimal digits
_MERGE = "tag:yaml.org,2002:merge"  # of `<<`, which may be there several times


class _Loader(yaml.SafeLoader):
    """Reads YAML without keys that are there twice, of which the last would count."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Makes a mapping of a node."""
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            if (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(problem=f"{key.value} is there twice")
            seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, *, error: type[AlphagoError]) -> Any:
    """Returns what a YAML file holds.

    Args:
        path: the file.
        error: what to raise.

    Raises:
        error: if the file cannot be read, is no YAML, too large, or has a key twice.
    """
    text = read_bounded_yaml(path, error=error)
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as fault:  # of numbers and dates too
        raise error(f"{path}: no YAML ({fault})") from fault


def read_bounded_yaml(path: Path, *, error: type[AlphagoError]) -> str:
    """Returns the text of a YAML file that any loader may build.

    Raises:
        error: if the file cannot be read, is no YAML, or too large.
    """
    try:
        text = read_text_file(path, at_most=MOST_BYTES)
        _check_bounds(yaml.parse(text, yaml.SafeLoader))
    except OSError as fault:
        raise error(f"{path}: cannot be read ({reason(fault)})") from fault
    except (yaml.YAMLError, ValueError) as fault:
        raise error(f"{path}: no YAML ({fault})") from fault
    return text


def _check_bounds(events: Iterable[yaml.Event]) -> None:
    """Raises ValueError if a text means too much, nests too deeply, or asks for a type."""
    sizes: dict[str, int] = {}  # values by anchor
    open_anchors: list[str | None] = []  # of the lists and mappings that an event is in
    open_sizes = [0]  # values in each of them, those of the whole text first
    for event in events:
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
            raise ValueError(f"tags are not allowed, got {event.tag}")
        if isinstance(event, yaml.CollectionStartEvent):
            open_anchors.append(event.anchor)
            open_sizes.append(1)
            if len(open_anchors) > _DEEPEST:
                raise ValueError(f"its lists and mappings lie too deep, allowed: {_DEEPEST}")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_anchors.pop(), open_sizes.pop()
        elif isinstance(event, yaml.AliasEvent):
            anchor, size = None, _size_of_alias(sizes, event.anchor)
        elif isinstance(event, yaml.ScalarEvent):
            anchor, size = event.anchor, 1
            _check_number(event.value)
        else:
            continue
        if anchor is not None:
            sizes[anchor] = size
        open_sizes[-1] += size
        if open_sizes[-1] > _MOST_VALUES:
            raise ValueError(f"more than {_MOST_VALUES} values, aliases written out")


def _size_of_alias(sizes: dict[str, int], anchor: str | None) -> int:
    if anchor is None or anchor not in sizes:
        raise ValueError(f"the alias *{anchor} stands within what it names, or names nothing")
    return sizes[anchor]


def _check_number(text: str) -> None:
    if len(text) > _MOST_DIGITS and text.lstrip("+-")[:1].isdigit():
        raise ValueError(f"a number of more than {_MOST_DIGITS} digits")
