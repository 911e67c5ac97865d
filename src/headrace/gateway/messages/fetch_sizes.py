"""The number of bytes to fetch for so many records: a guess from what a partition's batches were like when last looked at.

A guess that is too low costs another fetch, one that is too high bytes that nobody reads.
"""

from typing import NamedTuple

from headrace.base.ids import TopicPartition
from headrace.wire.batch import parse_header

FETCH_BYTES_MIN, FETCH_BYTES_MAX = 64 << 10, 4 << 20
FETCH_SIZES_MAX = 10_000


class _Shape(NamedTuple):
    record_bytes: int = 1 << 10
    batch_bytes: int = 0


class FetchSizes:
    def __init__(self) -> None:
        self._shapes: dict[TopicPartition, _Shape] = {}

    def learn(self, id: TopicPartition, batches: memoryview) -> None:
        """Notes the shape of the first of these batches."""
        if not batches:
            return
        header = parse_header(batches)
        if len(self._shapes) >= FETCH_SIZES_MAX:
            self._shapes.clear()
        self._shapes[id] = _Shape(header.size // max(1, header.record_count) + 1, header.size)

    def wanted(self, id: TopicPartition, records: int) -> int:
        """A page begins and ends inside of batches, and they come whole: that is one more."""
        record_bytes, batch_bytes = self._shapes.get(id, _UNKNOWN)
        return min(max(FETCH_BYTES_MIN, records * record_bytes + batch_bytes), FETCH_BYTES_MAX)


_UNKNOWN = _Shape()
