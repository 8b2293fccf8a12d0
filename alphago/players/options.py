"""The options of a player's text: each is read strictly, and what is wrong with it is one line."""

import difflib
import re
from collections.abc import Mapping

from alphago.errors import PlayerError
from alphago.types import MAX_SIMULATIONS

DEFAULT_PLAYOUTS = 1000  # of uct and flat_mc
_NAMED_STEPS = ("best", "latest")


def check_keys(text: str, options: Mapping[str, str], allowed: tuple[str, ...]) -> None:
    """Raises if there is a key that this player does not know."""
    for key in options:
        if key not in allowed:
            nearest = difflib.get_close_matches(key, allowed, n=1)
            hint = f", did you mean {nearest[0]}?" if nearest else ""
            known = ", ".join(allowed) if allowed else "no options"
            raise PlayerError(f"{text}: got option {key!r}{hint} (allowed: {known})")


def read_step(text: str, options: Mapping[str, str]) -> int | str | None:
    """Returns the wanted step, None where the text leaves it open."""
    if "step" not in options or options["step"] in _NAMED_STEPS:
        return options.get("step")
    allowed = "an integer of at least 0, best or latest"
    return _parse_integer(text, "step", options["step"], allowed=allowed)


def read_playouts(text: str, options: Mapping[str, str]) -> int:
    """Returns the number of playouts, or its default."""
    return read_integer(
        text, "playouts", options, default=DEFAULT_PLAYOUTS, lowest=1, highest=MAX_SIMULATIONS
    )


def read_seconds(text: str, options: Mapping[str, str]) -> float:
    """Returns the time per move, which has to be given."""
    allowed = "a number above 0"
    seconds = _parse_decimal(text, "seconds", options["seconds"], allowed=allowed)
    if seconds == 0:
        raise PlayerError(f"{text}: seconds: got {options['seconds']!r}, allowed: {allowed}")
    return seconds


def read_constant(text: str, key: str, options: Mapping[str, str]) -> float:
    """Returns a constant of the search, which has to be given."""
    return _parse_decimal(text, key, options[key], allowed="a number of at least 0")


def read_integer(
    text: str, key: str, options: Mapping[str, str], *, default: int, lowest: int, highest: int
) -> int:
    """Returns the number of an option within bounds, or its default."""
    if key not in options:
        return default
    allowed = f"an integer from {lowest} to {highest}"
    number = _parse_integer(text, key, options[key], allowed=allowed)
    if not lowest <= number <= highest:
        raise PlayerError(f"{text}: {key}: got {number}, allowed: {allowed}")
    return number


def _parse_integer(text: str, key: str, got: str, *, allowed: str) -> int:
    """Reads plain decimal digits; int() would take 1_000 and digits of other scripts as well."""
    if not re.fullmatch(r"[0-9]{1,18}", got):
        raise PlayerError(f"{text}: {key}: got {got!r}, allowed: {allowed}")
    return int(got)


def _parse_decimal(text: str, key: str, got: str, *, allowed: str) -> float:
    """Reads a plain decimal number without a sign; float() would take nan and 1_0 as well."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{0,9})?", got):
        raise PlayerError(f"{text}: {key}: got {got!r}, allowed: {allowed}")
    return float(got)
