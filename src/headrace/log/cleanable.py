"""The dirtiness of a log, and whether it is time to clean it. Calculations over what a log says of its sealed segments.

start … cleaned before … first_dirty_offset … dirty … end_offset … too young, not committed, active
"""

from collections.abc import Sequence
from typing import NamedTuple

from headrace.log.retention import Retained


class Dirt(NamedTuple):
    end_offset: int
    """Where cleaning may go: the end of a sealed segment."""
    clean_bytes: int
    dirty_bytes: int

    @property
    def ratio(self) -> float:
        whole = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / whole if whole else 0.0


def dirt(segments: Sequence[Retained], first_dirty_offset: int, bound: int, young_since_ms: int) -> Dirt:
    """The dirty part of a log. Above `bound` records are not committed, not decided or not on disk.

    The part ends at the first dirty segment that holds a record of `young_since_ms` or later. The last segment is the
    active one, which is never cleaned.
    """
    clean = dirty = 0
    end = segments[0].base_offset
    for segment in segments[:-1]:
        is_clean = segment.next_offset <= first_dirty_offset
        if segment.next_offset > bound or (not is_clean and segment.max_timestamp >= young_since_ms):
            break
        if is_clean:
            clean += segment.size
        else:
            dirty += segment.size
        end = segment.next_offset
    return Dirt(end, clean, dirty)


def is_due(dirt: Dirt, min_ratio: float, oldest_dirty_ms: int | None, overdue_before_ms: int) -> bool:
    """Whether the log is dirty enough, or has waited for longer than it may."""
    if not dirt.dirty_bytes:
        return False
    return dirt.ratio > min_ratio or (oldest_dirty_ms is not None and oldest_dirty_ms < overdue_before_ms)
