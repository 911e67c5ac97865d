"""The requests of members: to a classic group, to a consumer group, or from one kind of member to the other kind of group.

The first member with the newer protocol makes a classic group a consumer group, and the last one that goes makes it a
classic group again: `conversion`.
"""

from collections.abc import Callable

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.heartbeats import decide_heartbeat
from headrace.groups.classic.join import NAME_LENGTH_MAX, decide_join
from headrace.groups.classic.leave import decide_leave
from headrace.groups.classic.sync import decide_sync
from headrace.groups.consumer.checks import JOIN, check_form, check_sender
from headrace.groups.consumer.decision import Decision
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.heartbeat import decide_consumer_heartbeat, refuse_heartbeat
from headrace.groups.consumer.mixed_members import (
    decide_mixed_heartbeat,
    decide_mixed_join,
    decide_mixed_leave,
    decide_mixed_sync,
)
from headrace.groups.consumer.records import ConsumerRecord
from headrace.groups.conversion import begin_consumer, downgrade_if_due, end_consumer, upgraded
from headrace.groups.group import Group
from headrace.groups.outcome import Command, GroupOutcome, answered, nothing
from headrace.groups.refusals import refused, refused_leave
from headrace.groups.settings import GroupSettings
from headrace.groups.table import GroupTable
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_classic import JoinGroupRequest, LeaveGroupRequest
from headrace.wire.messages.groups_consumer import ConsumerGroupHeartbeatRequest

# -- the classic protocol --------------------------------------------------------------------------------------------


def join(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    request: JoinGroupRequest = command.request
    code = _check_join(table, request)
    if code is not ErrorCode.NONE:
        return answered(command, refused(request, command.version, code))
    group = table.get_or_add(request.group_id)
    if group.consumer is not None and not group.is_empty:
        return _in_consumer_group(table, group, command, decide_mixed_join, now)
    out = nothing()
    if group.consumer is not None:
        end_consumer(group.consumer, out)
    decide_join(group.classic, command, table.settings, now, out)
    table.drop_if_void(group)
    return out


def _check_join(table: GroupTable, request: JoinGroupRequest) -> ErrorCode:
    if not request.group_id or len(request.group_id) > NAME_LENGTH_MAX:
        return ErrorCode.INVALID_GROUP_ID
    if not _is_session_allowed(request.session_timeout_ms, table.settings):
        return ErrorCode.INVALID_SESSION_TIMEOUT
    if request.member_id and table.get(request.group_id) is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE


def _is_session_allowed(timeout_ms: int, settings: GroupSettings) -> bool:
    return settings.group_min_session_timeout_ms <= timeout_ms <= settings.group_max_session_timeout_ms


def sync(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    return _as_member(table, command, decide_sync, decide_mixed_sync, now)


def heartbeat(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    return _as_member(table, command, decide_heartbeat, decide_mixed_heartbeat, now)


def _as_member(
    table: GroupTable,
    command: Command,
    decide: Callable[[ClassicGroup, Command, Now], GroupOutcome],
    decide_mixed: Callable[[Decision, Command], None],
    now: Now,
) -> GroupOutcome:
    group = table.get(command.request.group_id)
    if group is not None and group.consumer is not None:
        return _in_consumer_group(table, group, command, decide_mixed, now)
    if group is not None:
        return decide(group.classic, command, now)
    code = ErrorCode.UNKNOWN_MEMBER_ID if command.request.group_id else ErrorCode.INVALID_GROUP_ID
    return answered(command, refused(command.request, command.version, code))


def leave(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    request: LeaveGroupRequest = command.request
    if not request.group_id:
        return answered(command, refused(request, command.version, ErrorCode.INVALID_GROUP_ID))
    group = table.get(request.group_id)
    if group is None:
        return answered(command, refused_leave(request, command.version, ErrorCode.UNKNOWN_MEMBER_ID))
    if group.consumer is not None:
        return _in_consumer_group(table, group, command, decide_mixed_leave, now)
    outcome = decide_leave(group.classic, command, now)
    table.drop_if_void(group)
    return outcome


def _in_consumer_group(
    table: GroupTable, group: Group, command: Command, decide: Callable[[Decision, Command], None], now: Now
) -> GroupOutcome:
    out = nothing()
    assert group.consumer is not None
    with table.decision(group.consumer, now, out, command.sight) as decision:
        decide(decision, command)
        downgrade_if_due(group, decision)
    return out


# -- the consumer protocol -------------------------------------------------------------------------------------------


def consumer_heartbeat(table: GroupTable, command: Command, now: Now) -> GroupOutcome:
    request: ConsumerGroupHeartbeatRequest = command.request
    out = nothing()
    try:
        check_form(request, command.version, table.settings)
        consumer, conversion = _consumer_for(table, request, now)
        with table.decision(consumer, now, out, command.sight) as decision:
            for record in conversion:
                decision.assume(record)
            check_sender(decision, request)
            group = table.get_or_add(request.group_id)
            if group.consumer is None:
                begin_consumer(group, decision, conversion)
            decide_consumer_heartbeat(decision, command)
            downgrade_if_due(group, decision)
    except Refused as refusal:
        return answered(command, refuse_heartbeat(refusal))
    return out


def _consumer_for(
    table: GroupTable, request: ConsumerGroupHeartbeatRequest, now: Now
) -> tuple[ConsumerGroup, list[ConsumerRecord]]:
    """The consumer group of a request, and the records that make it one if it is classic as yet."""
    group = table.get(request.group_id)
    if group is not None and group.consumer is not None:
        return group.consumer, []
    if request.member_epoch != JOIN:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"there is no consumer group {request.group_id}")
    if group is None or group.is_empty:
        return ConsumerGroup(request.group_id), []
    return ConsumerGroup(request.group_id), upgraded(group.classic, table.topics, table.settings, now)
