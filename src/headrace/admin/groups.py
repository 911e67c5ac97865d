"""Consumer groups of either kind as operators see them; and commits, and the end of a group.

A classic group is described by DescribeGroups, a consumer group (KIP-848) by ConsumerGroupDescribe. Which of the two a
group is, its coordinator knows: we ask by the one, and where there is no such group, by the other.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from struct import Struct as Layout
from typing import NamedTuple

from headrace.admin.admin import Admin, check
from headrace.admin.coordinators import COME_AGAIN, at_coordinator
from headrace.base.errors import PeerError, Refused
from headrace.base.ids import TopicPartition
from headrace.wire.codec import decode
from headrace.wire.codes import CODES, ErrorCode
from headrace.wire.messages import groups_consumer
from headrace.wire.messages.embedded import EMBEDDED_VERSION_MAX, EmbeddedAssignment
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from headrace.wire.messages.groups_admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)

CLASSIC, CONSUMER = "classic", "consumer"
_STATES = {
    "PreparingRebalance": "preparing rebalance",
    "CompletingRebalance": "completing rebalance",
}
_VERSION = Layout(">h")


class GroupListed(NamedTuple):
    group: str
    type: str
    state: str
    coordinator: int


class MemberSeen(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...]


class GroupSeen(NamedTuple):
    group: str
    type: str
    state: str
    assignor: str | None
    coordinator: int
    members: tuple[MemberSeen, ...]


class NewCommit(NamedTuple):
    offset: int
    metadata: str = ""


async def list_groups(admin: Admin) -> list[GroupListed]:
    """All groups, asked of every live broker, since each lists those that it coordinates; refused while one is still
    loading.
    """
    listed: list[GroupListed] = []
    for broker_id in [each.broker_id for each in (await admin.describe_cluster()).brokers if not each.is_fenced]:
        answer = await admin.ask_broker(broker_id, ListGroupsRequest(), ListGroupsResponse)
        check(answer.error_code)
        listed += [
            GroupListed(each.group_id, each.group_type, _state(each.group_state), broker_id) for each in answer.groups
        ]
    return sorted(listed)


async def describe_groups(admin: Admin, listed: Iterable[GroupListed]) -> list[GroupSeen]:
    """Each coordinator is asked once for all of its own; a group that is gone meanwhile is left out."""
    asked: defaultdict[tuple[int, bool], list[str]] = defaultdict(list)
    for each in listed:
        asked[each.coordinator, each.type == CONSUMER].append(each.group)
    seen: list[GroupSeen] = []
    for (coordinator, is_next), names in asked.items():
        seen += await (_describe_next if is_next else _describe_classic)(admin, coordinator, names)
    return sorted(seen)


async def describe_group(admin: Admin, group: str) -> GroupSeen:
    """Raises GROUP_ID_NOT_FOUND for one that nobody ever saw."""

    async def ask(coordinator: int) -> GroupSeen:
        found = await _describe_next(admin, coordinator, [group]) or await _describe_classic(
            admin, coordinator, [group]
        )
        if not found:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {group}")
        return found[0]

    return await at_coordinator(admin, group, ask)


async def _describe_next(admin: Admin, coordinator: int, names: list[str]) -> list[GroupSeen]:
    request = groups_consumer.ConsumerGroupDescribeRequest(names)
    reply = await admin.ask_broker(coordinator, request, groups_consumer.ConsumerGroupDescribeResponse)
    seen = []
    for each in reply.groups:
        if each.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            continue
        check(each.error_code, each.error_message)
        members = tuple(sorted(map(_next_member, each.members)))
        state, assignor = _state(each.group_state), each.assignor_name or None
        seen.append(GroupSeen(each.group_id, CONSUMER, state, assignor, coordinator, members))
    return seen


async def _describe_classic(admin: Admin, coordinator: int, names: list[str]) -> list[GroupSeen]:
    reply = await admin.ask_broker(coordinator, DescribeGroupsRequest(names), DescribeGroupsResponse)
    seen = []
    for each in reply.groups:
        # Brokers of older versions of the API call a group dead that they never saw.
        if each.error_code == ErrorCode.GROUP_ID_NOT_FOUND or each.group_state == "Dead":
            continue
        check(each.error_code, each.error_message)
        members = tuple(sorted(map(_classic_member, each.members)))
        state, assignor = _state(each.group_state), each.protocol_data or None
        seen.append(GroupSeen(each.group_id, CLASSIC, state, assignor, coordinator, members))
    return seen


def _state(name: str) -> str:
    return _STATES.get(name, name.lower())


def _next_member(member: groups_consumer.Member) -> MemberSeen:
    partitions = [
        TopicPartition(topic.topic_name, index)
        for topic in member.assignment.topic_partitions
        for index in topic.partitions
    ]
    host = member.client_host.lstrip("/")
    return MemberSeen(member.member_id, member.instance_id, member.client_id, host, tuple(sorted(partitions)))


def _classic_member(member: DescribedGroupMember) -> MemberSeen:
    host = member.client_host.lstrip("/")
    partitions = tuple(sorted(_assigned(member.member_assignment)))
    return MemberSeen(member.member_id, member.group_instance_id, member.client_id, host, partitions)


def _assigned(data: bytes) -> list[TopicPartition]:
    """Only members of the consumer protocol are assigned partitions; what others are told we cannot read."""
    if len(data) < _VERSION.size:
        return []
    try:
        said = decode(EmbeddedAssignment, min(_VERSION.unpack_from(data)[0], EMBEDDED_VERSION_MAX), data, _VERSION.size)
    except (PeerError, KeyError):
        return []
    return [TopicPartition(topic.topic, index) for topic in said.assigned_partitions for index in topic.partitions]


async def require_no_members(admin: Admin, names: Iterable[str]) -> None:
    """Raises NON_EMPTY_GROUP, or GROUP_ID_NOT_FOUND, for the first group that has members or does not exist."""
    for group in names:
        members = len((await describe_group(admin, group)).members)
        if members:
            count = "1 active member" if members == 1 else f"{members} active members"
            raise Refused(ErrorCode.NON_EMPTY_GROUP, f"group {group} has {count}")


async def delete_groups(admin: Admin, names: Iterable[str]) -> None:
    """Deletes groups with all that they have committed. The broker refuses one that has members."""
    for group in names:
        await at_coordinator(admin, group, partial(_delete, admin, group))


async def _delete(admin: Admin, group: str, coordinator: int) -> None:
    reply = await admin.ask_broker(coordinator, DeleteGroupsRequest([group]), DeleteGroupsResponse)
    code = reply.results[0].error_code
    check(code, f"group {group} was not deleted: {CODES[code].message}" if code in CODES else None)


async def commit(
    admin: Admin, group: str, offsets: Mapping[TopicPartition, NewCommit]
) -> dict[TopicPartition, Refused]:
    """Commits offsets of a group without members; returns the refusal of each partition that was refused."""
    ids = await _topic_ids(admin, offsets)
    topics: dict[str, OffsetCommitRequestTopic] = {}
    for (topic, index), wanted in offsets.items():
        part = OffsetCommitRequestPartition(index, wanted.offset, committed_metadata=wanted.metadata)
        topics.setdefault(topic, OffsetCommitRequestTopic(topic, ids[topic], [])).partitions.append(part)
    names = {topic_id: name for name, topic_id in ids.items()}

    async def ask(coordinator: int) -> dict[TopicPartition, Refused]:
        request = OffsetCommitRequest(group, topics=list(topics.values()))
        reply = await admin.ask_broker(coordinator, request, OffsetCommitResponse)
        refusals = {
            TopicPartition(topic.name or names[topic.topic_id], part.partition_index): _refusal(part.error_code)
            for topic in reply.topics
            for part in topic.partitions
            if part.error_code
        }
        for refusal in refusals.values():
            if refusal.code in COME_AGAIN:
                raise refusal
        return refusals

    return await at_coordinator(admin, group, ask)


async def _topic_ids(admin: Admin, partitions: Collection[TopicPartition]) -> dict[str, bytes]:
    """Topic ids of partitions that exist; raises for others, since brokers keep a commit of any partition."""
    found = (await admin.metadata({id.topic for id in partitions})).topics
    known = {TopicPartition(topic.name or "", part.partition_index) for topic in found for part in topic.partitions}
    for id in partitions:
        if id not in known:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {id}")
    return {topic.name or "": topic.topic_id for topic in found}


def _refusal(code: int) -> Refused:
    return Refused(code, CODES[code].message if code in CODES else f"error {code}")
