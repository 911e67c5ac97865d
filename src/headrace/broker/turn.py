"""The end of a turn of the loop: what the calls on partitions left to do is carried out, once, in the order of `Ready`.

    a call ─▶ marks in `Ready` ─▶ end of the turn, or of a round of syncs: sync · copiers · told · readers · proposals

One bug must not rob the others of their answers: it is counted, and told in the log. A disk that failed stops the broker,
and so does a bug that leaves a turn half carried out.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

from headrace.base.errors import DiskFailed
from headrace.base.probe import Probes
from headrace.broker.disk.flusher import Flusher
from headrace.partition.partition import Partition
from headrace.partition.ready import Ready, Sleeper
from headrace.partition.waiters import REACHED, Told
from headrace.replica.proposal import Proposal
from headrace.wire.codes import ErrorCode

logger = logging.getLogger("headrace.turn")


class Turn:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        ready: Ready[Partition],
        flusher: Flusher,
        has_lease: Callable[[], bool],
        propose: Callable[[Partition, Proposal], None],
        probes: Probes,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        """`has_lease` fences the broker when its lease ran out: then nobody is told that an offset was reached."""
        self._ready = ready
        self._flusher = flusher
        self._has_lease = has_lease
        self._propose = propose
        self._probes = probes
        self._on_failure = on_failure
        # All the frames that one read brought in share a turn, and with it a round of syncs.
        ready.on_due(lambda: loop.call_soon(self._end))
        flusher.on_round(self.carry_out)

    def _end(self) -> None:
        try:
            self.carry_out()
        except Exception as bug:
            # As in a round of syncs: whoever was not told yet would wait for ever.
            self._on_failure(bug)

    def carry_out(self) -> None:
        due = self._ready.take()
        self._flusher.begin()
        self._wake(due.copiers)
        if due.told:
            self._tell(due.told)
        self._wake(due.readers)
        for partition, proposal in due.proposals.items():
            self._propose(partition, proposal)

    def _tell(self, told: Iterable[Told]) -> None:
        has_lease = self._has_lease()
        for waiter, part, code in told:
            try:
                if code == REACHED and has_lease:
                    waiter.on_reached(part)
                else:
                    waiter.on_lost(part, code or ErrorCode.NOT_LEADER_OR_FOLLOWER)
            except Exception as bug:
                self._on_bug(waiter, bug)

    def _wake(self, sleepers: Iterable[Sleeper]) -> None:
        for sleeper in sleepers:
            try:
                sleeper.wake()
            except Exception as bug:
                self._on_bug(sleeper, bug)

    def _on_bug(self, whose: Any, bug: Exception) -> None:
        if isinstance(bug, DiskFailed):
            self._on_failure(bug)
            return
        self._probes.handler_failures += 1
        logger.error("%(request)s: %(cause)s", {"request": type(whose).__name__, "cause": bug}, exc_info=bug)

    async def until_synced(self) -> None:
        """Returns when all that was written is on disk, and everybody was told; raises when that will never be."""
        self.carry_out()
        await self._flusher.until_idle()
