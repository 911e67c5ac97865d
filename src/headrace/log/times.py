"""Look-ups by timestamp, exact to the record: the index finds the batch, then that one batch is opened.

Timestamps need not rise within a log, so the answer is the first record at or after a time in the order of offsets.
"""

from collections.abc import Iterable

from headrace.log.segment import Segment
from headrace.log.walk import walk
from headrace.wire.batch import HEADER_SIZE, BatchHeader, CorruptBatch
from headrace.wire.records import iter_offsets

TIMESTAMP_MAX = (1 << 63) - 1


def first_at_or_after(segments: Iterable[Segment], timestamp: int, start_offset: int) -> tuple[int, int] | None:
    """(offset, timestamp) of the first record at or above `start_offset` that is not older than `timestamp`."""
    for segment in segments:
        if segment.next_offset <= start_offset or segment.max_timestamp < timestamp:
            continue
        for position, header in walk(segment.file, segment.index.position_before_time(timestamp), segment.size):
            if header.max_timestamp >= timestamp and header.last_offset >= start_offset:
                found = _first_in_batch(segment, position, header, timestamp, start_offset)
                if found is not None:
                    return found
    return None


def newest_with_records(segments: Iterable[Segment], start_offset: int) -> int:
    """The largest timestamp of a batch that has records; larger than any when there is none. Reads every header."""
    newest = -1
    for segment in segments:
        for _, header in segment.walk():
            if header.record_count and header.last_offset >= start_offset:
                newest = max(newest, header.max_timestamp)
    return newest if newest >= 0 else TIMESTAMP_MAX


def first_timestamp(segment: Segment) -> int | None:
    """The largest timestamp of the first batch, read from its header alone."""
    for _, header in walk(segment.file, 0, segment.size, HEADER_SIZE):
        return header.max_timestamp
    return None


def _first_in_batch(
    segment: Segment, position: int, header: BatchHeader, timestamp: int, start_offset: int
) -> tuple[int, int] | None:
    batch = segment.file.pread(header.size, position)
    try:
        for offset, record_timestamp in iter_offsets(batch):
            if record_timestamp >= timestamp and offset >= start_offset:
                return offset, record_timestamp
    except CorruptBatch:
        # A client may store records that nobody can unpack; to start with their batch is the answer that loses none.
        return max(header.base_offset, start_offset), header.max_timestamp
    return None
