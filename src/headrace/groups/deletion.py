"""DeleteGroups and OffsetDelete, requests of operators. Refused for groups and topics that members are using."""

from headrace.base.outcome import Reply, Timer
from headrace.groups.classic.members import CONSUMER
from headrace.groups.group import Group
from headrace.groups.offsets.records import OffsetRecord
from headrace.groups.outcome import Command, GroupOutcome, answered, nothing
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def delete_group(group: Group, out: GroupOutcome) -> ErrorCode:
    if not group.is_empty:
        return ErrorCode.NON_EMPTY_GROUP
    classic = group.classic
    out.timers.extend(Timer(classic.pending_timer(member_id), None) for member_id in classic.pending)
    classic.pending.clear()
    out.records.extend(group.offsets.tombstones(lambda topic, committed: True))
    out.records.extend(group.tombstones())
    return ErrorCode.NONE


def decide_delete_offsets(group: Group, command: Command) -> GroupOutcome:
    request: OffsetDeleteRequest = command.request
    if group.consumer is None and not group.is_empty and group.classic.protocol_type != CONSUMER:
        return answered(command, OffsetDeleteResponse(error_code=ErrorCode.NON_EMPTY_GROUP))
    out, topics = nothing(), []
    for topic in request.topics:
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if group.is_subscribed_to(topic.name) else ErrorCode.NONE
        indexes = [partition.partition_index for partition in topic.partitions]
        if code is ErrorCode.NONE:
            kept = [index for index in indexes if group.offsets.get(topic.name, index) is not None]
            out.records.extend(OffsetRecord(request.group_id, topic.name, index, None) for index in kept)
        answers = [OffsetDeleteResponsePartition(index, code) for index in indexes]
        topics.append(OffsetDeleteResponseTopic(topic.name, answers))
    out.replies.append(Reply(command.ticket, OffsetDeleteResponse(topics=topics)))
    return out
