"""One partition of an internal topic in the hands of its leader, and the event-sourced core whose state it holds.

    request → core decides → records appended as one batch → applied → replies, once the watermark has reached the end
                                                                       of the log that the decision had seen

So nothing is answered that a fail-over could take back, reads included. An append that is refused ends this coordinator:
what it decided is dropped, and whoever leads next, perhaps this broker again, reads the log. Nothing is ever undone.

Which core, and what its records look like, is for `GroupCoordinator` and `TransactionCoordinator` to say.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.base.clock import Now
from headrace.base.errors import DiskFailed, DiskFull, Refused
from headrace.base.outcome import Outcome, Reply, TimerKey
from headrace.broker.coordinators.tickets import Tickets
from headrace.broker.coordinators.timers import Timers
from headrace.broker.disk.log_reading import LogReading, RotFound
from headrace.broker.upkeep.credible_time import DOUBT_SECONDS
from headrace.partition.partition import Partition
from headrace.partition.waiters import REACHED
from headrace.wire.batch import BatchHeader, CorruptBatch
from headrace.wire.codes import ErrorCode

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

logger = logging.getLogger("headrace.coordinator")

# Some hundred records, a few milliseconds: the loop serves others in between.
LOAD_BYTES = 1 << 14

Decided = TypeVar("Decided", bound=Outcome[Any])


class LoggedCoordinator(ABC, Generic[Decided]):
    def __init__(self, broker: "Broker", partition: Partition) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.is_active = False
        self._over = asyncio.Event()
        self._broker = broker
        self._tickets = Tickets()
        self._timers = Timers(broker.deadlines, broker.clock, self._on_timer)
        self._seen_end = 0
        self._began_at = broker.clock.mono()

    # -- the core --------------------------------------------------------------------------------------------------

    @abstractmethod
    def _replay(self, batch: memoryview, header: BatchHeader) -> None:
        """Apply a batch of the log."""

    @abstractmethod
    def _on_loaded(self) -> None: ...

    @abstractmethod
    def _handle(self, command: Any) -> None: ...

    @abstractmethod
    def _decide_timer(self, key: TimerKey, now: Now) -> Decided: ...

    @abstractmethod
    def _batch_of(self, outcome: Decided, now: Now) -> bytes: ...

    @abstractmethod
    def _apply(self, outcome: Decided) -> None: ...

    @abstractmethod
    def expire(self) -> None:
        """Forgets what nobody has used for long."""

    @abstractmethod
    def _refusal(self, request: Any, version: int, code: ErrorCode) -> Any: ...

    # -- beginning and end -------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Read everything that was ever decided; serve once all of it is committed.

        A damaged batch ends this coordinator: served without it, a group would go back to an older offset and a
        transaction to an older outcome. `Rot` finds a replica that has it.
        """
        end = self.partition.log.end_offset
        try:
            await self._replay_all(end)
        except RotFound as found:
            self._broker.rot.on_found(self.partition, found)
            self.give_up()
            return
        if not self._leads_still:
            # A partition that is gone has no files any more, and commits nothing.
            self.give_up()
            return
        assert self.partition.log.end_offset == end, (self.partition.id, end, self.partition.log.end_offset)
        self._seen_end = end
        await self._until_committed(end)
        if not self.is_over:
            self.is_active = True
            self._on_loaded()
            self._handle_held()

    async def _replay_all(self, end: int) -> None:
        reading = LogReading(self.partition.log, end, self._broker.rot.accepted_end(self.partition))
        is_read = False
        while not self.is_over and not is_read:
            # A broker that takes over may have fifty logs to read. A stretch of each in one turn of the loop would cost
            # it its lease, and the next life would begin with the same.
            async with self._broker.loading:
                is_read = not (self._leads_still and self._replay_stretch(reading))
                await asyncio.sleep(0)

    def _replay_stretch(self, reading: LogReading) -> bool:
        """Whether there may be more behind it."""
        batches = reading.next(LOAD_BYTES)
        for header, batch in batches or ():
            try:
                self._replay(batch, header)
            except CorruptBatch as error:
                reading.on_rot(header.base_offset, str(error))
        return batches is not None

    def _handle_held(self) -> None:
        for command in self._tickets.take_held():
            if self.is_active:
                self._handle(command)

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

    async def until_over(self) -> None:
        await self._over.wait()

    def give_up(self) -> None:
        """Gives up: another broker coordinates, or will. Waiting clients are sent to look for it when the turn ends."""
        if self.is_over:
            return
        self._over.set()
        self.is_active = False
        self._timers.stop()
        self.partition.ready.tell([(self, (), ErrorCode.NOT_COORDINATOR)])

    # -- asking ------------------------------------------------------------------------------------------------------

    def withdraw(self, ticket: int) -> None:
        """Forgets a ticket whose client no longer waits. Its decision stands."""
        self._tickets.withdraw(ticket)

    def _handle_when_active(self, command: Any) -> None:
        if self.is_active:
            self._handle(command)
        else:
            self._tickets.hold(command)

    def _on_timer(self, key: TimerKey) -> None:
        if self.is_active:
            self._carry_out(self._decide_timer(key, self._now()))

    def _now(self) -> Now:
        return self._broker.check_lease()

    def _now_to_forget(self) -> Now:
        return self._broker.credible_time.of(self._now())

    def _knows_ages(self, kept_ms: int) -> bool:
        """Whether ages of things kept this long are known. In the first hour they are not: they come from another
        broker's clock, and one of the two may be wrong.
        """
        return self._broker.clock.mono() - self._began_at >= min(kept_ms / 1000, DOUBT_SECONDS)

    # -- doing what was decided --------------------------------------------------------------------------------------

    def _carry_out(self, outcome: Decided) -> None:
        if not self._leads_still:
            # In another epoch somebody else may have written meanwhile: what we know need not be what the log says.
            self.give_up()
            return
        try:
            if outcome.records:
                self._append(outcome)
        except (Refused, DiskFull) as error:
            logger.warning(
                "%(topic)s-%(partition)d: cannot store what was decided, starting over: %(cause)s",
                {**self.partition.id._asdict(), "epoch": self.partition.leader_epoch, "cause": error},
            )
            self.give_up()
            return
        except Exception as bug:
            # Half a decision must not outlive it, and nobody would be answered.
            self.give_up()
            if not isinstance(bug, DiskFailed):
                raise
            # Also where no client's connection would tell it: at the end of a turn, and when a timer goes off.
            self._broker.listeners.on_disk_failed(bug)
            return
        for timer in outcome.timers:
            self._timers.set(timer)
        if outcome.replies and not self.partition.wait(self._seen_end, -1, self, outcome.replies):
            # Not at once: some may be for others than the client whose request this is.
            self.partition.ready.tell([(self, outcome.replies, REACHED)])

    def _append(self, outcome: Decided) -> None:
        """Applied after it is appended, never before: a refused append leaves nothing to undo."""
        now = self._now()
        assert self.partition.leader_epoch == self.leader_epoch, (self.partition.id, self.leader_epoch)
        self._seen_end = self.partition.appends.append_own(bytearray(self._batch_of(outcome, now)), now)
        self._apply(outcome)

    # -- as a waiter on the watermark, and on its own end ------------------------------------------------------------

    def is_waiting(self, replies: Sequence[Reply]) -> bool:
        return self._tickets.are_open(replies)

    def on_reached(self, replies: Sequence[Reply]) -> None:
        self._tickets.answer(replies)

    def on_lost(self, replies: Sequence[Reply], code: int) -> None:
        self.give_up()
        self._tickets.answer_all(lambda each: self._refusal(each.request, each.version, ErrorCode.NOT_COORDINATOR))


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
