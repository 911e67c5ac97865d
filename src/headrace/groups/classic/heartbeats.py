"""Heartbeats, sessions that run out, and ids that were handed out and never used.

A member that waits for an answer cannot heartbeat and counts as alive, except a newcomer: its client may be long gone,
and clients that retry would pile up in the group, so it waits for a limited time.
"""

from headrace.base.clock import Now
from headrace.base.outcome import Reply, Timer
from headrace.groups.classic.group import ClassicGroup, GroupState
from headrace.groups.classic.rebalance import complete_if_all_joined, on_members_gone, remove_member
from headrace.groups.classic.sessions import renew_session
from headrace.groups.outcome import Command, GroupOutcome, answered, nothing
from headrace.groups.sessions import set_session_timer
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_classic import HeartbeatRequest, HeartbeatResponse


def decide_heartbeat(group: ClassicGroup, command: Command, now: Now) -> GroupOutcome:
    request: HeartbeatRequest = command.request
    code = group.check_generation(request.member_id, request.group_instance_id, request.generation_id)
    if code is not ErrorCode.NONE:
        return answered(command, HeartbeatResponse(error_code=code))
    out = nothing()
    renew_session(group, request.member_id, now, out)
    if group.state is GroupState.PREPARING_REBALANCE:
        code = ErrorCode.REBALANCE_IN_PROGRESS
    out.replies.append(Reply(command.ticket, HeartbeatResponse(error_code=code)))
    return out


def on_session_timer(group: ClassicGroup, member_id: str, now: Now, out: GroupOutcome) -> None:
    session = group.sessions.get(member_id)
    if session is None:
        return
    if _waits_for_answer(group, member_id):
        renew_session(group, member_id, now, out)
    if session.deadline > now.mono:
        set_session_timer(group, member_id, session, session.deadline, out)
        return
    remove_member(group, member_id, ErrorCode.UNKNOWN_MEMBER_ID, out)
    on_members_gone(group, now, out)


def _waits_for_answer(group: ClassicGroup, member_id: str) -> bool:
    if member_id in group.parked_syncs:
        return True
    phase = group.join_phase
    return phase is not None and member_id in phase.tickets and member_id not in phase.newcomers


def on_pending_timer(group: ClassicGroup, member_id: str, now: Now, out: GroupOutcome) -> None:
    deadline = group.pending.get(member_id)
    if deadline is None:
        return
    if now.mono < deadline:
        out.timers.append(Timer(group.pending_timer(member_id), deadline))
        return
    del group.pending[member_id]
    complete_if_all_joined(group, now, out)
