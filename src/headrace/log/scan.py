"""Reads a log file that nobody vouches for: which batches are sound, and whether a sound one follows the first unsound.

A batch is sound when its CRC fits and its offset and epoch go on from those before it. The CRC leaves these two fields
out, so a jump in either (compaction leaves gaps, leaders change) is doubted when the batch after it says otherwise.
"""

import re
from collections.abc import Iterator

from headrace.base.disk import File
from headrace.wire.batch import HEADER_SIZE, MAGIC, BatchHeader, CorruptBatch, crc_ok, parse_header

_WINDOW_BYTES = 4 << 20
_MAGIC_AT = 16


def sound_batches(file: File, next_offset: int, epoch: int) -> Iterator[BatchHeader]:
    """The batches from the start of the file to the first unsound one; the first may not be below `next_offset`."""
    window = _Window(file)
    position = 0
    while True:
        header = window.sound_header(position)
        if header is None or header.base_offset < next_offset or header.leader_epoch < epoch:
            return
        has_jumped = header.base_offset != next_offset or header.leader_epoch != epoch >= 0
        if has_jumped and _is_contradicted(header, window.header(position + header.size)):
            return
        yield header
        position += header.size
        next_offset, epoch = header.next_offset, header.leader_epoch


def has_sound_batch(file: File, position: int, next_offset: int, epoch: int) -> bool:
    """Whether a batch that could follow `next_offset` stands anywhere at or after `position`, at whatever alignment."""
    window = _Window(file)
    # Offsets in one segment differ in their low half only, but for a carry.
    high = sorted({(offset >> 32).to_bytes(4, "big", signed=True) for offset in (next_offset, next_offset + (1 << 31))})
    pattern = re.compile(b"(?=(?:%s).{%d}%c)" % (b"|".join(map(re.escape, high)), _MAGIC_AT - 4, MAGIC), re.DOTALL)
    while position + HEADER_SIZE <= file.size:
        chunk = file.pread(min(_WINDOW_BYTES, file.size - position), position)
        for match in pattern.finditer(chunk):
            header = window.sound_header(position + match.start())
            if header is not None and header.base_offset >= next_offset and header.leader_epoch >= epoch:
                return True
        position += max(1, len(chunk) - HEADER_SIZE)
    return False


def _is_contradicted(jumped: BatchHeader, following: BatchHeader | None) -> bool:
    if following is None or following.magic != MAGIC:
        return False
    return following.base_offset < jumped.next_offset or following.leader_epoch < jumped.leader_epoch


class _Window:
    """The part of the file in memory; moves to wherever it is asked."""

    __slots__ = ("_bytes", "_file", "_start")

    def __init__(self, file: File) -> None:
        self._file = file
        self._bytes = b""
        self._start = 0

    def header(self, position: int) -> BatchHeader | None:
        at = self._reach(position, HEADER_SIZE)
        try:
            return parse_header(self._bytes, at)
        except CorruptBatch:
            return None

    def sound_header(self, position: int) -> BatchHeader | None:
        header = self.header(position)
        if header is None or header.magic != MAGIC or header.last_offset_delta < 0 or header.record_count < 0:
            return None
        if header.size > self._file.size - position:
            return None
        at = self._reach(position, header.size)
        return header if crc_ok(self._bytes, at, header.size) else None

    def _reach(self, position: int, length: int) -> int:
        if position < self._start or position + length > self._start + len(self._bytes):
            ahead = min(_WINDOW_BYTES, self._file.size - position)
            self._bytes = self._file.pread(max(length, ahead), position)
            self._start = position
        return position - self._start
