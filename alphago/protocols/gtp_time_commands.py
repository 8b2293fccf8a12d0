"""Commands about time: GTP's own, and those of the KGS server and of KataGo."""

from collections.abc import Mapping

from alphago.protocols.gtp import SYNTAX_ERROR, Command, GtpError, Handler, check_arguments
from alphago.protocols.gtp_session import GtpSession
from alphago.protocols.gtp_time import (
    NO_LIMIT,
    Clock,
    TimeSettings,
    TimeSystem,
    simple_settings,
)
from alphago.protocols.gtp_values import read_color, read_float, read_integer

_NUM_VALUES = {
    TimeSystem.NONE: 0,
    TimeSystem.ABSOLUTE: 1,
    TimeSystem.FISCHER: 2,
    TimeSystem.CANADIAN: 3,
    TimeSystem.BYOYOMI: 3,
}
_KGS_SYSTEMS = (TimeSystem.NONE, TimeSystem.ABSOLUTE, TimeSystem.BYOYOMI, TimeSystem.CANADIAN)


class TimeCommands:
    """The handlers."""

    def __init__(self, session: GtpSession) -> None:
        """Keeps the session."""
        self._session = session

    def handlers(self) -> Mapping[str, Handler]:
        """Returns the handlers by command."""
        return {
            "time_settings": self._time_settings,
            "time_left": self._time_left,
            "kgs-time_settings": self._kgs_settings,
            "kata-time_settings": self._kata_settings,
            "kata-list_time_settings": self._list_settings,
        }

    def _time_settings(self, command: Command) -> str:
        check_arguments(command, usage="MAIN PERIOD STONES", at_least=3, at_most=3)
        main, period, stones = command.arguments
        settings = simple_settings(
            main=_read_seconds(main),
            period=_read_seconds(period),
            stones=read_integer(stones, what="stones", lowest=0),
        )
        self._session.time.set(settings)
        return ""

    def _time_left(self, command: Command) -> str:
        check_arguments(command, usage="COLOR SECONDS STONES", at_least=3, at_most=3)
        color, seconds, stones = command.arguments
        clock = Clock(
            # Servers that are a little late tell of less than nothing.
            max(0.0, read_float(seconds, what="seconds")),
            read_integer(stones, what="stones", lowest=0),
        )
        self._session.time.set_left(read_color(color), clock)
        return ""

    def _kgs_settings(self, command: Command) -> str:
        self._session.time.set(_read_settings(command, allowed=_KGS_SYSTEMS))
        return ""

    def _kata_settings(self, command: Command) -> str:
        self._session.time.set(_read_settings(command, allowed=tuple(TimeSystem)))
        return ""

    def _list_settings(self, command: Command) -> str:
        check_arguments(command, usage="", at_least=0, at_most=0)
        return " ".join(system.value for system in TimeSystem)


def _read_seconds(text: str) -> float:
    seconds = read_float(text, what="seconds")
    if seconds < 0:
        raise GtpError(f"{SYNTAX_ERROR}: seconds: got {text!r}, allowed: at least 0")
    return seconds


def _read_settings(command: Command, *, allowed: tuple[TimeSystem, ...]) -> TimeSettings:
    """Reads `SYSTEM MAIN PERIOD COUNT`, of which each system takes a part."""
    names = {system.value: system for system in allowed}
    usage = "|".join(names) + " [MAIN [PERIOD [COUNT]]]"
    check_arguments(command, usage=usage, at_least=1, at_most=4)
    name, *values = command.arguments
    if name not in names:
        raise GtpError(f"{SYNTAX_ERROR}: got {name!r}, allowed: {', '.join(names)}")
    system = names[name]
    check_arguments(
        command, usage=usage, at_least=1 + _NUM_VALUES[system], at_most=1 + _NUM_VALUES[system]
    )
    if system is TimeSystem.NONE:
        return NO_LIMIT
    main, *rest = values
    return TimeSettings(
        system,
        _read_seconds(main),
        _read_seconds(rest[0]) if rest else 0.0,
        read_integer(rest[1], what="count", lowest=1) if len(rest) > 1 else 0,
    )
