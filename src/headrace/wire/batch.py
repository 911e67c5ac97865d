"""The header of a record batch (magic 2), read and stamped in place without opening the records.

The CRC covers everything from the attributes on, so base offset and leader epoch can be written without touching it:
that is all a leader changes in a batch, unless the topic wants the broker's time. Whether a client may send a batch is
for the partition to judge; here only its shape matters. Records themselves are in `records`.
"""

from collections.abc import Iterator
from struct import Struct as Layout
from typing import NamedTuple

from crc32c import crc32c

HEADER_SIZE = 61
MAGIC = 2

# The length field counts what follows it.
LENGTH_END = 12
CRC_START = 21

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
# Set by compaction: the base timestamp says when tombstones may go; the records count their times from it all the same.
DELETE_HORIZON = 0x40

HEADER = Layout(">qiibIhiqqqhii")
_OFFSET = Layout(">q")
_INT32 = Layout(">i")
_UINT32 = Layout(">I")
_INT16 = Layout(">h")
_new = tuple.__new__

Bytes = bytes | bytearray | memoryview


class Identity(NamedTuple):
    """The producer of a batch, by which a broker tells one that is sent twice; without an id it cannot."""

    producer_id: int = -1
    producer_epoch: int = -1


NOBODY = Identity()


class CorruptBatch(Exception):
    """Bytes that are not a record batch, or not a whole one."""


class BatchHeader(NamedTuple):
    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        return self.batch_length + LENGTH_END

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def last_sequence(self) -> int:
        """-1 without a sequence; after 2**31 - 1 comes 0."""
        return -1 if self.base_sequence < 0 else (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


def parse_header(buf: Bytes, pos: int = 0) -> BatchHeader:
    """The header at `pos`. The records need not be there yet; the magic is the caller's to judge."""
    if len(buf) - pos < HEADER_SIZE:
        raise CorruptBatch(f"a batch header takes {HEADER_SIZE} bytes, {len(buf) - pos} are there")
    # What `_make` does, without its Python frame: this runs for every batch.
    header = _new(BatchHeader, HEADER.unpack_from(buf, pos))
    if header.batch_length < HEADER_SIZE - LENGTH_END:
        raise CorruptBatch(f"batch length {header.batch_length} is less than a header")
    return header


def crc_ok(buf: Bytes, pos: int, size: int) -> bool:
    if size < HEADER_SIZE or pos + size > len(buf):
        return False
    (stored,) = _UINT32.unpack_from(buf, pos + CRC_START - 4)
    return bool(crc32c(memoryview(buf)[pos + CRC_START : pos + size]) == stored)


def produced_header(
    identity: Identity, sequence: int, attributes: int, count: int, base_timestamp: int, max_timestamp: int
) -> BatchHeader:
    """The header of a batch on its way to a leader, which gives it its offsets and its epoch."""
    sequence = sequence if identity.producer_id >= 0 else -1
    return BatchHeader(
        0, 0, -1, MAGIC, 0, attributes, count - 1, base_timestamp, max_timestamp, *identity, sequence, count
    )


def seal(batch: bytearray | memoryview, header: BatchHeader) -> None:
    """Writes the header into the room before the records, with their length and CRC."""
    HEADER.pack_into(batch, 0, *header)
    _INT32.pack_into(batch, LENGTH_END - _INT32.size, len(batch) - LENGTH_END)
    _UINT32.pack_into(batch, CRC_START - _UINT32.size, crc32c(memoryview(batch)[CRC_START:]))


def sealed(header: BatchHeader, records: Bytes) -> bytes:
    batch = bytearray(HEADER_SIZE) + records
    seal(batch, header)
    return bytes(batch)


def stamp(buf: bytearray | memoryview, pos: int, base_offset: int, leader_epoch: int) -> None:
    _OFFSET.pack_into(buf, pos, base_offset)
    _INT32.pack_into(buf, pos + 12, leader_epoch)


def stamp_log_append_time(buf: bytearray | memoryview, pos: int, now_ms: int) -> None:
    """Gives the whole batch the broker's time. Readers then take the maximum as the time of every record."""
    (attributes,) = _INT16.unpack_from(buf, pos + 21)
    _INT16.pack_into(buf, pos + 21, attributes | LOG_APPEND_TIME)
    _OFFSET.pack_into(buf, pos + 35, now_ms)
    (length,) = _INT32.unpack_from(buf, pos + 8)
    body = memoryview(buf)[pos + CRC_START : pos + LENGTH_END + length]
    _UINT32.pack_into(buf, pos + CRC_START - 4, crc32c(body))


def iter_headers(buf: Bytes, pos: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Every whole batch as (position, header). Stops at one that the end of the buffer cuts, as a fetch may."""
    while len(buf) - pos >= HEADER_SIZE:
        header = parse_header(buf, pos)
        if header.size > len(buf) - pos:
            return
        yield pos, header
        pos += header.size
