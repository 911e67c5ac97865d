"""SyncGroup: the leader hands in the assignment, everybody gets a share of it once it is stored."""

from headrace.base.clock import Now
from headrace.base.outcome import Reply
from headrace.groups.classic.answers import synced
from headrace.groups.classic.group import ClassicGroup, GroupState, ParkedRequest
from headrace.groups.classic.rebalance import stop_waiting_for_syncs
from headrace.groups.classic.records import GroupRecord
from headrace.groups.classic.sessions import renew_session
from headrace.groups.outcome import Command, GroupOutcome, answered, nothing
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_classic import SyncGroupRequest, SyncGroupResponse


def decide_sync(group: ClassicGroup, command: Command, now: Now) -> GroupOutcome:
    request: SyncGroupRequest = command.request
    code = _check(group, request)
    if code is not ErrorCode.NONE:
        return answered(command, SyncGroupResponse(error_code=code))
    out = nothing()
    renew_session(group, request.member_id, now, out)
    _note_synced(group, request.member_id, out)
    if group.state is GroupState.STABLE:
        assert group.stored is not None
        response = synced(group.stored, group.members[request.member_id].assignment)
        out.replies.append(Reply(command.ticket, response))
    else:
        _park(group, command, out)
        if request.member_id == group.leader:
            _store_assignment(group, request, now, out)
    return out


def _check(group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
    code = group.check_generation(request.member_id, request.group_instance_id, request.generation_id)
    if code is not ErrorCode.NONE:
        return code
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    assert group.stored is not None
    if request.protocol_type not in (None, group.stored.protocol_type):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name not in (None, group.stored.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def _note_synced(group: ClassicGroup, member_id: str, out: GroupOutcome) -> None:
    group.unsynced.discard(member_id)
    if not group.unsynced:
        stop_waiting_for_syncs(group, out)


def _park(group: ClassicGroup, command: Command, out: GroupOutcome) -> None:
    earlier = group.parked_syncs.get(command.request.member_id)
    if earlier is not None:
        refusal = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
        out.replies.append(Reply(earlier.ticket, refusal))
    group.parked_syncs[command.request.member_id] = ParkedRequest(command.ticket, command.version)


def _store_assignment(group: ClassicGroup, request: SyncGroupRequest, now: Now, out: GroupOutcome) -> None:
    """Stores the leader's assignment. A member that the leader left out gets an empty one."""
    assert group.stored is not None
    shares = {share.member_id: share.assignment for share in request.assignments}
    members = tuple(member._replace(assignment=shares.get(member.member_id, b"")) for member in group.stored.members)
    stored = group.stored._replace(members=members, awaits_assignment=False, state_timestamp=now.wall)
    out.records.append(GroupRecord(group.group_id, stored))
    for member in members:
        parked = group.parked_syncs.pop(member.member_id, None)
        if parked is not None:
            out.replies.append(Reply(parked.ticket, synced(stored, member.assignment)))
            renew_session(group, member.member_id, now, out)
