"""The record of a classic group, and its bytes; see `groups.records` for the rules of all records."""

from struct import Struct as Layout
from typing import NamedTuple

from headrace.groups.classic.members import Member, Protocol
from headrace.groups.classic.stored import (
    GROUP_METADATA,
    VALUE_VERSION,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    ProtocolMetadata,
)
from headrace.wire.codec import decode as decode_message
from headrace.wire.codec import encoded

_NUMBER = Layout(">h")
_GROUP_METADATA = _NUMBER.pack(GROUP_METADATA)
_VALUE_VERSION = _NUMBER.pack(VALUE_VERSION)


class StoredGroup(NamedTuple):
    """A classic group between two phases: with no members, waiting for its leader's assignment, or with it."""

    generation: int
    protocol_type: str
    protocol_name: str | None
    leader: str | None
    members: tuple[Member, ...]
    awaits_assignment: bool
    state_timestamp: int


class GroupRecord(NamedTuple):
    group_id: str
    value: StoredGroup | None


def encode_classic(record: GroupRecord) -> tuple[bytes, bytes | None]:
    key = _GROUP_METADATA + encoded(GroupMetadataKey(record.group_id), GROUP_METADATA)
    return key, None if record.value is None else _VALUE_VERSION + _group_bytes(record.value)


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


def decode_classic(key: bytes, value: bytes | None) -> GroupRecord:
    """The record of a key and value, whose numbers the caller has checked."""
    group_id = decode_message(GroupMetadataKey, GROUP_METADATA, key, _NUMBER.size).group
    if value is None:
        return GroupRecord(group_id, None)
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
