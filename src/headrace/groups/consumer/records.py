"""The records that make up a consumer group. A value of None is a tombstone; see `records` for the rules of all records.

Members, target and current assignment change one by one, so each member has its own three records: a group of thousands
costs a record or two when one of them moves.
"""

from collections.abc import Callable, Iterable
from enum import IntEnum
from struct import Struct as Layout
from typing import Any, NamedTuple

from headrace.groups.classic.members import Protocol
from headrace.groups.consumer.stored import (
    CURRENT_MEMBER,
    GROUP_EPOCH,
    MEMBER,
    TARGET_EPOCH,
    TARGET_MEMBER,
    VALUE_VERSION,
    ClassicMemberValue,
    ClassicProtocolValue,
    CurrentMemberKey,
    CurrentMemberValue,
    GroupEpochKey,
    GroupEpochValue,
    MemberKey,
    MemberValue,
    OwnedPartitions,
    TargetEpochKey,
    TargetEpochValue,
    TargetMemberKey,
    TargetMemberValue,
    TargetPartitions,
)
from headrace.groups.partitions import NOTHING_OWNED, Owned, Parts, by_topic
from headrace.wire.codec import decode as decode_message
from headrace.wire.codec import encoded

_NUMBER = Layout(">h")
_VALUE_VERSION = _NUMBER.pack(VALUE_VERSION)

LEFT_FOR_A_WHILE = -2
"""The epoch of a static member that said it will be back."""


class MemberState(IntEnum):
    """The states of a member, numbered as Kafka stores them."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


class GroupEpoch(NamedTuple):
    epoch: int
    metadata_hash: int
    """A hash of the topics as they were when the epoch began."""
    timestamp: int


class ClassicSide(NamedTuple):
    """A classic member's fields of its JoinGroup."""

    session_timeout_ms: int
    protocols: tuple[Protocol, ...]


class ConsumerMember(NamedTuple):
    member_id: str
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    expression: str
    """Empty when it subscribes to none."""
    rebalance_timeout_ms: int
    assignor: str | None
    classic: ClassicSide | None = None


class Current(NamedTuple):
    """The partitions a member has been told, and those of them it has yet to give up."""

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Owned = NOTHING_OWNED
    revoking: Owned = NOTHING_OWNED


class GroupEpochRecord(NamedTuple):
    group_id: str
    value: GroupEpoch | None


class MemberRecord(NamedTuple):
    group_id: str
    member_id: str
    value: ConsumerMember | None


class TargetEpochRecord(NamedTuple):
    group_id: str
    value: int | None


class TargetMemberRecord(NamedTuple):
    group_id: str
    member_id: str
    value: Parts | None


class CurrentMemberRecord(NamedTuple):
    group_id: str
    member_id: str
    value: Current | None


ConsumerRecord = GroupEpochRecord | MemberRecord | TargetEpochRecord | TargetMemberRecord | CurrentMemberRecord


def encode_consumer(record: ConsumerRecord) -> tuple[bytes, bytes | None]:
    number, key_layout, _, to_value, _ = _LAYOUTS[type(record)]
    key = _NUMBER.pack(number) + encoded(key_layout(*record[:-1]), number)
    if record.value is None:
        return key, None
    return key, _VALUE_VERSION + encoded(to_value(record.value), VALUE_VERSION)


def decode_consumer(key: bytes, value: bytes | None) -> ConsumerRecord:
    """The record of a key and value, whose numbers the caller has checked."""
    number = _NUMBER.unpack_from(key)[0]
    kind = CONSUMER_KINDS[number]
    _, key_layout, value_layout, _, from_value = _LAYOUTS[kind]
    of = decode_message(key_layout, number, key, _NUMBER.size)
    names = tuple(getattr(of, field.name) for field in key_layout.FIELDS)
    content = None
    if value is not None:
        content = from_value(decode_message(value_layout, VALUE_VERSION, value, _NUMBER.size), *names)
    record: ConsumerRecord = kind(*names, content)
    return record


