"""How a sitting may end after a fault, and how it may not."""

import re
import signal
from typing import NamedTuple

from scripts.soak.driver import last_line


class Ending(NamedTuple):
    """An end that is in order.

    Attributes:
        code: the exit code; minus the number of a signal that ended the process.
        words: what the last line it printed must hold.
    """

    code: int
    words: str = ""


KILLED = Ending(-signal.SIGKILL)
SAVED = Ending(0, "report it:")  # the last line of how to go on
AT_ONCE = Ending(130)
NO_RESTART_LEFT = Ending(1, "selfplay.max_restarts")
SILENT = Ending(1, "have been silent")
NO_RAY = Ending(1, "Ray")
DISK_FULL = Ending(2, "disk full")
FILE_TOO_LARGE = Ending(2, "File too large")

# After each kind of fault; after any that is not named here the run goes on.
ENDINGS = {
    "limit": (SAVED,),  # no fault: it has reached its limit
    "actor_killed": (NO_RESTART_LEFT,),
    "all_actors_killed": (NO_RESTART_LEFT,),
    "actor_hung": (NO_RESTART_LEFT, SILENT),
    "driver_killed": (KILLED,),
    "driver_killed_storing": (KILLED,),
    "driver_killed_saving": (KILLED,),
    "driver_interrupted": (SAVED,),
    "driver_interrupted_hung": (SAVED,),
    "driver_interrupted_twice": (SAVED, AT_ONCE),  # it may have been saved by then
    "driver_terminated": (SAVED,),
    "ray_killed": (NO_RAY, NO_RESTART_LEFT),
    "disk_full": (DISK_FULL,),
    "file_limit": (FILE_TOO_LARGE,),
}


def fault_of_ending(kind: str, *, code: int, text: str) -> str:
    """Returns what is wrong with an end, empty if nothing is.

    Args:
        kind: the fault that came before.
        code: exit code.
        text: all that was printed.
    """
    if "Traceback (most recent call last)" in text:
        return f"exit code {code}, with a traceback"
    last = last_line(text)
    allowed = ENDINGS.get(kind, ())
    if any(code == ending.code and ending.words in last for ending in allowed):
        return ""
    return f"exit code {code}: {re.sub(r'[^ -~]', '?', last)[:300]!r}"
