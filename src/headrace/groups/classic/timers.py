"""The timers of a classic group, and those that run again when another coordinator takes it over."""

from headrace.base.clock import Now
from headrace.base.outcome import TimerKey
from headrace.groups.classic.group import ClassicGroup, GroupState
from headrace.groups.classic.heartbeats import on_pending_timer, on_session_timer
from headrace.groups.classic.rebalance import await_syncs, on_join_timer, on_sync_timer, open_join_phase
from headrace.groups.classic.sessions import renew_session
from headrace.groups.outcome import GroupOutcome
from headrace.groups.settings import GroupSettings


def on_classic_timer(group: ClassicGroup, key: TimerKey, settings: GroupSettings, now: Now, out: GroupOutcome) -> None:
    match key:
        case ("session", _, member_id):
            on_session_timer(group, member_id, now, out)
        case ("pending", _, member_id):
            on_pending_timer(group, member_id, now, out)
        case ("join", _):
            on_join_timer(group, settings.group_initial_rebalance_delay_ms, now, out)
        case ("sync", _):
            on_sync_timer(group, now, out)


def on_classic_loaded(group: ClassicGroup, settings: GroupSettings, now: Now, out: GroupOutcome) -> None:
    """Starts the timers of a loaded group: its members go on in their generation."""
    for member_id in group.members:
        renew_session(group, member_id, now, out)
    if group.state is GroupState.COMPLETING_REBALANCE:
        await_syncs(group, now, out)
    if len(group.members) > settings.group_max_size:
        open_join_phase(group, now, out)
