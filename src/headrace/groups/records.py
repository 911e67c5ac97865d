"""The records that make up a group, and their bytes: key and value each begin with a number of two bytes.

A key's number is the type of the record, and types that we do not know are skipped, since newer code may have written
them beside ours. A value's is its format version, and a newer one than ours is refused rather than guessed at. A value of
None is a tombstone. Replaying all records of a partition in order gives everything about its groups that survives.
"""

from struct import Struct as Layout
from typing import NamedTuple

from headrace.base.errors import PeerError, UserError
from headrace.base.ids import ZERO_ID
from headrace.base.other_format import other_format
from headrace.groups.consumer_records import (
    CONSUMER_KINDS,
    ConsumerRecord,
    decode_consumer,
    encode_consumer,
)
from headrace.groups.consumer_stored import VALUE_VERSION as CONSUMER_VALUE_VERSION
from headrace.groups.members import Member, Protocol
from headrace.groups.stored import (
    GROUP_METADATA,
    OFFSET_COMMIT,
    VALUE_VERSION,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
    ProtocolMetadata,
)
from headrace.wire.codec import decode as decode_message
from headrace.wire.codec import encoded

NO_EXPIRY = -1
TIMESTAMP_MAX = (1 << 63) - 1

_NUMBER = Layout(">h")
_OFFSET_COMMIT = _NUMBER.pack(OFFSET_COMMIT)
_GROUP_METADATA = _NUMBER.pack(GROUP_METADATA)
_VALUE_VERSION = _NUMBER.pack(VALUE_VERSION)


class Committed(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int = NO_EXPIRY
    topic_id: bytes = ZERO_ID


class StoredGroup(NamedTuple):
    """A classic group between two phases: with no members, waiting for its leader's assignment, or with it."""

    generation: int
    protocol_type: str
    protocol_name: str | None
    leader: str | None
    members: tuple[Member, ...]
    awaits_assignment: bool
    state_timestamp: int


class OffsetRecord(NamedTuple):
    group_id: str
    topic: str
    partition: int
    value: Committed | None


class GroupRecord(NamedTuple):
    group_id: str
    value: StoredGroup | None


Record = OffsetRecord | GroupRecord | ConsumerRecord


def encode(record: Record) -> tuple[bytes, bytes | None]:
    if isinstance(record, OffsetRecord):
        key = OffsetCommitKey(record.group_id, record.topic, record.partition)
        value = None if record.value is None else _VALUE_VERSION + _offset_bytes(record.value)
        return _OFFSET_COMMIT + encoded(key, OFFSET_COMMIT), value
    if isinstance(record, GroupRecord):
        return (
            _GROUP_METADATA + encoded(GroupMetadataKey(record.group_id), GROUP_METADATA),
            None if record.value is None else _VALUE_VERSION + _group_bytes(record.value),
        )
    return encode_consumer(record)


def _offset_bytes(committed: Committed) -> bytes:
    offset, leader_epoch, metadata, commit_timestamp, expire_timestamp, topic_id = committed
    value = OffsetCommitValue(offset, leader_epoch, metadata, commit_timestamp, topic_id, expire_timestamp)
    return encoded(value, VALUE_VERSION)


def _group_bytes(group: StoredGroup) -> bytes:
    value = GroupMetadataValue(
        group.protocol_type,
        group.generation,
        group.protocol_name,
        group.leader,
        group.state_timestamp,
        [_member_message(member, group.protocol_name) for member in group.members],
        group.awaits_assignment,
    )
    return encoded(value, VALUE_VERSION)


def _member_message(member: Member, chosen: str | None) -> MemberMetadata:
    only_chosen = [protocol.name for protocol in member.protocols] == [chosen]
    return MemberMetadata(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.session_timeout_ms,
        member.metadata(chosen),
        member.assignment,
        []
        if only_chosen
        else [ProtocolMetadata(name, b"" if name == chosen else metadata) for name, metadata in member.protocols],
    )


def decode(key: bytes | None, value: bytes | None) -> Record | None:
    """The record of a key and value; None for a type we do not know."""
    try:
        number = _NUMBER.unpack_from(key)[0] if key and len(key) >= _NUMBER.size else -1
        if number == OFFSET_COMMIT:
            return _read_offset(key or b"", value)
        if number == GROUP_METADATA:
            return _read_group(key or b"", value)
        if number in CONSUMER_KINDS:
            if value is not None:
                _check_version(value, CONSUMER_VALUE_VERSION)
            return decode_consumer(number, key or b"", value)
    except PeerError as error:
        raise UserError(
            f"a record of __consumer_offsets cannot be read: {error}",
            "Its partition is damaged: let another replica lead it. If none is whole, "
            "`headrace backup restore` brings topics and group offsets into a new cluster.",
        ) from error
    return None


def _check_version(value: bytes, expected: int = VALUE_VERSION) -> None:
    version = _NUMBER.unpack_from(value)[0] if len(value) >= _NUMBER.size else -1
    if version != expected:
        raise other_format("a record of __consumer_offsets", version, expected)


def _read_offset(key: bytes, value: bytes | None) -> OffsetRecord:
    of = decode_message(OffsetCommitKey, OFFSET_COMMIT, key, _NUMBER.size)
    if value is None:
        return OffsetRecord(of.group, of.topic, of.partition, None)
    _check_version(value)
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


def _read_group(key: bytes, value: bytes | None) -> GroupRecord:
    group_id = decode_message(GroupMetadataKey, GROUP_METADATA, key, _NUMBER.size).group
    if value is None:
        return GroupRecord(group_id, None)
    _check_version(value)
    stored = decode_message(GroupMetadataValue, VALUE_VERSION, value, _NUMBER.size)
    group = StoredGroup(
        stored.generation,
        stored.protocol_type,
        stored.protocol,
        stored.leader,
        tuple(_read_member(member, stored.protocol) for member in stored.members),
        stored.awaits_assignment,
        stored.current_state_timestamp,
    )
    return GroupRecord(group_id, group)


def _read_member(member: MemberMetadata, chosen: str | None) -> Member:
    protocols = [
        Protocol(each.name, member.subscription if each.name == chosen else each.metadata) for each in member.protocols
    ]
    return Member(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        member.session_timeout,
        member.rebalance_timeout,
        tuple(protocols) or (Protocol(chosen or "", member.subscription),),
        member.assignment,
    )
