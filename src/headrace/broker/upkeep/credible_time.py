"""Wall time as retention and expiry take it: a clock that was set ahead would make them delete what is still wanted.

    set ahead by more than a minute ─▶ not believed for an hour, so that somebody may notice and set it right ─▶ believed
    set back, or right again        ─▶ believed at once: what goes a little later is not lost

Meanwhile time goes on with the clock that nobody can set. What the wall clock said when the broker started is believed.
"""

import logging

from headrace.base.clock import Now

logger = logging.getLogger("headrace.clock")

JUMP_MS_MIN = 60_000
DOUBT_SECONDS = 3600.0


class CredibleTime:
    """A wall clock that distrusts jumps. Ask it every few minutes at least, or it takes a long pause for a jump."""

    def __init__(self, now: Now) -> None:
        self._ahead_ms = now.wall - _ms(now.mono)
        """How far the wall clock is believed to be ahead of the clock that nobody can set."""
        self._doubted_since: float | None = None

    def of(self, now: Now) -> Now:
        ahead_ms = now.wall - _ms(now.mono)
        if ahead_ms - self._ahead_ms <= JUMP_MS_MIN:
            self._doubted_since = None
        elif self._doubted_since is None:
            self._doubted_since = now.mono
            logger.error(
                "the clock was set %(seconds)d s ahead: nothing is deleted by it for an hour. Set it right, or retention "
                "goes by it after that",
                {"seconds": (ahead_ms - self._ahead_ms) // 1000},
            )
        if self._doubted_since is None or now.mono - self._doubted_since >= DOUBT_SECONDS:
            self._ahead_ms = ahead_ms
            self._doubted_since = None
        return now._replace(wall=_ms(now.mono) + self._ahead_ms)


def _ms(seconds: float) -> int:
    return int(seconds * 1000 + 0.5)