# -- values and their layouts ----------------------------------------------------------------------------------------


def _epoch_to(value: GroupEpoch) -> GroupEpochValue:
    return GroupEpochValue(*value)


def _epoch_from(stored: GroupEpochValue, group_id: str) -> GroupEpoch:
    return GroupEpoch(stored.epoch, stored.metadata_hash, stored.timestamp)


def _member_to(member: ConsumerMember) -> MemberValue:
    classic = None
    if member.classic is not None:
        protocols = [ClassicProtocolValue(*each) for each in member.classic.protocols]
        classic = ClassicMemberValue(member.classic.session_timeout_ms, protocols)
    return MemberValue(
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        list(member.topics),
        member.expression,
        member.rebalance_timeout_ms,
        member.assignor,
        classic,
    )


def _member_from(stored: MemberValue, group_id: str, member_id: str) -> ConsumerMember:
    classic = None
    if stored.classic_member is not None:
        protocols = tuple(Protocol(each.name, each.metadata) for each in stored.classic_member.supported_protocols)
        classic = ClassicSide(stored.classic_member.session_timeout, protocols)
    return ConsumerMember(
        member_id,
        stored.instance_id,
        stored.rack_id,
        stored.client_id,
        stored.client_host,
        tuple(stored.subscribed_topic_names),
        stored.subscribed_topic_regex or "",
        stored.rebalance_timeout,
        stored.server_assignor,
        classic,
    )


def _target_to(parts: Parts) -> TargetMemberValue:
    return TargetMemberValue([TargetPartitions(*topic) for topic in by_topic(parts).items()])


def _target_from(stored: TargetMemberValue, group_id: str, member_id: str) -> Parts:
    return frozenset((topic.topic_id, number) for topic in stored.topic_partitions for number in topic.partitions)


def _current_to(current: Current) -> CurrentMemberValue:
    epoch, previous, state, assigned, revoking = current
    return CurrentMemberValue(epoch, previous, state, _owned_to(assigned), _owned_to(revoking))


def _current_from(stored: CurrentMemberValue, group_id: str, member_id: str) -> Current:
    return Current(
        stored.member_epoch,
        stored.previous_member_epoch,
        MemberState(stored.state),
        _owned_from(stored.assigned),
        _owned_from(stored.revoking),
    )


def _owned_to(owned: Owned) -> list[OwnedPartitions]:
    return [
        OwnedPartitions(topic_id, numbers, [owned[topic_id, number] for number in numbers])
        for topic_id, numbers in by_topic(owned).items()
    ]


def _owned_from(topics: Iterable[OwnedPartitions]) -> Owned:
    return {
        (topic.topic_id, number): since
        for topic in topics
        for number, since in zip(topic.partitions, topic.since, strict=True)
    }


class _Kind(NamedTuple):
    number: int
    key: Any
    value: Any
    to_value: Callable[[Any], Any]
    from_value: Callable[..., Any]


_LAYOUTS: dict[Any, _Kind] = {
    GroupEpochRecord: _Kind(GROUP_EPOCH, GroupEpochKey, GroupEpochValue, _epoch_to, _epoch_from),
    MemberRecord: _Kind(MEMBER, MemberKey, MemberValue, _member_to, _member_from),
    TargetEpochRecord: _Kind(
        TARGET_EPOCH, TargetEpochKey, TargetEpochValue, TargetEpochValue, lambda stored, group_id: stored.epoch
    ),
    TargetMemberRecord: _Kind(TARGET_MEMBER, TargetMemberKey, TargetMemberValue, _target_to, _target_from),
    CurrentMemberRecord: _Kind(CURRENT_MEMBER, CurrentMemberKey, CurrentMemberValue, _current_to, _current_from),
}
CONSUMER_KINDS: dict[int, Any] = {kind.number: record for record, kind in _LAYOUTS.items()}
