"""The deadlines of members of a consumer group: to be heard of, and for classic ones to have moved."""

from headrace.base.outcome import TimerKey
from headrace.groups.consumer.decision import Decision
from headrace.groups.consumer.leave import on_members_removed, remove_member
from headrace.groups.sessions import set_session, set_session_timer


def renew_consumer_session(decision: Decision, member_id: str) -> None:
    group = decision.group
    classic = group.members[member_id].classic
    timeout_ms = decision.settings.consumer_session_timeout_ms if classic is None else classic.session_timeout_ms
    set_session(group, member_id, timeout_ms, decision.now, decision.out)


def await_revocation(decision: Decision, member_id: str) -> None:
    group = decision.group
    _await(decision, member_id, group.revocation_ends, group.revocation_timer(member_id))


def await_join(decision: Decision, member_id: str) -> None:
    """Expects the member to join anew, counted from when it was first told."""
    group = decision.group
    if member_id not in group.awaited_joins:
        _await(decision, member_id, group.awaited_joins, group.awaited_join_timer(member_id))


def await_sync(decision: Decision, member_id: str) -> None:
    group = decision.group
    _await(decision, member_id, group.awaited_syncs, group.awaited_sync_timer(member_id))


def _await(decision: Decision, member_id: str, deadlines: dict[str, float], timer: TimerKey) -> None:
    deadlines[member_id] = decision.now.mono + decision.group.members[member_id].rebalance_timeout_ms / 1000
    decision.set_timer(timer, deadlines[member_id])


def stop_awaiting(decision: Decision, member_id: str) -> None:
    """Drops the member's deadlines: it has joined, or synced."""
    group = decision.group
    if group.awaited_joins.pop(member_id, None) is not None:
        decision.set_timer(group.awaited_join_timer(member_id), None)
    if group.awaited_syncs.pop(member_id, None) is not None:
        decision.set_timer(group.awaited_sync_timer(member_id), None)


def on_session_timer(decision: Decision, member_id: str) -> None:
    group = decision.group
    session = group.sessions.get(member_id)
    if session is None:
        return
    if session.deadline > decision.now.mono:
        set_session_timer(group, member_id, session, session.deadline, decision.out)
        return
    remove_member(decision, member_id)
    on_members_removed(decision)


def on_deadline(decision: Decision, member_id: str, deadlines: dict[str, float], timer: TimerKey) -> None:
    """Removes a member that did not do in time what others wait for."""
    ends = deadlines.get(member_id)
    if ends is None:
        return
    if ends > decision.now.mono:
        decision.set_timer(timer, ends)
        return
    remove_member(decision, member_id)
    on_members_removed(decision)
