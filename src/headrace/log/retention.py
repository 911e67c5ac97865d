"""The old segments a topic may lose. Pure calculations: each says where the log should start, and changes nothing.

The answer is a segment boundary, and the end of the log when even the last segment is expired: then it has to be rolled
before it can go.
"""

from collections.abc import Sequence
from typing import Protocol

UNLIMITED = -1


class Retained(Protocol):
    @property
    def base_offset(self) -> int: ...

    @property
    def next_offset(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def max_timestamp(self) -> int: ...


def start_by_time(segments: Sequence[Retained], retention_ms: int, now_ms: int) -> int:
    """The start offset once segments whose newest record is too old are gone.

    Asks no further than the first that stays, so it stays cheap. A segment without timestamps stays: nothing says how
    old it is.
    """
    start = segments[0].base_offset
    if retention_ms == UNLIMITED:
        return start
    for segment in segments:
        if segment.size == 0 or not 0 <= segment.max_timestamp < now_ms - retention_ms:
            break
        start = segment.next_offset
    return start


def start_by_size(segments: Sequence[Retained], retention_bytes: int) -> int:
    """The start offset once each segment is gone whose successors alone hold `retention_bytes`."""
    start = segments[0].base_offset
    if retention_bytes == UNLIMITED:
        return start
    excess = sum(segment.size for segment in segments) - retention_bytes
    for segment in segments[:-1]:
        excess -= segment.size
        if excess < 0:
            break
        start = segment.next_offset
    return start
