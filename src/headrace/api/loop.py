"""One pass of a loop over a member's messages, in steps that wait for a tenth of a second at most.

`for` and `async for` drive the same steps: the one in its thread, the other in a thread of the member's own.
"""

import time

from headrace.api.checks import check_whole
from headrace.api.errors import ApiError
from headrace.api.message import Message
from headrace.api.reader import POLL_SECONDS, MemberReader

OUTAGE_SECONDS = 30.0


class Loop:
    def __init__(
        self, reader: MemberReader, messages_max: int, wait_seconds: float, idle_seconds: float | None = None
    ) -> None:
        check_whole("messages_max", messages_max, 1)
        self._reader = reader
        self._messages_max, self._wait_seconds, self._idle_seconds = messages_max, wait_seconds, idle_seconds
        self.is_over = False
        reader.member.check_open()
        reader.loop = self
        reader.read_unfinished_again()
        self._began = time.monotonic()

    def ready(self) -> list[Message]:
        """A batch of what was read already, without a wait; none while the group is to hear of this member."""
        self._check()
        if self._reader.is_stopping or self._reader.member.is_due:
            return []
        return self._grown()

    def poll(self) -> list[Message]:
        """Reads for POLL_SECONDS at most; a batch, if that made one."""
        self._check()
        if self._reader.is_stopping:
            self.is_over = True
            return []
        self._reader.read_more(self._patience())
        if not self._reader.member.was_assigned:
            self._began = time.monotonic()
        batch = self._grown()
        if not batch:
            self._end_if_idle()
        return batch

    def finish(self) -> None:
        """The body has ended: its batch is committed with the next commit, or read again if its transaction failed."""
        self._check()
        if self._reader.commits.is_aborted:
            self._reader.read_unfinished_again()
        else:
            self._reader.commits.finish()
        self._began = time.monotonic()

    def _patience(self) -> float:
        """A batch that has begun waits for more no longer than it may."""
        if not self._reader.inbox.growing:
            return POLL_SECONDS
        return min(POLL_SECONDS, max(0.0, self._began + self._wait_seconds - time.monotonic()))

    def _grown(self) -> list[Message]:
        self._reader.grow(self._messages_max)
        growing = self._reader.inbox.growing
        if growing and (len(growing) >= self._messages_max or self._waited >= self._wait_seconds):
            return self._reader.commits.hand_out()
        return []

    def _end_if_idle(self) -> None:
        """The silence of a cluster that is down is no end: for a while it may come back, then that is told."""
        if self._reader.inbox.growing or self._idle_seconds is None or self._waited < self._idle_seconds:
            return
        outage = self._reader.outage()
        if outage and self._waited > self._idle_seconds + OUTAGE_SECONDS:
            raise outage
        self.is_over = not outage

    @property
    def _waited(self) -> float:
        return time.monotonic() - self._began

    def _check(self) -> None:
        self._reader.member.check_open()
        if self._reader.loop is not self:
            # It would commit what the other one has in hand.
            raise ApiError(
                "another loop over this consumer has begun", "one loop at a time; more members share the work"
            )
