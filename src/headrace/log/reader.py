"""Reads of one log: ranges of whole batches by offset, how many bytes lie ahead, and the way from a time to an offset.

Changes nothing but what look-ups remember of boundaries. Where a range may end is for the caller to say: a watermark, or
what a follower may have.
"""

from headrace.log.file_range import FileRange
from headrace.log.segment import Segment
from headrace.log.segments import LogSegments
from headrace.log.times import first_at_or_after, newest_with_records
from headrace.wire.batch import CorruptBatch


class LogReader:
    __slots__ = ("_segments",)

    def __init__(self, segments: LogSegments) -> None:
        self._segments = segments

    def read(self, offset: int, max_bytes: int, end_offset: int, at_least_one: bool = True) -> FileRange | None:
        """Whole batches of one segment from the one that holds `offset` (or the next) on, below `end_offset`.

        `end_offset` is a batch boundary, such as the high watermark. The first batch comes whole, however long, if
        `at_least_one`; otherwise None when it does not fit. Release the range.
        """
        segments = self._segments
        segment = segments.active
        if end_offset > segment.next_offset:
            end_offset = segment.next_offset
        if offset >= end_offset:
            return None
        start = end = 0
        if offset >= segment.base_offset:
            start, end = segment.position_of(offset), segment.position_of(end_offset)
        else:
            at, all = segments.index_of(offset), segments.all
            while start >= end and at < len(all):
                segment = all[at]
                start, end = segment.position_of(offset), segment.position_of(end_offset)
                at += 1
                if start == segment.size:
                    self._expect_no_hole(offset, segment, at)
        if start >= end:
            return None
        if end - start <= max_bytes:
            next_offset = segment.next_offset
            if next_offset > end_offset:
                next_offset = end_offset
        else:
            boundary = segment.boundary_within(start, start + max_bytes, at_least_one)
            if boundary is None:
                return None
            end, next_offset = boundary
            if not offset < next_offset <= end_offset:
                raise CorruptBatch(f"{segment.log_path} says that {offset} to {end_offset} end at {next_offset}")
        segment.index.mark(next_offset, end)
        return FileRange(segments.pool.open(segment.log_path), start, end - start, next_offset)

    def _expect_no_hole(self, offset: int, segment: Segment, following: int) -> None:
        """Raises when the read would jump a hole.

        Compaction leaves gaps inside of segments, never between two: there a file is missing, or a part of one.
        """
        all = self._segments.all
        if following < len(all) and segment.next_offset <= offset < all[following].base_offset:
            raise CorruptBatch(
                f"{self._segments.directory} has no offsets {segment.next_offset} to {all[following].base_offset - 1}: "
                f"a segment file is gone, or a part of one. Put it back, or delete records up to there"
            )

    def bytes_between(self, offset: int, end_offset: int) -> int:
        """The approximate bytes from `offset` to `end_offset`: exact at 0, to an index interval elsewhere."""
        segments = self._segments
        all, log_end_offset = segments.all, segments.active.next_offset
        if end_offset > log_end_offset:
            end_offset = log_end_offset
        if offset >= end_offset:
            return 0
        first, last = segments.index_of(offset), segments.index_of(end_offset)
        length = all[last].position_near(end_offset) - all[first].position_near(offset)
        if first != last:
            length += sum(segment.size for segment in all[first:last])
        return max(1, length)

    def find_by_time(self, timestamp: int, start_offset: int) -> tuple[int, int] | None:
        """(offset, timestamp) of the first record at or above `start_offset` that is not older than `timestamp`."""
        return first_at_or_after(self._segments.all, timestamp, start_offset)

    def max_timestamp(self, start_offset: int) -> tuple[int, int]:
        """(timestamp, offset) of the newest record by timestamp, the first of several; (-1, -1) when there is none."""
        newest = max(segment.max_timestamp for segment in self._segments.all)
        found = self.find_by_time(newest, start_offset) if newest >= 0 else None
        if found is None and newest >= 0:
            # Compaction emptied the batch that had the largest timestamp.
            found = self.find_by_time(newest_with_records(self._segments.all, start_offset), start_offset)
        return (found[1], found[0]) if found is not None else (-1, -1)
