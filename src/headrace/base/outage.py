"""Log lines of a failure that is tried again and again: at first, then once a minute at most, and when it is over.

A failure that comes and goes within the minute is told once, so a log has a bound whatever fails.
"""

import math
import time
from collections.abc import Callable

TELL_SECONDS = 60.0


class Outage:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told_at = -math.inf
        self._is_told = False

    def is_news(self) -> bool:
        """Whether this failure is to be logged."""
        now = self._clock()
        if now - self._told_at < TELL_SECONDS:
            return False
        self._told_at, self._is_told = now, True
        return True

    def has_ended(self) -> bool:
        """Whether this success is to be logged: the first after a failure that was."""
        was_told, self._is_told = self._is_told, False
        return was_told
