"""The sessions of a classic group, whose members choose how long theirs last."""

from headrace.base.clock import Now
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.outcome import GroupOutcome
from headrace.groups.sessions import set_session

# A newcomer has no session before its first answer, and nobody would notice that its client is gone.
NEWCOMER_WAIT_MS_MAX = 5 * 60_000


def renew_session(group: ClassicGroup, member_id: str, now: Now, out: GroupOutcome) -> None:
    set_session(group, member_id, group.members[member_id].session_timeout_ms, now, out)
