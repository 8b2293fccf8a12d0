"""One small exception class per cause; messages say what is wrong, where, got and allowed.

Everything a user can cause is an `AlphagoError` (a `ValueError`): the command line prints its
message on one line and exits with code 2, or 1 for a `TrainingError`, a `MismatchError` or a
`FaultsFoundError`, which right input can meet too. Broken invariants of our own are `assert`s.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral

# Bounds of settings that need none of their own: sums and products of several such numbers stay
# finite, and above 0, in double precision.
LOWEST_NUMBER = 1e-9
HIGHEST_NUMBER = 1e9


class AlphagoError(ValueError):
    """Base of all errors that wrong input can cause."""


class ConfigError(AlphagoError):
    """A configuration value is missing, misspelt, of the wrong type or out of range."""

    def __init__(self, key: str, got: object, allowed: str) -> None:
        """Keeps the key so that callers can point at it."""
        super().__init__(key, got, allowed)  # what pickle hands on: errors cross processes
        self.key = key

    def __str__(self) -> str:
        """Returns the message."""
        key, got, allowed = self.args
        return f"{key}: got {got!r}, allowed: {allowed}"


class UnknownGameError(AlphagoError):
    """No game of this name is registered."""


class RulesError(AlphagoError):
    """Rules of a game, or a position, that cannot be: an unknown option, a stone without air."""


class NotationError(AlphagoError):
    """A move's text cannot be read."""


class IllegalActionError(AlphagoError):
    """An action is out of range, illegal in its state, or the game is over."""


class StateError(AlphagoError):
    """States are of another game, or a single one was given in place of a batch."""


class FinishedGameError(AlphagoError):
    """A search or a player was asked for a move in a finished game."""


class EvaluationError(AlphagoError):
    """A network answered with numbers no search can use: not finite, or a value beyond [-1, 1]."""


class MemoryFullError(EvaluationError):
    """A GPU's memory has no room for a network or for a batch of it, maybe only for now."""


class PlayerError(AlphagoError):
    """The text that names a player cannot be understood, or the player cannot play this game."""


class CheckpointError(AlphagoError):
    """A checkpoint or run folder is missing, broken, or of another game, network or version."""


class RecordError(AlphagoError):
    """A game record file is broken, of an unknown schema version, or does not replay."""


class SuiteError(AlphagoError):
    """A file of positions cannot be read."""


class OpeningsError(AlphagoError):
    """A file of openings cannot be read, or has a line that is none."""


class ResultsError(AlphagoError):
    """A file of a match's results is broken, of another match, or in use."""


class SgfError(AlphagoError):
    """An SGF file cannot be read, is no game of Go, or holds a move that the rules forbid."""


class ExportError(AlphagoError):
    """A network has no form in the format asked for, or its file cannot be written."""


class MismatchError(AlphagoError):
    """An exported file does not answer as the network does."""


class FaultsFoundError(AlphagoError):
    """What was to be looked at was found not to be as it should."""


class TrainingError(AlphagoError):
    """Learning cannot go on: the loss is not finite, no actor is left, or Ray does not start."""


class ActorsError(TrainingError):
    """The actors of a run are gone, or answer nothing: what they have not handed over is lost."""


def check_config(key: str, got: object, condition: bool, allowed: str) -> None:
    """Raises `ConfigError` unless the condition holds.

    Args:
        key: full dotted name of the setting, as typed on the command line.
        got: its value.
        condition: whether the value is allowed.
        allowed: the allowed values in words.

    Raises:
        ConfigError: if `condition` is false.
    """
    if not condition:
        raise ConfigError(key, got, allowed)


def check_count(
    key: str, got: object, *, at_least: int, at_most: int | None = None, or_null: bool = False
) -> None:
    """Raises `ConfigError` unless a value is an integer within bounds; a bool is none.

    Args:
        key: as in `check_config`.
        got: the value.
        at_least: the lowest allowed one.
        at_most: the highest allowed one, None for no bound.
        or_null: whether None, null in YAML, is allowed as well.

    Raises:
        ConfigError: if it is anything else.
    """
    highest = math.inf if at_most is None else at_most
    is_count = (
        isinstance(got, Integral) and not isinstance(got, bool) and at_least <= int(got) <= highest
    )
    bounds = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
    allowed = f"an integer {bounds}" + ", or null" * or_null
    check_config(key, got, is_count or (or_null and got is None), allowed)


def check_number(
    key: str, got: float, *, at_least: float = 0.0, at_most: float = HIGHEST_NUMBER
) -> None:
    """Raises `ConfigError` unless a number lies within bounds; NaN does not.

    Args:
        key: as in `check_config`.
        got: the value.
        at_least: the lowest allowed one; `LOWEST_NUMBER` where 0 is too low.
        at_most: the highest allowed one.

    Raises:
        ConfigError: if it lies beyond them.
    """
    allowed = f"a number from {at_least:g} to {at_most:g}"
    check_config(key, got, at_least <= got <= at_most, allowed)


@contextmanager
def memory_for(key: str, got: object) -> Iterator[None]:
    """Encloses allocations, and nothing else, whose size a setting decides.

    Args:
        key: as in `check_config`.
        got: the value.

    Raises:
        ConfigError: if there is not so much memory.
    """
    try:
        yield
    except (MemoryError, ValueError, OverflowError) as error:  # the latter for absurd sizes
        raise ConfigError(key, got, "what fits into memory") from error
