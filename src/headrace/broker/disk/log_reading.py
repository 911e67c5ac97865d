"""A log read from its start to an end, batch by batch, with every checksum looked at.

The checksum does not cover a batch's offset and length, so those are held against the batch before: offsets rise, and none
reaches past the end.
"""

import logging
from collections.abc import Iterator

from headrace.log.log import Log
from headrace.wire.batch import BatchHeader, CorruptBatch, crc_ok, parse_header

logger = logging.getLogger("headrace.log")


class RotFound(Exception):
    """A batch that is not what was written."""

    def __init__(self, path: str, offset: int, cause: str) -> None:
        super().__init__(f"{path} at offset {offset}: {cause}")
        self.offset = offset


class LogReading:
    def __init__(self, log: Log, end: int, accepted_end: int = 0) -> None:
        """Below `accepted_end` it goes on behind damaged batches, with a line in the log that says what is missing; from
        there on `has_gaps`."""
        self.has_gaps = False
        self._log = log
        self._end = end
        self._accepted_end = accepted_end
        self._offset = log.start_offset

    def next(self, max_bytes: int) -> list[tuple[BatchHeader, memoryview]] | None:
        """The sound batches of the next stretch; None behind the last one. `RotFound` at one that is not sound."""
        if self._offset >= self._end:
            return None
        try:
            return self._read(max_bytes)
        except CorruptBatch as error:
            self.on_rot(self._offset, str(error))
            # A header that makes no sense does not say where the next batch is; a segment's name does.
            self._offset = self._next_segment()
            return []

    def on_rot(self, offset: int, cause: str) -> None:
        rot = RotFound(self._log.path, offset, cause)
        if offset >= self._accepted_end:
            raise rot
        self.has_gaps = True
        fields = {"cause": rot, "path": self._log.path, "offset": offset}
        logger.error("%(cause)s, passed over: an unclean election allowed that", fields)

    def _read(self, max_bytes: int) -> list[tuple[BatchHeader, memoryview]] | None:
        found = self._log.reader.read(self._offset, max_bytes, self._end)
        if found is None:
            return None
        data = found.read()
        found.release()
        batches = list(self._sound(memoryview(data)))
        self._offset = max(self._offset, found.next_offset)
        return batches

    def _sound(self, data: memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
        position = 0
        while position < len(data):
            header = self._header(data, position)
            batch = data[position : position + header.size]
            if crc_ok(batch, 0, header.size):
                yield header, batch
            else:
                self.on_rot(header.base_offset, "the batch has another CRC than its bytes")
            self._offset = header.next_offset
            position += header.size

    def _header(self, data: memoryview, position: int) -> BatchHeader:
        header = parse_header(data, position)
        if not self._offset <= header.last_offset < self._end or header.size > len(data) - position:
            raise CorruptBatch(f"a batch of {header.size} bytes that claims offsets up to {header.last_offset}")
        return header

    def _next_segment(self) -> int:
        bases = (segment.base_offset for segment in self._log.segments.all)
        return next((base for base in bases if base > self._offset), self._end)
