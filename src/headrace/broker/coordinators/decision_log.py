"""The decisions of one coordinator, in the log of the partition that its broker leads.

    the core decides → records appended as one batch → applied → replies, once the watermark has reached the end of the log
                                                                 that the decision had seen

So nothing is answered that a fail-over could take back, reads included, and nobody in another client's stack: replies leave
at the end of the turn. An append that is refused ends the coordinator: what it decided is dropped, and whoever leads next,
perhaps this broker again, reads the log. Nothing is ever undone.

Which core, and what its records look like, is not known here: `Core`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from headrace.base.clock import Now
from headrace.base.errors import DiskFailed, DiskFull, Refused
from headrace.base.outcome import Outcome, Reply
from headrace.broker.coordinators.log_replay import LogReplay, Replayed
from headrace.broker.coordinators.tickets import Tickets
from headrace.broker.coordinators.timers import Timers
from headrace.partition.partition import Partition
from headrace.partition.waiters import REACHED, Waiter
from headrace.wire.codes import ErrorCode

logger = logging.getLogger("headrace.coordinator")

Decided = TypeVar("Decided", bound=Outcome[Any])
Applied = TypeVar("Applied", bound=Outcome[Any], contravariant=True)


class Core(Replayed, Protocol[Applied]):
    """A core as its log sees it."""

    def batch_of(self, outcome: Applied, now: Now) -> bytes: ...

    def apply(self, outcome: Applied) -> None: ...

    def refusal(self, request: Any, version: int, code: ErrorCode) -> Any: ...


class DecisionLog(Generic[Decided]):
    def __init__(
        self,
        partition: Partition,
        core: Core[Decided],
        tickets: Tickets,
        timers: Timers,
        check_lease: Callable[[], Now],
        on_disk_failed: Callable[[DiskFailed], None],
    ) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.is_active = False
        self._core = core
        self._tickets = tickets
        self._timers = timers
        self._check_lease = check_lease
        self._on_disk_failed = on_disk_failed
        self._seen_end = 0
        self._over = asyncio.Event()

    # -- beginning and end -------------------------------------------------------------------------------------------

    async def load(self, replay: LogReplay) -> bool:
        """Reads everything that was ever decided; whether its coordinator serves, now that all of it is committed."""
        end = self.partition.log.end_offset
        try:
            is_read = await replay.until_read(self.partition, end, self._core, self._goes_on)
        except Exception:
            # Its clients are sent away rather than left waiting.
            self.resign()
            raise
        if not (is_read and self._goes_on()):
            # A partition that is gone has no files any more, and commits nothing.
            self.resign()
            return False
        assert self.partition.log.end_offset == end, (self.partition.id, end, self.partition.log.end_offset)
        self._seen_end = end
        await self._until_committed(end)
        self.is_active = not self.is_over
        return self.is_active

    async def _until_committed(self, end: int) -> None:
        committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.partition.wait(end, -1, _Committed(committed), None):
            await committed

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    @property
    def _leads_still(self) -> bool:
        return self.partition.is_leader and self.partition.leader_epoch == self.leader_epoch

    def _goes_on(self) -> bool:
        return self._leads_still and not self.is_over

    async def until_over(self) -> None:
        await self._over.wait()

    def resign(self) -> None:
        """Gives up: another broker coordinates, or will. Waiting clients are sent to look for it when the turn ends."""
        if self.is_over:
            return
        self._over.set()
        self.is_active = False
        self._timers.stop()
        self.partition.ready.tell([(self, (), ErrorCode.NOT_COORDINATOR)])

    # -- deciding, and doing what was decided ------------------------------------------------------------------------

    def decide(self, decision: Callable[[Now], Decided]) -> Decided:
        """A decision of the core, to be carried out. Half a decision must not outlive the bug that broke it off: the log
        knows nothing of it."""
        now = self._check_lease()
        try:
            return decision(now)
        except Exception:
            self.resign()
            raise

    def carry_out(self, outcome: Decided) -> bool:
        """Whether it is appended and applied, and the coordinator goes on; its replies wait for the watermark."""
        if self.is_over:
            return False
        if not self._leads_still:
            # In another epoch somebody else may have written meanwhile: what we know need not be what the log says.
            self.resign()
            return False
        try:
            if outcome.records:
                self._append(outcome)
        except (Refused, DiskFull) as error:
            logger.warning(
                "%(topic)s-%(partition)d: cannot store what was decided, starting over: %(cause)s",
                {**self.partition.id._asdict(), "epoch": self.partition.leader_epoch, "cause": error},
            )
            self.resign()
            return False
        except Exception as bug:
            # Half a decision must not outlive it, and nobody would be answered.
            self.resign()
            if not isinstance(bug, DiskFailed):
                raise
            # Also where no client's connection would tell it: at the end of a turn, and when a timer goes off.
            self._on_disk_failed(bug)
            return False
        for timer in outcome.timers:
            self._timers.set(timer)
        if outcome.replies and not self.wait(self, outcome.replies):
            # Not at once: some may be for others than the client whose request this is.
            self.partition.ready.tell([(self, outcome.replies, REACHED)])
        return not self.is_over

    def _append(self, outcome: Decided) -> None:
        """Applied after it is appended, never before: a refused append leaves nothing to undo."""
        now = self._check_lease()
        assert self.partition.leader_epoch == self.leader_epoch, (self.partition.id, self.leader_epoch)
        end = self.partition.appends.append_own(bytearray(self._core.batch_of(outcome, now)), now)
        assert end > self._seen_end, (self.partition.id, end, self._seen_end)
        self._seen_end = end
        self._core.apply(outcome)

    def on_appended(self, end: int) -> None:
        """Notes what was appended beside the decisions, and that the state has seen: answers wait for it too."""
        self._seen_end = max(self._seen_end, end)

    def wait(self, waiter: Waiter, part: Any) -> bool:
        """Whether the waiter has to wait, until all that the state has seen is committed."""
        return self.partition.wait(self._seen_end, -1, waiter, part)

    # -- as a waiter on the watermark, and on its own end ------------------------------------------------------------

    def is_waiting(self, replies: Sequence[Reply]) -> bool:
        return self._tickets.are_open(replies)

    def on_reached(self, replies: Sequence[Reply]) -> None:
        self._tickets.answer(replies)

    def on_lost(self, replies: Sequence[Reply], code: int) -> None:
        self.resign()
        self._tickets.answer_all(lambda each: self._core.refusal(each.request, each.version, ErrorCode.NOT_COORDINATOR))


class _Committed:
    def __init__(self, future: "asyncio.Future[None]") -> None:
        self._future = future

    def is_waiting(self, part: object) -> bool:
        return not self._future.done()

    def on_reached(self, part: object) -> None:
        if not self._future.done():
            self._future.set_result(None)

    def on_lost(self, part: object, code: int) -> None:
        self.on_reached(part)
