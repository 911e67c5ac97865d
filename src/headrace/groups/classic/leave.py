"""LeaveGroup: members that go by themselves, and static ones that an administrator removes by their instance id."""

from headrace.base.clock import Now
from headrace.base.outcome import Reply, Timer
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.rebalance import complete_if_all_joined, on_members_gone, remove_member
from headrace.groups.outcome import Command, GroupOutcome, nothing
from headrace.groups.refusals import MANY_LEAVE_SINCE
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_classic import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse


def decide_leave(group: ClassicGroup, command: Command, now: Now) -> GroupOutcome:
    request: LeaveGroupRequest = command.request
    out, size_before = nothing(), len(group.members)
    if command.version < MANY_LEAVE_SINCE:
        response = LeaveGroupResponse(error_code=_leave(group, MemberIdentity(request.member_id), out))
    else:
        members = [
            MemberResponse(identity.member_id, identity.group_instance_id, _leave(group, identity, out))
            for identity in request.members
        ]
        response = LeaveGroupResponse(members=members)
    out.replies.append(Reply(command.ticket, response))
    if len(group.members) < size_before:
        on_members_gone(group, now, out)
    else:
        # An id that was handed out and given back may have been all that a rebalance waited for.
        complete_if_all_joined(group, now, out)
    return out


def _leave(group: ClassicGroup, identity: MemberIdentity, out: GroupOutcome) -> ErrorCode:
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if member_id in group.pending:
        del group.pending[member_id]
        out.timers.append(Timer(group.pending_timer(member_id), None))
        return ErrorCode.NONE
    if not member_id and instance_id is not None:
        member_id = group.member_id_of_instance.get(instance_id, "")
    code = group.check_member(member_id, instance_id)
    if code is ErrorCode.NONE:
        remove_member(group, member_id, ErrorCode.UNKNOWN_MEMBER_ID, out)
    return code
