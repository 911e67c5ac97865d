"""The ways members leave a consumer group: by themselves, for a while, or because they were not heard of in time."""

from headrace.groups.consumer.decision import Decision
from headrace.groups.consumer.epochs import assign_if_due, bump_epoch
from headrace.groups.consumer.records import (
    LEFT_FOR_A_WHILE,
    CurrentMemberRecord,
    MemberRecord,
    MemberState,
    TargetMemberRecord,
)
from headrace.groups.sessions import end_session


def remove_member(decision: Decision, member_id: str) -> None:
    """Removes a member. The caller goes on with `on_members_removed`."""
    group = decision.group
    if member_id in group.current:
        decision.write(CurrentMemberRecord(group.group_id, member_id, None))
    if member_id in group.target:
        decision.write(TargetMemberRecord(group.group_id, member_id, None))
    decision.write(MemberRecord(group.group_id, member_id, None))
    forget_waits(decision, member_id)
    end_session(group, member_id, decision.out)


def forget_waits(decision: Decision, member_id: str) -> None:
    group = decision.group
    for ends, timer in (
        (group.revocation_ends, group.revocation_timer),
        (group.awaited_joins, group.awaited_join_timer),
        (group.awaited_syncs, group.awaited_sync_timer),
    ):
        if ends.pop(member_id, None) is not None:
            decision.set_timer(timer(member_id), None)


def on_members_removed(decision: Decision) -> None:
    group = decision.group
    bump_epoch(decision)
    if group.members:
        assign_if_due(decision)
    elif group.assign_timer_at is not None:
        group.assign_timer_at = None
        decision.set_timer(group.assign_timer, None)


def leave_for_a_while(decision: Decision, member_id: str) -> None:
    """Notes a static member as away: its partitions stay its own until it is back or its session ends.

    Partitions that it was asked to give up it has given up.
    """
    group = decision.group
    current = group.current_of(member_id)._replace(epoch=LEFT_FOR_A_WHILE, state=MemberState.STABLE, revoking={})
    decision.write(CurrentMemberRecord(group.group_id, member_id, current))
    forget_waits(decision, member_id)
