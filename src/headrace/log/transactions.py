"""The transactions in this log: which are open, which have ended, and which of those were aborted.

    open ──marker──▶ ended ──watermark passes the marker──▶ forgotten, or remembered as aborted

The last stable offset is the first offset of a transaction that is open, or that ended by a marker which a fail-over
could still take back; and never above the high watermark. So it only rises, whoever leads.

Invariant: `open` is in the order of first offsets, as batches come in that order. Derived from headers and markers
alone.
"""

import struct
from collections import deque

from headrace.log.aborted import AbortedIndex
from headrace.log.segment import Segment
from headrace.wire.batch import BatchHeader, CorruptBatch
from headrace.wire.records import Marker, read_marker

_COUNTS = struct.Struct(">II")
_PAIR = struct.Struct(">qq")


class LogTransactions:
    __slots__ = ("aborted", "ended", "open")

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        """Producer id → first offset."""
        self.ended: deque[tuple[int, int]] = deque()
        """(first offset, offset of the marker), in the order of the markers."""
        self.aborted = AbortedIndex()

    def apply(self, header: BatchHeader, marker: Marker | None) -> None:
        """Takes in a transactional batch, or a marker, that is in the log."""
        if not header.is_control:
            # A batch that compaction emptied is kept for its sequence number; its marker may be gone already.
            if header.record_count:
                self.open.setdefault(header.producer_id, header.base_offset)
            return
        first_offset = self.open.pop(header.producer_id, None)
        if first_offset is None or marker is None:
            return
        self.ended.append((first_offset, header.base_offset))
        if not marker.commit:
            undecided = next(iter(self.open.values()), header.next_offset)
            self.aborted.add(header.producer_id, first_offset, header.base_offset, undecided)

    def on_high_watermark(self, high_watermark: int) -> None:
        ended = self.ended
        while ended and ended[0][1] < high_watermark:
            ended.popleft()

    def stable_end(self, high_watermark: int, start_offset: int) -> int:
        """The last stable offset: below it all is decided, and no fail-over can undecide it."""
        if not self.open and not self.ended:
            return high_watermark
        end = high_watermark
        for first_offset in self.open.values():
            end = min(end, first_offset)
            break
        for first_offset, marker_offset in self.ended:
            if marker_offset >= high_watermark:
                end = min(end, first_offset)
        return max(start_offset, end)

    def encode(self) -> bytes:
        parts = [_COUNTS.pack(len(self.open), len(self.ended))]
        parts += [_PAIR.pack(*pair) for pair in self.open.items()]
        parts += [_PAIR.pack(*pair) for pair in self.ended]
        parts.append(self.aborted.encode())
        return b"".join(parts)

    @classmethod
    def decode(cls, content: bytes) -> "LogTransactions":
        transactions = cls()
        open_count, ended_count = _COUNTS.unpack_from(content)
        end = _COUNTS.size + (open_count + ended_count) * _PAIR.size
        pairs = list(_PAIR.iter_unpack(content[_COUNTS.size : end]))
        transactions.open.update(pairs[:open_count])
        transactions.ended.extend(pairs[open_count:])
        transactions.aborted = AbortedIndex.decode(content[end:])
        return transactions


def marker_at(segment: Segment, position: int, header: BatchHeader) -> Marker | None:
    """The marker in the batch with this header; None for a batch that is no marker."""
    return marker_of(segment.file.pread(header.size, position)) if header.is_control else None


def marker_of(batch: bytes | bytearray | memoryview) -> Marker | None:
    """The marker in a control batch; None for one that compaction emptied, or of a kind that ends no transaction."""
    try:
        return read_marker(batch)
    except CorruptBatch:
        return None
