"""Actors that live but answer nothing: a process that is stopped or hangs raises no error."""

import time

from alphago.errors import TrainingError

LONGEST_GAP_S = 60.0  # longer between two looks, and it was this process that stood still (Ctrl-Z)


class SilenceWatch:
    """Ends a run whose actors have been waited for too long."""

    def __init__(self, *, limit_minutes: float, num_actors: int) -> None:
        """Begins to listen.

        Args:
            limit_minutes: how long no actor may answer.
            num_actors: all actors, for the message.
        """
        self._limit_minutes = limit_minutes
        self._num_actors = num_actors
        self._looked = time.monotonic()
        self._silent_since: float | None = None  # first look in vain since the last answer

    def look(self, *, has_answer: bool, num_busy: int) -> None:
        """Notes what a look at the open calls has found.

        Args:
            has_answer: whether any call was answered.
            num_busy: actors that still owe an answer.

        Raises:
            TrainingError: if no look has found an answer for longer than the limit.
        """
        now = time.monotonic()
        stood_still = now - self._looked > LONGEST_GAP_S
        self._looked = now
        if has_answer:
            self._silent_since = None
        elif self._silent_since is None or stood_still:
            self._silent_since = now
        elif now - self._silent_since > 60 * self._limit_minutes:
            raise TrainingError(
                f"{num_busy} of {self._num_actors} self-play actors have been silent for"
                f" {(now - self._silent_since) / 60:.1f} minutes; they hang, or one answer takes"
                f" longer than selfplay.silence_limit_minutes={self._limit_minutes:g}"
            )
