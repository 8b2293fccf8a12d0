"""The kinds of arguments that commands have, read from text: colours, numbers, switches."""

import math

from alphago.protocols.colors import BLACK, WHITE
from alphago.protocols.gtp import INVALID_VERTEX, SYNTAX_ERROR, GtpError

_COLORS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
_MAX_DIGITS = 9  # of an integer, as the protocol's own are 31 bits


def find_color(text: str) -> int | None:
    """Returns the player id of `b`, `black`, `w` or `white` in any case; None for other texts."""
    return _COLORS.get(text.lower()) if text.isascii() else None  # the Kelvin sign becomes a k


def read_color(text: str) -> int:
    """Reads a colour.

    Raises:
        GtpError: if the text is none.
    """
    color = find_color(text)
    if color is None:
        raise GtpError(INVALID_VERTEX)
    return color


def find_integer(text: str) -> int | None:
    """Returns the number of plain decimal digits with an optional sign; None for other texts."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS
    return int(text) if is_number else None


def read_integer(text: str, *, what: str, lowest: int) -> int:
    """Reads an integer.

    Args:
        text: the digits.
        what: what is read, for the message.
        lowest: the lowest allowed number.

    Raises:
        GtpError: if the text is no integer or lower.
    """
    number = find_integer(text)
    if number is None or number < lowest:
        raise GtpError(
            f"{SYNTAX_ERROR}: {what}: got {text!r}, allowed: an integer of at least {lowest}"
        )
    return number


def read_float(text: str, *, what: str) -> float:
    """Reads a finite number.

    Raises:
        GtpError: if the text is none.
    """
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise GtpError(f"{SYNTAX_ERROR}: {what}: got {text!r}, allowed: a number")
    return number + 0.0  # no negative zero


def read_switch(text: str, *, what: str) -> bool:
    """Reads `true` or `false` in any case.

    Raises:
        GtpError: if the text is neither.
    """
    if text.lower() not in ("true", "false"):
        raise GtpError(f"{SYNTAX_ERROR}: {what}: got {text!r}, allowed: true or false")
    return text.lower() == "true"
