"""Compaction of one batch: which of its records stay, and the batch that holds them.

    kept whole        nothing of it goes: the bytes as they are
    thinned           some records go; the others keep offset, time and sequence, the batch its first and last offset
    emptied           all go: a header without records, for who needs its offset, epoch or sequence; otherwise nothing

A tombstone goes `delete.retention.ms` after it was first cleaned: that moment, the delete horizon, is written into the
batch, in the place of the base timestamp and with an attribute that says so, as in Kafka. Aborted records go at once.
Control batches stay.

Invariant: a record at or above `mapped_end`, and a batch that cannot be opened, is never touched.
"""

from collections.abc import Iterator
from typing import NamedTuple

from crc32c import crc32c

from headrace.log.key_offsets import KeyOffsets
from headrace.wire.batch import (
    CODEC_MASK,
    CRC_START,
    DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LENGTH_END,
    BatchHeader,
    CorruptBatch,
)
from headrace.wire.compression import compress, decompress
from headrace.wire.records import UNPACKED_BYTES_MAX
from headrace.wire.varint import read_varint, zigzag

NO_CODEC = -1
"""A batch that is packed again keeps its own codec."""


class Keyed(NamedTuple):
    """A record in the unpacked body of its batch: [start, end), and what compaction asks about it."""

    start: int
    end: int
    after_timestamp: int
    timestamp_delta: int
    offset: int
    key: bytes | None
    is_tombstone: bool


class Rules(NamedTuple):
    newest: KeyOffsets
    mapped_end: int
    start_offset: int
    now_ms: int
    delete_retention_ms: int
    codec: int


def keyed_records(header: BatchHeader, batch: bytes) -> tuple[bytes, list[Keyed]]:
    """The unpacked body and the records in it; CorruptBatch when it cannot be opened."""
    body = decompress(header.codec, memoryview(batch)[HEADER_SIZE:], UNPACKED_BYTES_MAX)
    return body, [Keyed(*fields) for fields in _walk(header, body)]


def keys_of(header: BatchHeader, batch: bytes) -> list[tuple[bytes, int]]:
    """(key, offset) of each record that has one."""
    if header.is_control or header.record_count == 0:
        return []
    try:
        body = decompress(header.codec, memoryview(batch)[HEADER_SIZE:], UNPACKED_BYTES_MAX)
        return [(key, offset) for _, _, _, _, offset, key, _ in _walk(header, body) if key is not None]
    except CorruptBatch:
        return []


def _walk(header: BatchHeader, body: bytes) -> Iterator[tuple[int, int, int, int, int, bytes | None, bool]]:
    position, size, base_offset = 0, len(body), header.base_offset
    for _ in range(header.record_count):
        start = position
        length, position = read_varint(body, position)
        end = position + length
        if length < 0 or end > size:
            raise CorruptBatch(f"a record claims {length} bytes, {size - position} are left")
        timestamp_delta, position = read_varint(body, position + 1)
        after_timestamp = position
        offset_delta, position = read_varint(body, position)
        key_length, position = read_varint(body, position)
        key = None
        if key_length >= 0:
            key = body[position : position + key_length]
            position += key_length
        value_length, position = read_varint(body, position)
        if position > end:
            raise CorruptBatch("a key reaches past its record")
        yield start, end, after_timestamp, timestamp_delta, base_offset + offset_delta, key, value_length < 0
        position = end


def clean(header: BatchHeader, batch: bytes, rules: Rules, is_aborted: bool) -> bytes:
    """What is left of it: the same object when nothing changed, b"" when no record is left."""
    if header.is_control:
        return batch
    if header.record_count == 0 or is_aborted or header.next_offset <= rules.start_offset:
        return b""
    try:
        body, records = keyed_records(header, batch)
    except CorruptBatch:
        return batch
    has_horizon = header.attributes & DELETE_HORIZON != 0
    drops_tombstones = has_horizon and header.base_timestamp <= rules.now_ms
    kept = [record for record in records if _stays(record, rules, drops_tombstones)]
    if not kept:
        return b""
    needs_horizon = (
        not has_horizon and header.next_offset <= rules.mapped_end and any(record.is_tombstone for record in kept)
    )
    if len(kept) == len(records) and not needs_horizon:
        return batch
    horizon = rules.now_ms + rules.delete_retention_ms if needs_horizon else None
    return _packed(header, body, kept, horizon, rules.codec)


def _stays(record: Keyed, rules: Rules, drops_tombstones: bool) -> bool:
    if record.offset >= rules.mapped_end:
        return True
    if record.key is None or record.offset < rules.start_offset:
        return False
    if rules.newest.get(record.key) > record.offset:
        return False
    return not (record.is_tombstone and drops_tombstones)


def _packed(header: BatchHeader, body: bytes, kept: list[Keyed], horizon: int | None, codec: int) -> bytes:
    attributes, base, newest = header.attributes, header.base_timestamp, header.max_timestamp
    if not header.is_log_append_time:
        newest = base + max(record.timestamp_delta for record in kept)
    pieces = [body[record.start : record.end] for record in kept]
    if horizon is not None:
        attributes |= DELETE_HORIZON
        if not header.is_log_append_time:
            pieces = [_moved(body, record, record.timestamp_delta + base - horizon) for record in kept]
        base = horizon
    codec = header.codec if codec == NO_CODEC else codec
    thinned = header._replace(
        attributes=attributes & ~CODEC_MASK | codec,
        base_timestamp=base,
        max_timestamp=newest,
        record_count=len(kept),
    )
    return sealed(thinned, compress(codec, b"".join(pieces)))


def _moved(body: bytes, record: Keyed, timestamp_delta: int) -> bytes:
    """The record with another distance from the batch's base timestamp."""
    content = b"\0" + zigzag(timestamp_delta) + body[record.after_timestamp : record.end]
    return zigzag(len(content)) + content


def emptied(header: BatchHeader) -> bytes:
    """Its offsets, epoch and sequence, and no records."""
    return sealed(header._replace(attributes=header.attributes & ~CODEC_MASK, record_count=0), b"")


def sealed(header: BatchHeader, payload: bytes) -> bytes:
    header = header._replace(batch_length=HEADER_SIZE - LENGTH_END + len(payload), crc=0)
    batch = bytearray(HEADER.pack(*header) + payload)
    batch[CRC_START - 4 : CRC_START] = crc32c(memoryview(batch)[CRC_START:]).to_bytes(4, "big")
    return bytes(batch)
