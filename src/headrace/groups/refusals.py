"""The answer to any request about groups when it is an error code and nothing else.

The shell uses it too: for a coordinator that is elsewhere, still loading or going away, and for requests that ACLs
forbid.
"""

from typing import Any

from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from headrace.wire.messages.groups_admin import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from headrace.wire.messages.groups_classic import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from headrace.wire.messages.groups_consumer import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from headrace.wire.messages.groups_consumer import DescribedGroup as DescribedConsumerGroup
from headrace.wire.schema import Response

NO_PROTOCOL_IS_NULL_SINCE = 7
FETCH_CODE_SINCE = 2
FETCH_MANY_GROUPS_SINCE = 8
MANY_LEAVE_SINCE = 3


def refused(request: Any, version: int, code: ErrorCode) -> Response:
    match request:
        case JoinGroupRequest():
            return refused_join(request.member_id, version, code)
        case SyncGroupRequest():
            return SyncGroupResponse(error_code=code)
        case HeartbeatRequest():
            return HeartbeatResponse(error_code=code)
        case LeaveGroupRequest():
            return LeaveGroupResponse(error_code=code)
        case ConsumerGroupHeartbeatRequest():
            return ConsumerGroupHeartbeatResponse(error_code=code, error_message=code.message)
        case OffsetCommitRequest():
            return refused_commit(request, code)
        case OffsetFetchRequest():
            return _refused_fetch(request, version, code)
        case OffsetDeleteRequest():
            return OffsetDeleteResponse(error_code=code)
    return _refused_admin(request, code)


def _refused_admin(request: Any, code: ErrorCode) -> Response:
    match request:
        case DescribeGroupsRequest():
            return DescribeGroupsResponse(
                groups=[DescribedGroup(code, code.message, group_id) for group_id in request.groups]
            )
        case ConsumerGroupDescribeRequest():
            return ConsumerGroupDescribeResponse(
                groups=[DescribedConsumerGroup(code, code.message, group_id) for group_id in request.group_ids]
            )
        case DeleteGroupsRequest():
            return DeleteGroupsResponse(
                results=[DeletableGroupResult(group_id, code) for group_id in request.groups_names]
            )
        case ListGroupsRequest():
            return ListGroupsResponse(error_code=code)
    raise AssertionError(f"{type(request).__name__} is not about groups")


def refused_join(member_id: str, version: int, code: int) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=code,
        protocol_name=None if version >= NO_PROTOCOL_IS_NULL_SINCE else "",
        member_id=member_id,
    )


def refused_leave(request: LeaveGroupRequest, version: int, code: ErrorCode) -> LeaveGroupResponse:
    """The refusal of members rather than of the request: from version 3 on each has a code of its own."""
    if version < MANY_LEAVE_SINCE:
        return LeaveGroupResponse(error_code=code)
    members = [MemberResponse(member.member_id, member.group_instance_id, code) for member in request.members]
    return LeaveGroupResponse(members=members)


def refused_commit(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [OffsetCommitResponsePartition(partition.partition_index, code) for partition in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _refused_fetch(request: OffsetFetchRequest, version: int, code: ErrorCode) -> OffsetFetchResponse:
    if version >= FETCH_MANY_GROUPS_SINCE:
        groups = [OffsetFetchResponseGroup(group.group_id, [], code) for group in request.groups]
        return OffsetFetchResponse(groups=groups)
    if version >= FETCH_CODE_SINCE:
        return OffsetFetchResponse(error_code=code)
    topics = [
        OffsetFetchResponseTopic(
            topic.name, [OffsetFetchResponsePartition(index, -1, -1, "", code) for index in topic.partition_indexes]
        )
        for topic in request.topics or ()
    ]
    return OffsetFetchResponse(topics=topics)
