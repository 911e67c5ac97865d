"""The session of a member: the time until which it counts as alive.

Its timer may go off before that, and then looks again: a heartbeat sets none.
"""

from typing import Protocol

from headrace.base.clock import Now
from headrace.base.outcome import Timer, TimerKey
from headrace.groups.outcome import GroupOutcome


class Session:
    """A member's session: alive until `deadline`. The timer may be set earlier, and looks again when it goes off.

    So a heartbeat costs no timer.
    """

    __slots__ = ("deadline", "timer_at")

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.timer_at = deadline


class HasSessions(Protocol):
    """A group of either kind."""

    @property
    def sessions(self) -> dict[str, Session]: ...

    def session_timer(self, member_id: str) -> TimerKey: ...


def set_session(group: HasSessions, member_id: str, timeout_ms: int, now: Now, out: GroupOutcome) -> None:
    deadline = now.mono + timeout_ms / 1000
    session = group.sessions.get(member_id)
    if session is None:
        group.sessions[member_id] = Session(deadline)
        out.timers.append(Timer(group.session_timer(member_id), deadline))
        return
    session.deadline = deadline
    if deadline < session.timer_at:
        set_session_timer(group, member_id, session, deadline, out)


def set_session_timer(group: HasSessions, member_id: str, session: Session, at: float, out: GroupOutcome) -> None:
    session.timer_at = at
    out.timers.append(Timer(group.session_timer(member_id), at))


def end_session(group: HasSessions, member_id: str, out: GroupOutcome) -> None:
    if group.sessions.pop(member_id, None) is not None:
        out.timers.append(Timer(group.session_timer(member_id), None))
