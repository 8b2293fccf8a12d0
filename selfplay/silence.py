"""Actors that live but answer nothing: a process that is stopped or hangs raises no error."""

import time

LONGEST_GAP_S = 60.0  # longer between two looks, and it was this process that stood still (Ctrl-Z)


class SilenceWatch:
    """Tells when answers have been waited for too long.

    Attributes:
        minutes: since the first look in vain after the last answer.
    """

    def __init__(self, *, limit_minutes: float) -> None:
        """Begins to listen.

        Args:
            limit_minutes: how long there may be no answer.
        """
        self.minutes = 0.0
        self._limit_minutes = limit_minutes
        self._looked = time.monotonic()
        self._silent_since: float | None = None  # first look in vain since the last answer

    def look(self, *, has_answer: bool) -> bool:
        """Notes what a look at open calls has found.

        Args:
            has_answer: whether any of them was answered.

        Returns:
            Whether no look has found an answer for longer than the limit.
        """
        now = time.monotonic()
        stood_still = now - self._looked > LONGEST_GAP_S
        self._looked = now
        if has_answer:
            self._silent_since = None
        elif self._silent_since is None or stood_still:
            self._silent_since = now
        self.minutes = 0.0 if self._silent_since is None else (now - self._silent_since) / 60
        return self.minutes > self._limit_minutes
