"""Log lines of TLS handshakes that fail: one a minute for an address and a cause, with how many there were since the last.

A client that tries on would fill the log. The table has a bound: where more addresses than that fail within the minute,
the rest have one line together. `headrace_peer_errors_total` counts each of them.
"""

import logging
from collections.abc import Callable
from typing import Final

from headrace.base.outage import TELL_SECONDS

logger = logging.getLogger("headrace.listener")

KINDS_MAX: Final = 1_000
_THE_REST: Final = ("", "")


class HandshakeFailures:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # When each kind was told, ordered by that, and how many there were since.
        self._told: dict[tuple[str, str], tuple[float, int]] = {}

    def note(self, peer: str, cause: str) -> None:
        untold = self._untold(peer.rpartition(":")[0], cause)
        if untold is None:
            return
        fields = {"peer": peer, "request": "", "cause": cause, "count": untold}
        if untold:
            logger.warning("no TLS handshake with %(peer)s: %(cause)s (%(count)s more since it was last told)", fields)
        else:
            logger.warning("no TLS handshake with %(peer)s: %(cause)s", fields)

    def _untold(self, address: str, cause: str) -> int | None:
        """How many there were since the last line; None while it is no time for another."""
        now = self._clock()
        kind = self._kind((address, cause), now)
        told_at, untold = self._told.get(kind, (now - TELL_SECONDS, 0))
        if now - told_at < TELL_SECONDS:
            self._told[kind] = told_at, untold + 1
            return None
        self._told.pop(kind, None)
        self._told[kind] = now, 0
        return untold

    def _kind(self, kind: tuple[str, str], now: float) -> tuple[str, str]:
        """The entry that counts: its own, or where there is no room that of the rest."""
        if kind in self._told:
            return kind
        while len(self._told) >= KINDS_MAX:
            oldest = next(iter(self._told))
            if now - self._told[oldest][0] < TELL_SECONDS:
                return _THE_REST
            del self._told[oldest]
        return kind
