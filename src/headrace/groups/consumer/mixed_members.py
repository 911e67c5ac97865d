"""Members of a consumer group that speak the classic protocol: they live on while the group's clients are being
replaced.

To them the coordinator looks like a group whose leader is somebody else. JoinGroup reports their partitions and takes
their next step towards the target; SyncGroup tells them their assignment; Heartbeat says REBALANCE_IN_PROGRESS while
there is another step to take. Their generation is their member epoch.
"""

from headrace.base.errors import PeerError, Refused
from headrace.groups.classic.embedded import Subscription, read_subscription, write_assignment
from headrace.groups.classic.join import MEMBER_ID_REQUIRED_SINCE, has_long_names
from headrace.groups.classic.members import CONSUMER, Protocol
from headrace.groups.consumer.checks import check_known
from headrace.groups.consumer.decision import Decision
from headrace.groups.consumer.epochs import assign_if_due, bump_if_topics_changed
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.heartbeat import move_on, replace_member, update_member
from headrace.groups.consumer.leave import on_members_removed, remove_member
from headrace.groups.consumer.records import ClassicSide, ConsumerMember, MemberState
from headrace.groups.consumer.sessions import await_join, await_sync, renew_consumer_session, stop_awaiting
from headrace.groups.outcome import Command
from headrace.groups.refusals import MANY_LEAVE_SINCE, refused_join
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_classic import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

# -- joining ---------------------------------------------------------------------------------------------------------


def decide_mixed_join(decision: Decision, command: Command) -> None:
    request: JoinGroupRequest = command.request
    try:
        subscription = _check_join(decision, request)
    except Refused as refusal:
        decision.reply(command.ticket, refused_join(request.member_id, command.version, refusal.code))
        return
    is_nameless = not request.member_id and request.group_instance_id is None
    if is_nameless and command.version >= MEMBER_ID_REQUIRED_SINCE:
        code = ErrorCode.MEMBER_ID_REQUIRED
        decision.reply(command.ticket, refused_join(command.fresh_member_id, command.version, code))
        return
    _let_in(decision, command, subscription)


def _check_join(decision: Decision, request: JoinGroupRequest) -> Subscription:
    group = decision.group
    if has_long_names(request):
        raise Refused(ErrorCode.INVALID_REQUEST)
    if request.protocol_type != CONSUMER or not request.protocols:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    others = [
        {protocol.name for protocol in member.classic.protocols}
        for member in group.members.values()
        if member.classic is not None and member.member_id != request.member_id
    ]
    if not {protocol.name for protocol in request.protocols}.intersection(*others):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if request.member_id and request.group_instance_id is not None:
        check_known(group, request.member_id, request.group_instance_id)
    is_known = request.member_id in group.members or request.group_instance_id in group.member_id_of_instance
    if not is_known and len(group.members) >= decision.settings.consumer_max_size:
        raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
    try:
        return read_subscription(request.protocols[0].metadata, decision.topics)
    except PeerError:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from None


def _let_in(decision: Decision, command: Command, subscription: Subscription) -> None:
    request: JoinGroupRequest = command.request
    group = decision.group
    member_id = request.member_id or command.fresh_member_id
    former_id = group.member_id_of_instance.get(request.group_instance_id or "")
    if former_id is not None and former_id != member_id:
        replace_member(decision, former_id, member_id)
    update_member(decision, _described(group, member_id, command, subscription))
    current = move_on(decision, member_id, subscription.owned, is_new=False)
    stop_awaiting(decision, member_id)
    renew_consumer_session(decision, member_id)
    await_sync(decision, member_id)
    response = JoinGroupResponse(
        generation_id=current.epoch,
        protocol_type=CONSUMER,
        protocol_name=request.protocols[0].name,
        member_id=member_id,
    )
    decision.reply(command.ticket, response)


