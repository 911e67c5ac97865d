"""The timers of a consumer group, and those that run again when another coordinator takes it over."""

from headrace.base.outcome import TimerKey
from headrace.groups.consumer.decision import Decision
from headrace.groups.consumer.epochs import assign_if_due, bump_if_topics_changed, on_assign_timer
from headrace.groups.consumer.records import MemberState
from headrace.groups.consumer.sessions import await_revocation, on_deadline, on_session_timer, renew_consumer_session


def on_consumer_timer(decision: Decision, key: TimerKey) -> None:
    group = decision.group
    match key:
        case ("session", _, member_id):
            on_session_timer(decision, member_id)
        case ("revocation", _, member_id):
            on_deadline(decision, member_id, group.revocation_ends, key)
        case ("awaited join", _, member_id):
            on_deadline(decision, member_id, group.awaited_joins, key)
        case ("awaited sync", _, member_id):
            on_deadline(decision, member_id, group.awaited_syncs, key)
        case ("assign", _):
            on_assign_timer(decision)


def on_consumer_loaded(decision: Decision) -> None:
    """Starts the timers of a loaded group: every member goes on with its assignment, in full time."""
    group = decision.group
    for member_id in group.members:
        renew_consumer_session(decision, member_id)
        if group.current_of(member_id).state is MemberState.UNREVOKED_PARTITIONS:
            await_revocation(decision, member_id)
    if group.members:
        bump_if_topics_changed(decision)
        assign_if_due(decision)
