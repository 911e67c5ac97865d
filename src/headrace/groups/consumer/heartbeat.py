"""ConsumerGroupHeartbeat: members of a consumer group join, report, are moved, and leave, all by this one request.

the member as it describes itself now  →  group epoch, if that changed anything  →  target, if it is behind
→  the member's next step towards it  →  the answer
"""

from headrace.base.errors import Refused
from headrace.groups.consumer.checks import JOIN, LEAVE
from headrace.groups.consumer.decision import Decision
from headrace.groups.consumer.epochs import assign_if_due, bump_epoch, bump_if_topics_changed
from headrace.groups.consumer.leave import (
    forget_waits,
    leave_for_a_while,
    on_members_removed,
    remove_member,
)
from headrace.groups.consumer.reconcile import reconcile
from headrace.groups.consumer.records import (
    LEFT_FOR_A_WHILE,
    ConsumerMember,
    Current,
    CurrentMemberRecord,
    MemberRecord,
    MemberState,
    TargetMemberRecord,
)
from headrace.groups.consumer.sessions import await_revocation, renew_consumer_session
from headrace.groups.outcome import Command
from headrace.groups.partitions import Parts, from_wire, to_wire
from headrace.groups.sessions import end_session
from headrace.wire.messages.groups_consumer import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def decide_consumer_heartbeat(decision: Decision, command: Command) -> None:
    """Decides a request that `consumer_checks` let pass."""
    request: ConsumerGroupHeartbeatRequest = command.request
    if request.member_epoch == LEAVE:
        remove_member(decision, request.member_id)
        on_members_removed(decision)
    elif request.member_epoch == LEFT_FOR_A_WHILE:
        leave_for_a_while(decision, request.member_id)
    else:
        _stay(decision, command)
        return
    response = ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
    decision.reply(command.ticket, response)


def _stay(decision: Decision, command: Command) -> None:
    request: ConsumerGroupHeartbeatRequest = command.request
    group, settings = decision.group, decision.settings
    member_id = request.member_id or command.fresh_member_id
    if request.member_epoch == JOIN:
        _take_place(decision, member_id, request.instance_id)
    update_member(decision, _described(decision, member_id, command))
    before = group.current_of(member_id)
    reported = None if request.topic_partitions is None else from_wire(request.topic_partitions)
    current = move_on(decision, member_id, reported, is_new=request.member_epoch == JOIN)
    renew_consumer_session(decision, member_id)
    response = ConsumerGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=current.epoch,
        heartbeat_interval_ms=settings.consumer_heartbeat_interval_ms,
    )
    if _must_hear(request, before, current, reported):
        response.assignment = Assignment(to_wire(current.assigned))
    decision.reply(command.ticket, response)


def _must_hear(
    request: ConsumerGroupHeartbeatRequest, before: Current, current: Current, reported: Parts | None
) -> bool:
    """Whether the answer names the assignment: it changed, or an answer that told it may have been lost."""
    return (
        before.assigned.keys() != current.assigned.keys()
        or request.member_epoch != before.epoch
        or (reported is not None and (reported != current.assigned.keys() or request.rebalance_timeout_ms >= 0))
    )


def _described(decision: Decision, member_id: str, command: Command) -> ConsumerMember:
    """The member as the request describes it; fields that the request leaves out stay as they were."""
    request: ConsumerGroupHeartbeatRequest = command.request
    known = decision.group.members.get(member_id)
    if known is None:
        known = ConsumerMember(member_id, None, None, "", "", (), "", -1, None)
    names, expression = request.subscribed_topic_names, request.subscribed_topic_regex
    return ConsumerMember(
        member_id,
        known.instance_id if request.instance_id is None else request.instance_id,
        known.rack_id if request.rack_id is None else request.rack_id,
        command.client_id,
        command.client_host,
        known.topics if names is None else tuple(sorted(set(names))),
        known.expression if expression is None else expression,
        known.rebalance_timeout_ms if request.rebalance_timeout_ms < 0 else request.rebalance_timeout_ms,
        known.assignor if request.server_assignor is None else request.server_assignor,
    )


# -- the steps, for members of either protocol ------------------------------------------------------------------------


def _take_place(decision: Decision, member_id: str, instance_id: str | None) -> None:
    """Gives a static member that restarts under another id the place it had."""
    group = decision.group
    former_id = None if instance_id is None else group.member_id_of_instance.get(instance_id)
    if former_id is not None and former_id != member_id:
        replace_member(decision, former_id, member_id)


def replace_member(decision: Decision, former_id: str, member_id: str) -> None:
    group = decision.group
    former, target, current = group.members[former_id], group.target.get(former_id), group.current_of(former_id)
    forget_waits(decision, former_id)
    end_session(group, former_id, decision.out)
    decision.write(CurrentMemberRecord(group.group_id, former_id, None))
    decision.write(TargetMemberRecord(group.group_id, former_id, None))
    decision.write(MemberRecord(group.group_id, former_id, None))
    decision.write(MemberRecord(group.group_id, member_id, former._replace(member_id=member_id)))
    if target is not None:
        decision.write(TargetMemberRecord(group.group_id, member_id, target))
    decision.write(CurrentMemberRecord(group.group_id, member_id, Current(assigned=current.assigned)))


def update_member(decision: Decision, member: ConsumerMember) -> None:
    """Stores the member's description of itself; a new subscription moves the group on."""
    group = decision.group
    known = group.members.get(member.member_id)
    if member != known:
        decision.write(MemberRecord(group.group_id, member.member_id, member))
    if known is None or (known.topics, known.expression) != (member.topics, member.expression):
        bump_epoch(decision)
    else:
        bump_if_topics_changed(decision)
    assign_if_due(decision)


def move_on(decision: Decision, member_id: str, reported: Parts | None, is_new: bool) -> Current:
    group = decision.group
    before = group.current_of(member_id)
    # A member that joins has nothing, whatever it was told before; partitions that stay its own it need not give back.
    begin = Current(assigned=before.assigned) if is_new else before
    current = reconcile(
        begin,
        group.target_epoch,
        group.target_of(member_id),
        reported,
        lambda part: group.is_owned_by_another(part, member_id),
    )
    if current != before or member_id not in group.current:
        decision.write(CurrentMemberRecord(group.group_id, member_id, current))
    _watch_revocation(decision, member_id, before, current)
    return current


def _watch_revocation(decision: Decision, member_id: str, before: Current, current: Current) -> None:
    group = decision.group
    if current.state is not MemberState.UNREVOKED_PARTITIONS:
        if group.revocation_ends.pop(member_id, None) is not None:
            decision.set_timer(group.revocation_timer(member_id), None)
    elif before != current or member_id not in group.revocation_ends:
        await_revocation(decision, member_id)


def refuse_heartbeat(refusal: Refused) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=refusal.code, error_message=refusal.message)
