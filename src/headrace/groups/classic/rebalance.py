"""The change of generation: the join phase opens, members come or are left behind, and it ends in a record.

It ends when every member has joined and every id handed out has been used; at the latest after the longest rebalance
time-out among the members. Dynamic members that did not come are then dropped; static ones stay, as their restart is
expected, until their session runs out.
"""

from headrace.base.clock import Now
from headrace.base.outcome import Reply, Timer
from headrace.groups.classic.answers import joined
from headrace.groups.classic.group import ClassicGroup, GroupState, JoinPhase, ParkedRequest
from headrace.groups.classic.members import Member, choose_protocol
from headrace.groups.classic.records import GroupRecord, StoredGroup
from headrace.groups.classic.sessions import renew_session
from headrace.groups.outcome import GroupOutcome
from headrace.groups.refusals import refused_join
from headrace.groups.sessions import end_session
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_classic import SyncGroupResponse

# A static member may ask for no time at all, and its group must not spin while it waits for it.
RETRY_S_MIN = 1.0


def open_join_phase(group: ClassicGroup, now: Now, out: GroupOutcome) -> JoinPhase:
    """Opens the join phase of a group that has members; for the first members see `open_first_join_phase`."""
    phase = group.join_phase
    if phase is None:
        _send_syncs_back(group, now, out)
        phase = group.join_phase = JoinPhase(group.protocol_type, group.leader)
        _wait_until(group, phase, now.mono + group.rebalance_timeout, out)
    return phase


def open_first_join_phase(group: ClassicGroup, first: Member, protocol_type: str, delay_ms: int, now: Now) -> JoinPhase:
    phase = group.join_phase = JoinPhase(protocol_type, None)
    delay, rebalance_timeout = delay_ms / 1000, first.rebalance_timeout_ms / 1000
    phase.is_delayed = delay > 0
    phase.remaining = max(rebalance_timeout - delay, 0.0)
    phase.deadline = now.mono + (delay or rebalance_timeout)
    return phase


def park_join(group: ClassicGroup, phase: JoinPhase, member: Member, parked: ParkedRequest, out: GroupOutcome) -> None:
    earlier = phase.tickets.get(member.member_id)
    if earlier is not None:
        # The client asks again because it gave the first request up; a client that still waits for that shall retry too.
        _refuse_join(member.member_id, earlier, ErrorCode.REBALANCE_IN_PROGRESS, out)
    phase.tickets[member.member_id] = parked
    group.members[member.member_id] = member
    if member.instance_id is not None:
        group.member_id_of_instance[member.instance_id] = member.member_id


def remove_member(group: ClassicGroup, member_id: str, code: ErrorCode, out: GroupOutcome) -> None:
    """Removes a member and answers its waiting requests with the code. The caller goes on with `on_members_gone`."""
    member = group.members.pop(member_id)
    if member.instance_id is not None:
        del group.member_id_of_instance[member.instance_id]
    end_session(group, member_id, out)
    group.unsynced.discard(member_id)
    sync = group.parked_syncs.pop(member_id, None)
    if sync is not None:
        out.replies.append(Reply(sync.ticket, SyncGroupResponse(error_code=code)))
    if group.join_phase is not None:
        group.join_phase.newcomers.discard(member_id)
        join = group.join_phase.tickets.pop(member_id, None)
        if join is not None:
            _refuse_join(member_id, join, code, out)


def on_members_gone(group: ClassicGroup, now: Now, out: GroupOutcome) -> None:
    if group.state is not GroupState.EMPTY:
        open_join_phase(group, now, out)
        complete_if_all_joined(group, now, out)


def complete_if_all_joined(group: ClassicGroup, now: Now, out: GroupOutcome) -> None:
    phase = group.join_phase
    if phase is None or phase.is_delayed or group.pending:
        return
    if len(phase.tickets) == len(group.members):
        complete_join_phase(group, phase, now, out)


