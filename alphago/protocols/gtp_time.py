"""Time control: what the controller allows, what is left, and how long to think about a move.

Four systems: absolute (a main time and nothing after it), Canadian (so many stones in each further
period), Japanese byo-yomi (so many periods, each good for one move that stays within it) and
Fischer (a main time that grows by an increment with each move).

The allotment is simple and safe. Of a main time each move gets an equal share for the moves that
may still come, and never more than a quarter; of a period only a part, so that the answer arrives
in time over a slow line as well.
"""

import math
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

NUM_COLORS = 2
LAG = 0.3  # seconds kept back for the way to the controller and back
_PERIOD_SHARE = 0.8  # of a period that a move may use
_LARGEST_SHARE = 0.25  # of the main time for one move
_FEWEST_MOVES = 20  # moves to come that are always reckoned with
_MOVES_PER_POINT = 0.7  # length of a typical game, both colours together
_OVERHEAD = 0.1  # seconds of the main time that a move costs beside its thinking
_SHORTEST = 0.01  # seconds; also with no time left a move has to be found


class TimeSystem(Enum):
    """How time is kept."""

    NONE = "none"
    ABSOLUTE = "absolute"
    CANADIAN = "canadian"
    BYOYOMI = "byoyomi"
    FISCHER = "fischer"


_WITH_PERIODS = (TimeSystem.CANADIAN, TimeSystem.BYOYOMI)


class TimeSettings(NamedTuple):
    """What each side is allowed.

    Attributes:
        system: how time is kept.
        main: seconds of the main time.
        period: seconds of a period, or of Fischer's increment.
        number: stones of a Canadian period, or the number of byo-yomi periods.
    """

    system: TimeSystem
    main: float = 0.0
    period: float = 0.0
    number: int = 0


NO_LIMIT = TimeSettings(TimeSystem.NONE)


class Clock(NamedTuple):
    """What one side has left: seconds of the main time, or of the period with its number."""

    seconds: float
    number: int  # 0 in the main time; else stones to play, or periods left


def simple_settings(*, main: float, period: float, stones: int) -> TimeSettings:
    """Returns the settings that GTP's own `time_settings` stands for.

    A period without stones means no limit by the specification; no time at all is read the same
    way, since no move could be made within it.
    """
    if period > 0 and stones == 0:
        return NO_LIMIT
    if period > 0:
        return TimeSettings(TimeSystem.CANADIAN, main, period, stones)
    return TimeSettings(TimeSystem.ABSOLUTE, main) if main > 0 else NO_LIMIT


class TimeControl:
    """The clocks of both sides. They run by our own watch until the controller tells better."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Starts without limits.

        Args:
            now: seconds of a clock that never goes back.
        """
        self._now = now
        self._started = now()
        self.settings = NO_LIMIT
        self._clocks = self._full_clocks()

    def set(self, settings: TimeSettings) -> None:
        """Takes new settings, with all time on both clocks."""
        self.settings = settings
        self.restart()

    def restart(self) -> None:
        """Gives both sides all their time again: a new game."""
        self._clocks = self._full_clocks()

    def set_left(self, color: int, clock: Clock) -> None:
        """Takes what the controller says a side has left."""
        self._clocks[color] = clock

    def left(self, color: int) -> Clock:
        """Returns what a side has left."""
        return self._clocks[color]

    def start_move(self) -> None:
        """Notes that thinking begins."""
        self._started = self._now()

    def elapsed(self) -> float:
        """Returns the seconds since thinking began."""
        return self._now() - self._started

    def end_move(self, color: int) -> None:
        """Takes the time that was used off a side's clock."""
        self._clocks[color] = _after_move(self.settings, self._clocks[color], self.elapsed())

    def allotment(self, color: int, *, num_points: int, num_moves: int) -> float | None:
        """Returns the seconds to think about the next move; None where nothing limits it.

        Args:
            color: whose move.
            num_points: of the board.
            num_moves: moves made so far by both sides.
        """
        settings, clock = self.settings, self._clocks[color]
        if settings.system is TimeSystem.NONE:
            return None
        usable = max(0.0, clock.seconds - LAG)
        # Some controllers tell of a stone in a main time too, which is no period to use up.
        if clock.number > 0 and settings.system in _WITH_PERIODS:
            is_canadian = settings.system is TimeSystem.CANADIAN
            seconds = _PERIOD_SHARE * usable / (clock.number if is_canadian else 1)
            return max(_SHORTEST, seconds)
        to_come = max(_FEWEST_MOVES, (_MOVES_PER_POINT * num_points - num_moves) / 2)
        usable = max(0.0, usable - _OVERHEAD * to_come)
        share = min(usable / to_come, usable * _LARGEST_SHARE)
        # What comes back with every move, or waits behind the main time, need not be saved.
        per_move = min(usable, _PERIOD_SHARE * _period_per_move(settings))
        return max(_SHORTEST, share, per_move)

    def _full_clocks(self) -> list[Clock]:
        return [_full_clock(self.settings) for _ in range(NUM_COLORS)]


def _period_per_move(settings: TimeSettings) -> float:
    """Returns the seconds of a period, or of the increment, that one move may count on."""
    is_canadian = settings.system is TimeSystem.CANADIAN
    return settings.period / settings.number if is_canadian else settings.period


def _full_clock(settings: TimeSettings) -> Clock:
    """Returns a clock that has not run yet."""
    if settings.system in _WITH_PERIODS and settings.main <= 0:
        return Clock(settings.period, settings.number)
    return Clock(settings.main, 0)


def _after_move(settings: TimeSettings, clock: Clock, used: float) -> Clock:
    """Returns a clock after a move that took so many seconds."""
    left = clock.seconds - used
    if settings.system is TimeSystem.FISCHER:
        return Clock(left + settings.period, 0)
    if settings.system is TimeSystem.CANADIAN:
        return _after_canadian_move(settings, clock.number, left)
    if settings.system is TimeSystem.BYOYOMI:
        return _after_byoyomi_move(settings, clock.number, left)
    return Clock(left, 0)


def _after_canadian_move(settings: TimeSettings, stones: int, left: float) -> Clock:
    if stones == 0 and left > 0:
        return Clock(left, 0)
    if stones == 0:  # the main time ran out: this move is the first of the period
        stones, left = settings.number, settings.period + left
    if stones > 1:
        return Clock(left, stones - 1)
    return Clock(settings.period, settings.number)


def _after_byoyomi_move(settings: TimeSettings, periods: int, left: float) -> Clock:
    if periods == 0 and left > 0:
        return Clock(left, 0)
    if periods == 0:  # the main time ran out
        periods, left = settings.number, settings.period + left
    if left <= 0 and periods > 1:
        # Not one by one: there may be a thousand million of them, of no length at all.
        used = -left // settings.period + 1 if settings.period > 0 else math.inf
        periods -= int(min(periods - 1, used))
    return Clock(settings.period, periods)
