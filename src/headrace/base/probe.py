"""The counters of a broker: plain integers on the hot path, read only when a scraper asks.

Nothing here formats, locks or allocates per event; `broker.metrics` turns it into Prometheus text.
"""

from typing import ClassVar, Final

_SHORTEST_BITS: Final = 6
_BUCKETS: Final = 21


class Histogram:
    """Counts of durations in buckets that double from 64 µs to 67 s: a shift and a bit count find the bucket."""

    BOUNDS: ClassVar = tuple((1 << _SHORTEST_BITS + place) / 1e6 for place in range(_BUCKETS))
    """Seconds, exclusive. What takes longer than the last is counted behind it."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (_BUCKETS + 1)
        self.seconds = 0.0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def observe(self, seconds: float) -> None:
        place = (int(seconds * 1e6) >> _SHORTEST_BITS).bit_length()
        self.counts[place if place < _BUCKETS else _BUCKETS] += 1
        self.seconds += seconds


class Probes:
    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "connections_accepted",
        "connections_open",
        "connections_refused",
        "handler_failures",
        "last_request",
        "logins",
        "logins_refused",
        "loop_lag",
        "loop_lag_max_seconds",
        "loop_stalls",
        "peer_errors",
        "sync_files",
        "sync_rounds",
        "unclean_elections",
    )

    def __init__(self) -> None:
        self.bytes_received = 0
        self.bytes_sent = 0
        self.connections_open = 0
        self.connections_accepted = 0
        self.connections_refused = 0
        self.peer_errors = 0
        self.handler_failures = 0
        self.logins = 0
        self.logins_refused = 0
        self.sync_rounds = Histogram()
        self.sync_files = 0
        self.loop_lag_max_seconds = 0.0
        self.loop_lag = Histogram()
        self.loop_stalls = 0
        # Any object that prints as its name; the loop-lag probe names it as the suspect.
        self.last_request: object = "none yet"
        self.unclean_elections = 0
