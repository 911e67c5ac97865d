"""The record of a committed offset, and its bytes; see `groups.records` for the rules of all records."""

from struct import Struct as Layout
from typing import NamedTuple

from headrace.base.ids import ZERO_ID
from headrace.groups.offsets.stored import OFFSET_COMMIT, VALUE_VERSION, OffsetCommitKey, OffsetCommitValue
from headrace.wire.codec import decode as decode_message
from headrace.wire.codec import encoded

NO_EXPIRY = -1
TIMESTAMP_MAX = (1 << 63) - 1

_NUMBER = Layout(">h")
_OFFSET_COMMIT = _NUMBER.pack(OFFSET_COMMIT)
_VALUE_VERSION = _NUMBER.pack(VALUE_VERSION)


class Committed(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int = NO_EXPIRY
    topic_id: bytes = ZERO_ID


class OffsetRecord(NamedTuple):
    group_id: str
    topic: str
    partition: int
    value: Committed | None


def encode_offset(record: OffsetRecord) -> tuple[bytes, bytes | None]:
    key = OffsetCommitKey(record.group_id, record.topic, record.partition)
    value = None if record.value is None else _VALUE_VERSION + _value_bytes(record.value)
    return _OFFSET_COMMIT + encoded(key, OFFSET_COMMIT), value


def _value_bytes(committed: Committed) -> bytes:
    offset, leader_epoch, metadata, commit_timestamp, expire_timestamp, topic_id = committed
    value = OffsetCommitValue(offset, leader_epoch, metadata, commit_timestamp, topic_id, expire_timestamp)
    return encoded(value, VALUE_VERSION)


def decode_offset(key: bytes, value: bytes | None) -> OffsetRecord:
    """The record of a key and value, whose numbers the caller has checked."""
    of = decode_message(OffsetCommitKey, OFFSET_COMMIT, key, _NUMBER.size)
    if value is None:
        return OffsetRecord(of.group, of.topic, of.partition, None)
    stored = decode_message(OffsetCommitValue, VALUE_VERSION, value, _NUMBER.size)
    committed = Committed(
        stored.offset,
        stored.leader_epoch,
        stored.metadata,
        stored.commit_timestamp,
        stored.expire_timestamp,
        stored.topic_id,
    )
    return OffsetRecord(of.group, of.topic, of.partition, committed)
