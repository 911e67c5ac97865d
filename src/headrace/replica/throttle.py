"""A byte rate held by a bucket: it fills with time up to one second's worth, and one answer may overdraw it.

The size of an answer is only known when it is there, so it is taken afterwards and the next question waits until the
bucket is no longer empty: over time the rate holds, however large the single answers are.
"""

from typing import Final

UNLIMITED: Final = (1 << 63) - 1
WAIT_SECONDS_MAX: Final = 10.0
"""An answer far beyond a tiny rate must not silence a replica for hours."""


class Throttle:
    __slots__ = ("_filled_at", "_left", "closed_seconds", "rate")

    def __init__(self, rate: int = UNLIMITED) -> None:
        self.rate = rate
        self._left = float(rate)
        self._filled_at = 0.0
        self.closed_seconds = 0.0

    def set_rate(self, rate: int) -> None:
        if rate != self.rate:
            self.rate = rate
            self._left = min(self._left, rate)

    def is_open(self, now: float) -> bool:
        """Whether more may be requested."""
        if self.rate >= UNLIMITED:
            return True
        if self._left <= 0:
            self.closed_seconds += min(now - self._filled_at, -self._left / self.rate)
        self._left = min(float(self.rate), self._left + (now - self._filled_at) * self.rate)
        self._filled_at = now
        return self._left > 0

    def take(self, count: int) -> None:
        self._left = max(self._left - count, -self.rate * WAIT_SECONDS_MAX)
