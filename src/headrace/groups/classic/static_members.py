"""A static member that restarts: it comes with its instance id and no member id, and takes its own place again.

Its former id is fenced. In a stable group whose protocol stays the same nobody else notices: it gets the assignment it
had, under its new id.
"""

from headrace.base.clock import Now
from headrace.base.outcome import Reply
from headrace.groups.classic.answers import rejoined_as_static
from headrace.groups.classic.group import ClassicGroup, GroupState, ParkedRequest
from headrace.groups.classic.members import Member, choose_protocol
from headrace.groups.classic.rebalance import complete_if_all_joined, open_join_phase, park_join, remove_member
from headrace.groups.classic.records import GroupRecord
from headrace.groups.outcome import Command, GroupOutcome
from headrace.groups.sessions import set_session
from headrace.wire.codes import ErrorCode


def replace_static_member(group: ClassicGroup, new: Member, command: Command, now: Now, out: GroupOutcome) -> None:
    assert new.instance_id is not None
    old = group.members[group.member_id_of_instance[new.instance_id]]
    new = new._replace(assignment=old.assignment)
    if group.state is GroupState.STABLE and _keeps_protocol(group, old, new):
        _go_on(group, old, new, command, now, out)
        return
    # While an assignment is being made it names the former id, so it has to be made again.
    remove_member(group, old.member_id, ErrorCode.FENCED_INSTANCE_ID, out)
    group.members[new.member_id] = new
    phase = open_join_phase(group, now, out)
    if phase.leader == old.member_id:
        phase.leader = new.member_id
    park_join(group, phase, new, ParkedRequest(command.ticket, command.version), out)
    set_session(group, new.member_id, new.session_timeout_ms, now, out)
    complete_if_all_joined(group, now, out)


def _keeps_protocol(group: ClassicGroup, old: Member, new: Member) -> bool:
    assert group.stored is not None
    return (
        choose_protocol([new if each is old else each for each in group.members.values()]) == group.stored.protocol_name
    )


def _go_on(group: ClassicGroup, old: Member, new: Member, command: Command, now: Now, out: GroupOutcome) -> None:
    assert group.stored is not None
    leader_before = group.leader
    stored = group.stored._replace(
        members=tuple(new if each.member_id == old.member_id else each for each in group.stored.members),
        leader=new.member_id if leader_before == old.member_id else leader_before,
    )
    if old.member_id in group.unsynced:
        group.unsynced.add(new.member_id)
    remove_member(group, old.member_id, ErrorCode.FENCED_INSTANCE_ID, out)
    set_session(group, new.member_id, new.session_timeout_ms, now, out)
    out.records.append(GroupRecord(group.group_id, stored))
    answer = rejoined_as_static(stored, new.member_id, leader_before, command.version)
    out.replies.append(Reply(command.ticket, answer))
