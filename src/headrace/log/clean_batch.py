"""Compaction of one batch: which of its records stay, and the batch that holds them.

    kept whole        nothing of it goes: the bytes as they are
    thinned           some records go; the others keep offset, time and sequence, the batch its first and last offset
    emptied           all go: a header without records, for who needs its offset, epoch or sequence; otherwise nothing

A tombstone goes `delete.retention.ms` after it was first cleaned: that moment, the delete horizon, is written into the
batch, in the place of the base timestamp and with an attribute that says so, as in Kafka; and not while a replica is away
that may lack it (`may_forget`). Aborted records go at once.

Invariant: a record at or above `mapped_end`, and a batch that cannot be opened, is never touched.
"""

from typing import NamedTuple

from headrace.log.key_offsets import KeyOffsets
from headrace.wire.batch import (
    CODEC_MASK,
    DELETE_HORIZON,
    HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    sealed,
)
from headrace.wire.compression import NONE, compress, decompress
from headrace.wire.records import UNPACKED_BYTES_MAX
from headrace.wire.varint import read_varint, zigzag

_LONGER = 128
_NULL = 1
NO_CODEC = -1
"""A batch that is packed again keeps its own codec."""


Keyed = tuple[int, int, int, int, int, bytes | None, bool]
"""A record in the unpacked body of its batch: start, end, where its offset stands, its time delta, offset, key, and
whether it is a tombstone. A bare tuple, as every record of a log becomes one."""


class CleanRules(NamedTuple):
    newest: KeyOffsets
    mapped_end: int
    start_offset: int
    now_ms: int
    delete_retention_ms: int
    may_forget: bool
    codec: int

    def is_over(self, header: BatchHeader) -> bool:
        """Whether the delete horizon of a batch is past, so that its tombstones may be removed."""
        return self.may_forget and header.attributes & DELETE_HORIZON != 0 and header.base_timestamp <= self.now_ms


def keys_of(header: BatchHeader, batch: bytes) -> list[tuple[bytes, int]]:
    """The (key, offset) of each record that has a key."""
    if header.is_control or header.record_count == 0:
        return []
    try:
        return [(key, offset) for _, _, _, _, offset, key, _ in _opened(header, batch)[1] if key is not None]
    except CorruptBatch:
        return []


def _opened(header: BatchHeader, batch: bytes) -> tuple[bytes, list[Keyed]]:
    """The unpacked body and the records in it; CorruptBatch when it cannot be opened."""
    if header.codec == NONE:
        body = batch[HEADER_SIZE:]
    else:
        body = decompress(header.codec, memoryview(batch)[HEADER_SIZE:], UNPACKED_BYTES_MAX)
    try:
        return body, _records(header, body)
    except IndexError:
        raise CorruptBatch("the records end inside a record") from None


def _records(header: BatchHeader, body: bytes) -> list[Keyed]:
    """Numbers of one byte are read in place: most are, and a call for each would double the time of a compaction."""
    records: list[Keyed] = []
    position, size, base_offset = 0, len(body), header.base_offset
    for _ in range(header.record_count):
        start = position
        length, position = read_varint(body, position)
        end = position + length
        if length < 0 or end > size:
            raise CorruptBatch(f"a record claims {length} bytes, {size - position} are left")
        number = body[position + 1]
        if number < _LONGER:
            timestamp_delta, position = (number >> 1) ^ -(number & 1), position + 2
        else:
            timestamp_delta, position = read_varint(body, position + 1)
        at_offset = position
        number = body[position]
        if number < _LONGER:
            offset_delta, position = (number >> 1) ^ -(number & 1), position + 1
        else:
            offset_delta, position = read_varint(body, position)
        number = body[position]
        if number < _LONGER:
            key_length, position = (number >> 1) ^ -(number & 1), position + 1
        else:
            key_length, position = read_varint(body, position)
        key = None
        if key_length >= 0:
            key = body[position : position + key_length]
            position += key_length
        if position >= end:
            raise CorruptBatch("a key reaches past its record")
        is_tombstone = body[position] == _NULL
        records.append((start, end, at_offset, timestamp_delta, base_offset + offset_delta, key, is_tombstone))
        position = end
    return records


def clean(header: BatchHeader, batch: bytes, rules: CleanRules, is_aborted: bool) -> bytes:
    """The batch without the records that may go: the same object when nothing changed, b"" when no record is left."""
    assert not header.is_control, "control batches are for `clean_transactions`"
    if header.record_count == 0 or is_aborted or header.next_offset <= rules.start_offset:
        return b""
    try:
        body, records = _opened(header, batch)
    except CorruptBatch:
        return batch
    has_horizon = header.attributes & DELETE_HORIZON != 0
    kept = _kept(records, rules, rules.is_over(header))
    if not kept:
        return b""
    needs_horizon = not has_horizon and header.next_offset <= rules.mapped_end and any(record[-1] for record in kept)
    if len(kept) == len(records) and not needs_horizon:
        return batch
    horizon = rules.now_ms + rules.delete_retention_ms if needs_horizon else None
    return _packed(header, body, kept, horizon, rules.codec)


def with_horizon(header: BatchHeader, batch: bytes, rules: CleanRules) -> bytes:
    """The whole batch, with the moment written in from which its tombstones or marker may go."""
    try:
        body, records = _opened(header, batch)
    except CorruptBatch:
        return batch
    return _packed(header, body, records, rules.now_ms + rules.delete_retention_ms, NO_CODEC)


def _kept(records: list[Keyed], rules: CleanRules, drops_tombstones: bool) -> list[Keyed]:
    kept = []
    newest, mapped_end, start_offset = rules.newest.get, rules.mapped_end, rules.start_offset
    for record in records:
        _, _, _, _, offset, key, is_tombstone = record
        if offset < mapped_end and (
            key is None or offset < start_offset or newest(key) > offset or (is_tombstone and drops_tombstones)
        ):
            continue
        kept.append(record)
    return kept


def _packed(header: BatchHeader, body: bytes, kept: list[Keyed], horizon: int | None, codec: int) -> bytes:
    attributes, base, newest = header.attributes, header.base_timestamp, header.max_timestamp
    if not header.is_log_append_time:
        newest = base + max(record[3] for record in kept)
    pieces = [body[record[0] : record[1]] for record in kept]
    if horizon is not None:
        attributes |= DELETE_HORIZON
        if not header.is_log_append_time:
            pieces = [_moved(body, record, base - horizon) for record in kept]
        base = horizon
    codec = header.codec if codec == NO_CODEC else codec
    thinned = header._replace(
        attributes=attributes & ~CODEC_MASK | codec,
        base_timestamp=base,
        max_timestamp=newest,
        record_count=len(kept),
    )
    return sealed(thinned, compress(codec, b"".join(pieces)))


def _moved(body: bytes, record: Keyed, by_ms: int) -> bytes:
    """The record with another distance from the batch's base timestamp."""
    _, end, at_offset, timestamp_delta, _, _, _ = record
    content = b"\0" + zigzag(timestamp_delta + by_ms) + body[at_offset:end]
    return zigzag(len(content)) + content


def emptied(header: BatchHeader) -> bytes:
    """A batch without records that keeps the offsets, epoch and sequence of this one."""
    return sealed(header._replace(attributes=header.attributes & ~CODEC_MASK, record_count=0), b"")
