"""One pass of a loop over a member's messages, in steps that wait for a tenth of a second at most.

`for` and `async for` drive the same steps: the one in its thread, the other in a thread of the member's own.
"""

import time
from typing import Protocol

from headrace.api.checks import check_whole
from headrace.api.errors import ApiError
from headrace.api.inbox import Inbox
from headrace.api.message import Message

POLL_SECONDS, OUTAGE_SECONDS = 0.1, 30.0


class LoopMember(Protocol):
    """The part of a consumer that its loop uses."""

    inbox: Inbox
    loop: "Loop | None"

    @property
    def is_stopping(self) -> bool: ...

    @property
    def is_member(self) -> bool: ...

    @property
    def is_aborted(self) -> bool: ...

    @property
    def is_due(self) -> bool: ...

    def check_open(self) -> None: ...

    def read_more(self, seconds: float) -> None: ...

    def grow(self, messages_max: int) -> None: ...

    def hand_out(self) -> list[Message]: ...

    def finish(self) -> None: ...

    def read_unfinished_again(self) -> None: ...

    def outage(self) -> ApiError | None: ...


class Loop:
    def __init__(
        self, member: LoopMember, messages_max: int, wait_seconds: float, idle_seconds: float | None = None
    ) -> None:
        check_whole("messages_max", messages_max, 1)
        self._member = member
        self._messages_max, self._wait_seconds, self._idle_seconds = messages_max, wait_seconds, idle_seconds
        self.is_over = False
        member.check_open()
        member.loop = self
        member.read_unfinished_again()
        self._began = time.monotonic()

    def ready(self) -> list[Message]:
        """A batch of what was read already, without a wait; none while the group is to hear of this member."""
        self._check()
        if self._member.is_stopping or self._member.is_due:
            return []
        return self._grown()

    def poll(self) -> list[Message]:
        """Reads for POLL_SECONDS at most; a batch, if that made one."""
        self._check()
        if self._member.is_stopping:
            self.is_over = True
            return []
        self._member.read_more(self._patience())
        if not self._member.is_member:
            self._began = time.monotonic()
        batch = self._grown()
        if not batch:
            self._end_if_idle()
        return batch

    def finish(self) -> None:
        """The body has ended: its batch is committed with the next commit, or read again if its transaction failed."""
        self._check()
        if self._member.is_aborted:
            self._member.read_unfinished_again()
        else:
            self._member.finish()
        self._began = time.monotonic()

    def _patience(self) -> float:
        """A batch that has begun waits for more no longer than it may."""
        if not self._member.inbox.growing:
            return POLL_SECONDS
        return min(POLL_SECONDS, max(0.0, self._began + self._wait_seconds - time.monotonic()))

    def _grown(self) -> list[Message]:
        self._member.grow(self._messages_max)
        growing = self._member.inbox.growing
        if growing and (len(growing) >= self._messages_max or self._waited >= self._wait_seconds):
            return self._member.hand_out()
        return []

    def _end_if_idle(self) -> None:
        """The silence of a cluster that is down is no end: for a while it may come back, then that is told."""
        if self._member.inbox.growing or self._idle_seconds is None or self._waited < self._idle_seconds:
            return
        outage = self._member.outage()
        if outage and self._waited > self._idle_seconds + OUTAGE_SECONDS:
            raise outage
        self.is_over = not outage

    @property
    def _waited(self) -> float:
        return time.monotonic() - self._began

    def _check(self) -> None:
        self._member.check_open()
        if self._member.loop is not self:
            # It would commit what the other one has in hand.
            raise ApiError(
                "another loop over this consumer has begun", "one loop at a time; more members share the work"
            )
