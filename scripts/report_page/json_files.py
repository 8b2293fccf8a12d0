"""JSON that a run has written, and values in it that can be trusted.

JSON knows neither NaN nor infinity, and a page that holds them shows nothing: they become None as
soon as they are read.
"""

import json
import sys
from pathlib import Path
from typing import Any, TypeAlias

from alphago.errors import CheckpointError
from alphago.files import MIB, read_file, reason

Json: TypeAlias = dict[str, Any]

_MOST_BYTES = 256 * MIB  # of a file


def number(value: object) -> float | None:
    """Returns a finite number, None for anything else; a bool is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= sys.float_info.max else None


def text(value: object) -> str | None:
    """Returns a text, None for anything else."""
    return value if isinstance(value, str) else None


def parse_json(written: bytes) -> object:
    """Reads JSON; what is not finite becomes None.

    Raises:
        ValueError: if it is none, or nested too deeply.
    """
    try:
        return json.loads(
            written,
            parse_constant=lambda _: None,
            parse_float=lambda digits: number(float(digits)),  # 1e999 is read as infinity
            parse_int=lambda digits: number(int(digits)),
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_json(path: Path) -> Json | None:
    """Reads a file that holds a mapping; None where there is no file yet.

    Raises:
        CheckpointError: if it cannot be read or holds something else.
    """
    try:
        content = parse_json(read_file(path, at_most=_MOST_BYTES))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {reason(error)}") from error
    except ValueError as error:  # a UnicodeDecodeError is one
        raise CheckpointError(f"{path}: no JSON ({error})") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path}: got other JSON, allowed: a mapping")
    return content
