"""Steps from batch header to batch header through a stretch of a log file, without reading the records between.

The stretch must hold whole batches; a header that makes no sense there is `CorruptBatch`. Checks no CRC: recovery does.
"""

import struct
from collections.abc import Iterator

from headrace.base.disk import File
from headrace.wire.batch import HEADER_SIZE, LENGTH_END, BatchHeader, CorruptBatch, parse_header

_STEP = struct.Struct(">qi11xi")
LOOKUP_BYTES = 8 << 10
SWEEP_BYTES = 1 << 20


def walk(file: File, position: int, end: int, chunk: int = LOOKUP_BYTES) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each batch in [position, end); `chunk` is how much is read at once."""
    # The pool may close the file between two steps.
    file.pin()
    try:
        window, window_start = b"", position
        while position < end:
            if position + HEADER_SIZE > window_start + len(window):
                window, window_start = file.pread(min(chunk, end - position), position), position
            header = _header(window, position - window_start, file, position)
            if position + header.size > end:
                raise CorruptBatch(f"{file.path} at {position}: a batch of {header.size} bytes is cut short")
            yield position, header
            position += header.size
    finally:
        file.unpin()


def steps(file: File, position: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(position, end position, next offset) of each batch in [position, end): the part of a header that a look-up needs."""
    file.pin()
    try:
        window, window_start = b"", position
        while position < end:
            if position + HEADER_SIZE > window_start + len(window):
                window, window_start = file.pread(min(LOOKUP_BYTES, end - position), position), position
                _header(window, 0, file, position)
            base_offset, length, last_offset_delta = _STEP.unpack_from(window, position - window_start)
            following = position + length + LENGTH_END
            if not position + HEADER_SIZE <= following <= end:
                raise CorruptBatch(f"{file.path} at {position}: a batch of {following - position} bytes")
            yield position, following, base_offset + last_offset_delta + 1
            position = following
    finally:
        file.unpin()


def position_of(offset: int, file: File, start: int, end: int) -> int:
    """The start of the batch in [start, end) that holds `offset`, or of the next one after it; otherwise the end."""
    for position, _, next_offset in steps(file, start, end):
        if next_offset > offset:
            return position
    return end


def _header(window: bytes, at: int, file: File, position: int) -> BatchHeader:
    try:
        return parse_header(window, at)
    except CorruptBatch as error:
        raise CorruptBatch(f"{file.path} at {position}: {error}") from error
