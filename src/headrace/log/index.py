"""The sparse index of one segment: about every `index.interval.bytes` one entry, always at the start of a batch.

An entry is a row of three columns: the batch's offset relative to the segment's base, its position in the file, and the
largest timestamp of all batches before it. All three only rise, so each is searched by bisection; one file holds both
the offset index and the time index. The first batch needs no entry: it is at position 0.

Invariant: every entry points at a batch boundary of the log file it was built from.
"""

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from headrace.log.envelope import OVERHEAD, unwrap, wrap

MARKS_MAX = 64
NO_TIMESTAMP = -1
_SUMMARY_MAGIC, _COLUMNS_MAGIC, VERSION = b"HRis", b"HRix", 1
_SUMMARY = struct.Struct(">qqqqqI")
SUMMARY_BYTES = OVERHEAD + _SUMMARY.size
_ROW_BYTES = 16


class IndexSummary(NamedTuple):
    """The head of an index file, readable alone: which log file it belongs to, and the figures retention asks for."""

    base_offset: int
    log_bytes: int
    next_offset: int
    max_timestamp: int
    first_append_ms: int
    entries: int


class SparseIndex:
    """The sparse index in memory. `marks` holds the boundaries touched last, so that a sequential reader never walks."""

    __slots__ = ("marks", "offsets", "positions", "timestamps")

    def __init__(self) -> None:
        self.offsets = array("I")
        self.positions = array("I")
        self.timestamps = array("q")
        self.marks: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def size_bytes(self) -> int:
        return _ROW_BYTES * len(self.positions)

    def add(self, relative_offset: int, position: int, max_timestamp_before: int) -> None:
        self.offsets.append(relative_offset)
        self.positions.append(position)
        self.timestamps.append(max_timestamp_before)

    def mark(self, offset: int, position: int) -> None:
        marks = self.marks
        marks[offset] = position
        if len(marks) > MARKS_MAX:
            del marks[next(iter(marks))]

    def position_before(self, relative_offset: int) -> int:
        """A batch boundary at or before the batch that holds this offset, near it."""
        row = bisect_right(self.offsets, relative_offset) - 1
        return self.positions[row] if row >= 0 else 0

    def position_before_time(self, timestamp: int) -> int:
        """A batch boundary before which everything is older than `timestamp`, near the first batch that is not."""
        row = bisect_left(self.timestamps, timestamp) - 1
        return self.positions[row] if row >= 0 else 0

    def boundary_within(self, start: int, limit: int) -> tuple[int, int] | None:
        """(position, relative offset) of the last entry in (start, limit]."""
        row = bisect_right(self.positions, limit) - 1
        if row < 0 or self.positions[row] <= start:
            return None
        return self.positions[row], self.offsets[row]

    def cut(self, position: int) -> None:
        """Forgets the entries at or after `position`, where the log file now ends."""
        row = bisect_left(self.positions, position)
        del self.offsets[row:], self.positions[row:], self.timestamps[row:]
        self.marks.clear()


def encode_index(index: SparseIndex, summary: IndexSummary) -> bytes:
    columns = b"".join(_little_endian(column) for column in (index.offsets, index.positions, index.timestamps))
    return wrap(_SUMMARY_MAGIC, VERSION, _SUMMARY.pack(*summary)) + wrap(_COLUMNS_MAGIC, VERSION, columns)


def decode_summary(content: bytes) -> IndexSummary | None:
    packed = unwrap(_SUMMARY_MAGIC, VERSION, content[:SUMMARY_BYTES])
    if packed is None or len(packed) != _SUMMARY.size:
        return None
    return IndexSummary(*_SUMMARY.unpack(packed))


def decode_index(content: bytes) -> tuple[IndexSummary, SparseIndex] | None:
    summary = decode_summary(content)
    columns = unwrap(_COLUMNS_MAGIC, VERSION, content[SUMMARY_BYTES:])
    if summary is None or columns is None or len(columns) != _ROW_BYTES * summary.entries:
        return None
    index = SparseIndex()
    start = 0
    for column in (index.offsets, index.positions, index.timestamps):
        end = start + column.itemsize * summary.entries
        column.frombytes(columns[start:end])
        if sys.byteorder == "big":
            column.byteswap()
        start = end
    return summary, index


def _little_endian(column: "array[int]") -> bytes:
    if sys.byteorder == "little":
        return column.tobytes()
    swapped = column[:]
    swapped.byteswap()
    return swapped.tobytes()
