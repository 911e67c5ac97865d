"""Records inside a batch: built and read for the command line, tests, time look-ups and transaction markers.

The broker's produce and fetch paths never come here; they move whole batches. Reading trusts nothing: whatever the
bytes, it returns records or raises CorruptBatch, and unpacks at most a given number of bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct as Layout
from struct import error as StructError
from typing import NamedTuple

from headrace.wire.batch import (
    CONTROL,
    HEADER_SIZE,
    MAGIC,
    TRANSACTIONAL,
    BatchHeader,
    Bytes,
    CorruptBatch,
    parse_header,
    sealed,
)
from headrace.wire.compression import NONE, compress, decompress
from headrace.wire.varint import read_varint, zigzag

UNPACKED_BYTES_MAX = 128 * 1024 * 1024
# A batch that lies may count from below zero.
ANY_OFFSET = -(1 << 63)

_MARKER_KEY = Layout(">hh")
_MARKER_VALUE = Layout(">hi")
_ABORT, _COMMIT = 0, 1


class Record(NamedTuple):
    """One record. In a batch to be built, offset -1 stands for the one after the record before it."""

    offset: int = -1
    timestamp: int = -1
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


class Marker(NamedTuple):
    """The end of a transaction in one partition, as a control batch says it."""

    commit: bool
    coordinator_epoch: int


def build_batch(
    records: Iterable[Record],
    *,
    codec: int = 0,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    last_offset_delta: int | None = None,
) -> bytes:
    """One batch. `last_offset_delta` is for a batch whose last records are gone, as compaction leaves them."""
    base_timestamp = max_timestamp = -1
    delta, count = -1, 0
    body = bytearray()
    for record in records:
        offset, timestamp = record.offset, record.timestamp
        if count == 0:
            base_timestamp = timestamp
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        delta = delta + 1 if offset < 0 else offset - base_offset
        if delta < 0:
            raise ValueError(f"a record of offset {offset} in a batch that starts at {base_offset}")
        body += _encode_record(record, timestamp - base_timestamp, delta)
        count += 1
    payload = compress(codec, body)
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=codec | (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0),
        last_offset_delta=max(delta, 0) if last_offset_delta is None else last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=count,
    )
    return sealed(header, payload)


def build_marker(
    marker: Marker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """The control batch that commits or aborts a producer's transaction in one partition."""
    key = _MARKER_KEY.pack(0, _COMMIT if marker.commit else _ABORT)
    value = _MARKER_VALUE.pack(0, marker.coordinator_epoch)
    return build_batch(
        [Record(timestamp=timestamp, key=key, value=value)],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_marker(batch: Bytes) -> Marker | None:
    """The marker in a control batch, or None for a control batch of another kind (KRaft has some) or an emptied one."""
    records = read_records(batch, max_bytes=HEADER_SIZE)
    if not records or records[0].key is None or records[0].value is None:
        return None
    try:
        _, kind = _MARKER_KEY.unpack_from(records[0].key)
        _, coordinator_epoch = _MARKER_VALUE.unpack_from(records[0].value)
    except StructError as error:
        raise CorruptBatch(f"malformed control record: {error}") from error
    return Marker(kind == _COMMIT, coordinator_epoch) if kind in (_ABORT, _COMMIT) else None


def read_records(batch: Bytes, max_bytes: int = UNPACKED_BYTES_MAX) -> list[Record]:
    """All records of the batch at the start of these bytes; none of an emptied one. Does not check the CRC."""
    return list(iter_records(batch, max_bytes=max_bytes))


def iter_records(batch: Bytes, first_offset: int = ANY_OFFSET, max_bytes: int = UNPACKED_BYTES_MAX) -> Iterator[Record]:
    """Records from an offset on: those before it are stepped over, and those behind the last one taken are not looked at."""
    header, body = open_batch(batch, max_bytes)
    yield from iter_unpacked(header, body, first_offset)


def iter_unpacked(header: BatchHeader, body: Bytes, first_offset: int = ANY_OFFSET) -> Iterator[Record]:
    """Records like `iter_records`, of a batch that is open."""
    try:
        yield from _iter_body(header, bytes(body), first_offset - header.base_offset)
    except IndexError:
        raise CorruptBatch("the records end inside a number") from None


def _iter_body(header: BatchHeader, body: bytes, first_delta: int) -> Iterator[Record]:
    """`_walk` and `_read_bytes` written out for numbers of one and two bytes: nearly all are, and calls are what costs."""
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.is_log_append_time else None
    pos, size, new = 0, len(body), tuple.__new__
    for _ in range(header.record_count):
        number, pos = body[pos], pos + 1
        if number > 127:
            number, pos = (number - 128 + (body[pos] << 7), pos + 1) if body[pos] < 128 else _read_long(body, pos - 1)
        end = pos + (number >> 1)
        # An odd number is one below zero.
        if number & 1 or end > size:
            raise CorruptBatch(f"a record claims {(number >> 1) ^ -(number & 1)} bytes, {size - pos} are left")
        number, pos = body[pos + 1], pos + 2
        if number > 127:
            number, pos = (number - 128 + (body[pos] << 7), pos + 1) if body[pos] < 128 else _read_long(body, pos - 1)
        timestamp = base_timestamp + ((number >> 1) ^ -(number & 1)) if append_time is None else append_time
        number, pos = body[pos], pos + 1
        if number > 127:
            number, pos = (number - 128 + (body[pos] << 7), pos + 1) if body[pos] < 128 else _read_long(body, pos - 1)
        delta = (number >> 1) ^ -(number & 1)
        if delta < first_delta:
            pos = end
            continue
        number, pos = body[pos], pos + 1
        if number > 127:
            number, pos = (number - 128 + (body[pos] << 7), pos + 1) if body[pos] < 128 else _read_long(body, pos - 1)
        key = None if number & 1 else body[pos : pos + (number >> 1)]
        pos = pos if number & 1 else pos + (number >> 1)
        number, pos = body[pos], pos + 1
        if number > 127:
            number, pos = (number - 128 + (body[pos] << 7), pos + 1) if body[pos] < 128 else _read_long(body, pos - 1)
        value = None if number & 1 else body[pos : pos + (number >> 1)]
        pos = pos if number & 1 else pos + (number >> 1)
        if pos >= end:
            raise CorruptBatch(f"a key or a value reaches {pos - end + 1} bytes past its record")
        # A zero here, at the end: no headers.
        headers = [] if pos == end - 1 and not body[pos] else _read_headers(body, pos, end)
        yield new(Record, (base_offset + delta, timestamp, key, value, headers))
        pos = end


def iter_offsets(batch: Bytes, max_bytes: int = UNPACKED_BYTES_MAX) -> Iterator[tuple[int, int]]:
    """(offset, timestamp) of each record, without keys and values: what a look-up by time needs."""
    header, body = open_batch(batch, max_bytes)
    for _, _, offset, timestamp in _walk(header, body):
        yield offset, timestamp


def _encode_record(record: Record, timestamp_delta: int, offset_delta: int) -> bytes:
    _, _, key, value, headers = record
    body = b"\0" + zigzag(timestamp_delta) + zigzag(offset_delta) + _sized(key) + _sized(value) + zigzag(len(headers))
    for name, content in headers:
        body += _sized(name.encode()) + _sized(content)
    return zigzag(len(body)) + body


def _sized(value: bytes | None) -> bytes:
    return b"\x01" if value is None else zigzag(len(value)) + value


def open_batch(batch: Bytes, max_bytes: int = UNPACKED_BYTES_MAX) -> tuple[BatchHeader, bytes]:
    """The batch's header, and its records unpacked."""
    header = parse_header(batch)
    return header, bytes(unpacked(header, batch, max_bytes))


def unpacked(header: BatchHeader, batch: Bytes, max_bytes: int = UNPACKED_BYTES_MAX) -> Bytes:
    """The batch's records; without a copy where nothing is compressed, for readers that need a part of them."""
    if header.magic != MAGIC:
        raise CorruptBatch(f"magic {header.magic} is not the record batch format {MAGIC}")
    if header.size > len(batch):
        raise CorruptBatch(f"the batch takes {header.size} bytes, {len(batch)} are there")
    if header.record_count < 0:
        raise CorruptBatch(f"a record count of {header.record_count}")
    if header.record_count == 0:
        return b""
    packed = memoryview(batch)[HEADER_SIZE : header.size]
    return packed if header.codec == NONE else decompress(header.codec, packed, max_bytes)


def _walk(header: BatchHeader, body: bytes) -> Iterator[tuple[int, int, int, int]]:
    """(position of the key, end, offset, timestamp) of each record."""
    pos, size = 0, len(body)
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.is_log_append_time else None
    for _ in range(header.record_count):
        length, pos = read_varint(body, pos)
        end = pos + length
        if length < 0 or end > size:
            raise CorruptBatch(f"a record claims {length} bytes, {size - pos} are left")
        timestamp_delta, pos = read_varint(body, pos + 1)
        offset_delta, pos = read_varint(body, pos)
        timestamp = base_timestamp + timestamp_delta if append_time is None else append_time
        yield pos, end, base_offset + offset_delta, timestamp
        pos = end


def _read_long(body: bytes, pos: int) -> tuple[int, int]:
    """The number at `pos` as it is written: the zigzag that holds its sign is not undone."""
    value, pos = read_varint(body, pos)
    return (value << 1 if value >= 0 else (-value << 1) - 1), pos


def _read_bytes(body: bytes, pos: int, end: int) -> tuple[bytes | None, int]:
    length, pos = read_varint(body, pos)
    if length < 0:
        return None, pos
    if length > end - pos:
        raise CorruptBatch(f"a field of {length} bytes reaches past its record")
    return body[pos : pos + length], pos + length


def _read_headers(body: bytes, pos: int, end: int) -> list[tuple[str, bytes | None]]:
    count, pos = read_varint(body, pos)
    # A header takes two bytes at least.
    if not 0 <= count <= (end - pos) // 2:
        raise CorruptBatch(f"{count} headers in {end - pos} bytes")
    headers = []
    for _ in range(count):
        name, pos = _read_bytes(body, pos, end)
        value, pos = _read_bytes(body, pos, end)
        try:
            headers.append(((name or b"").decode(), value))
        except UnicodeDecodeError as error:
            raise CorruptBatch(f"a header's name is not UTF-8: {error}") from error
    return headers