def _described(group: ConsumerGroup, member_id: str, command: Command, subscription: Subscription) -> ConsumerMember:
    request: JoinGroupRequest = command.request
    known = group.members.get(member_id)
    timeout_ms = request.rebalance_timeout_ms
    return ConsumerMember(
        member_id,
        request.group_instance_id or (None if known is None else known.instance_id),
        subscription.rack_id,
        command.client_id,
        command.client_host,
        subscription.topics,
        "",
        request.session_timeout_ms if timeout_ms < 0 else timeout_ms,
        None,
        ClassicSide(
            request.session_timeout_ms, tuple(Protocol(each.name, each.metadata) for each in request.protocols)
        ),
    )


# -- the rest of a classic member's life -------------------------------------------------------------------------------


def decide_mixed_sync(decision: Decision, command: Command) -> None:
    request: SyncGroupRequest = command.request
    member_id = request.member_id
    try:
        member = _checked(decision.group, member_id, request.group_instance_id, request.generation_id)
        assert member.classic is not None
        protocol = member.classic.protocols[0]
        if request.protocol_type not in (None, CONSUMER) or request.protocol_name not in (None, protocol.name):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        current = decision.group.current_of(member_id)
        is_behind = current.epoch < decision.group.target_epoch
        if is_behind and current.state is not MemberState.UNREVOKED_PARTITIONS:
            await_join(decision, member_id)
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
    except Refused as refusal:
        decision.reply(command.ticket, SyncGroupResponse(error_code=refusal.code))
        return
    stop_awaiting(decision, member_id)
    renew_consumer_session(decision, member_id)
    assignment = write_assignment(current.assigned, decision.topics, protocol.metadata)
    decision.reply(
        command.ticket,
        SyncGroupResponse(protocol_type=CONSUMER, protocol_name=protocol.name, assignment=assignment),
    )


def decide_mixed_heartbeat(decision: Decision, command: Command) -> None:
    request: HeartbeatRequest = command.request
    try:
        _checked(decision.group, request.member_id, request.group_instance_id, request.generation_id)
    except Refused as refusal:
        decision.reply(command.ticket, HeartbeatResponse(error_code=refusal.code))
        return
    bump_if_topics_changed(decision)
    assign_if_due(decision)
    renew_consumer_session(decision, request.member_id)
    code = ErrorCode.NONE
    if _has_a_step_to_take(decision.group, request.member_id):
        code = ErrorCode.REBALANCE_IN_PROGRESS
        await_join(decision, request.member_id)
    decision.reply(command.ticket, HeartbeatResponse(error_code=code))


def _checked(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> ConsumerMember:
    check_known(group, member_id, instance_id)
    member = group.members[member_id]
    if member.classic is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
    if generation != group.current_of(member_id).epoch:
        raise Refused(ErrorCode.ILLEGAL_GENERATION)
    return member


def _has_a_step_to_take(group: ConsumerGroup, member_id: str) -> bool:
    current = group.current_of(member_id)
    if current.epoch < group.target_epoch or current.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    missing = group.target_of(member_id) - current.assigned.keys()
    return bool(missing) and not any(group.is_owned_by_another(part, member_id) for part in missing)


def decide_mixed_leave(decision: Decision, command: Command) -> None:
    """Decides LeaveGroup for members of either protocol: operators remove static ones by their instance id."""
    request: LeaveGroupRequest = command.request
    size_before = len(decision.group.members)
    if command.version < MANY_LEAVE_SINCE:
        response = LeaveGroupResponse(error_code=_leave(decision, MemberIdentity(request.member_id)))
    else:
        response = LeaveGroupResponse(
            members=[
                MemberResponse(identity.member_id, identity.group_instance_id, _leave(decision, identity))
                for identity in request.members
            ]
        )
    if len(decision.group.members) < size_before:
        on_members_removed(decision)
    decision.reply(command.ticket, response)


def _leave(decision: Decision, identity: MemberIdentity) -> int:
    group = decision.group
    member_id = identity.member_id
    if not member_id and identity.group_instance_id is not None:
        member_id = group.member_id_of_instance.get(identity.group_instance_id, "")
    try:
        check_known(group, member_id, identity.group_instance_id)
    except Refused as refusal:
        return refusal.code
    remove_member(decision, member_id)
    return ErrorCode.NONE
