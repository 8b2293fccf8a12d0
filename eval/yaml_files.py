"""YAML files that people write: read with errors of one line, and without keys that are lost."""

from pathlib import Path
from typing import Any

import yaml

from alphago.errors import AlphagoError
from alphago.files import reason

_MERGE = "tag:yaml.org,2002:merge"  # of `<<`, which may be there several times


class _Loader(yaml.SafeLoader):
    """Reads YAML without keys that are there twice, of which the last would count."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Makes a mapping of a node."""
        keys = [(key.tag, key.value) for key, _ in node.value if key.tag != _MERGE]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                raise yaml.constructor.ConstructorError(problem=f"{key[1]} is there twice")
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, *, error: type[AlphagoError]) -> Any:
    """Returns what a YAML file holds.

    Args:
        path: the file.
        error: what to raise.

    Raises:
        error: if the file cannot be read, is no YAML, or has a key twice.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as fault:
        raise error(f"{path}: cannot be read ({reason(fault)})") from fault
    except (yaml.YAMLError, ValueError, RecursionError) as fault:  # of text, numbers and dates too
        raise error(f"{path}: no YAML ({fault})") from fault
