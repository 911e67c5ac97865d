"""What a topic's settings say to its logs. A value object: a changed setting is a new one, assigned to `Log.config`."""

from typing import NamedTuple


class LogConfig(NamedTuple):
    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3_600_000
    index_interval_bytes: int = 4096
    segment_index_bytes: int = 10 << 20
    producer_expiration_ms: int = 24 * 3_600_000