def on_join_timer(group: ClassicGroup, delay_ms: int, now: Now, out: GroupOutcome) -> None:
    phase = group.join_phase
    if phase is None:
        return
    if now.mono < phase.deadline:
        _wait_until(group, phase, phase.deadline, out)
    elif phase.is_delayed and phase.grew and phase.remaining > 0:
        delay = delay_ms / 1000
        phase.grew = False
        _wait_until(group, phase, now.mono + min(delay, phase.remaining), out)
        phase.remaining = max(phase.remaining - delay, 0.0)
    else:
        complete_join_phase(group, phase, now, out)


def complete_join_phase(group: ClassicGroup, phase: JoinPhase, now: Now, out: GroupOutcome) -> None:
    for member in list(group.members.values()):
        if member.member_id not in phase.tickets and member.instance_id is None:
            remove_member(group, member.member_id, ErrorCode.UNKNOWN_MEMBER_ID, out)
    if group.members and not phase.tickets:
        # Only static members are left and none came: nobody could lead. Their sessions decide.
        _wait_until(group, phase, now.mono + max(group.rebalance_timeout, RETRY_S_MIN), out)
        return
    group.join_phase = None
    out.timers.append(Timer(group.join_timer, None))
    if group.members:
        _begin_generation(group, phase, now, out)
    elif group.stored is not None:
        empty = StoredGroup(group.generation + 1, phase.protocol_type, None, None, (), False, now.wall)
        out.records.append(GroupRecord(group.group_id, empty))


def _begin_generation(group: ClassicGroup, phase: JoinPhase, now: Now, out: GroupOutcome) -> None:
    members = tuple(member._replace(assignment=b"") for member in group.members.values())
    leader = phase.leader if phase.leader in phase.tickets else next(iter(phase.tickets))
    stored = StoredGroup(
        group.generation + 1, phase.protocol_type, choose_protocol(members), leader, members, True, now.wall
    )
    out.records.append(GroupRecord(group.group_id, stored))
    for member_id, parked in phase.tickets.items():
        out.replies.append(Reply(parked.ticket, joined(stored, member_id)))
        renew_session(group, member_id, now, out)
    await_syncs(group, now, out)


def await_syncs(group: ClassicGroup, now: Now, out: GroupOutcome) -> None:
    group.unsynced = set(group.members)
    group.sync_deadline = now.mono + group.rebalance_timeout
    out.timers.append(Timer(group.sync_timer, group.sync_deadline))


def stop_waiting_for_syncs(group: ClassicGroup, out: GroupOutcome) -> None:
    group.unsynced.clear()
    if group.sync_deadline is not None:
        group.sync_deadline = None
        out.timers.append(Timer(group.sync_timer, None))


def on_sync_timer(group: ClassicGroup, now: Now, out: GroupOutcome) -> None:
    """Removes members that joined and never asked for their assignment: they hold partitions that nobody reads."""
    if group.sync_deadline is None:
        return
    if now.mono < group.sync_deadline:
        out.timers.append(Timer(group.sync_timer, group.sync_deadline))
        return
    for member_id in sorted(group.unsynced):
        remove_member(group, member_id, ErrorCode.UNKNOWN_MEMBER_ID, out)
    on_members_gone(group, now, out)


def _send_syncs_back(group: ClassicGroup, now: Now, out: GroupOutcome) -> None:
    for member_id, parked in group.parked_syncs.items():
        refusal = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
        out.replies.append(Reply(parked.ticket, refusal))
        renew_session(group, member_id, now, out)
    group.parked_syncs.clear()
    stop_waiting_for_syncs(group, out)


def _wait_until(group: ClassicGroup, phase: JoinPhase, deadline: float, out: GroupOutcome) -> None:
    phase.deadline = deadline
    out.timers.append(Timer(group.join_timer, deadline))


def _refuse_join(member_id: str, parked: ParkedRequest, code: ErrorCode, out: GroupOutcome) -> None:
    out.replies.append(Reply(parked.ticket, refused_join(member_id, parked.version, code)))
