"""The topic settings that a log follows. A value object: a changed setting is a new one, assigned to `Log.config`."""

from typing import NamedTuple


class LogConfig(NamedTuple):
    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3_600_000
    index_interval_bytes: int = 4096
    segment_index_bytes: int = 10 << 20
    producer_expiration_ms: int = 24 * 3_600_000
    producers_max: int = 20_000
    snapshot_batches: int = 8_192
    """A batch is replayed in about three microseconds, so a cut takes some 30 ms."""
    snapshot_bytes: int = 64 << 20
