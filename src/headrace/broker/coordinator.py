"""One partition of `__consumer_offsets` in the hands of its leader: the groups whose state it holds.

    request → groups.handle → records appended as one batch → applied → replies, once the watermark has reached the end
                                                                        of the log that the decision had seen

So nothing is answered that a fail-over could take back, reads included. An append that is refused ends this coordinator:
what it decided is dropped, and whoever leads next, perhaps this broker again, reads the log. Nothing is ever undone.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.base.clock import Now
from headrace.base.errors import DiskFull, Refused
from headrace.base.ids import ZERO_ID
from headrace.broker.deadlines import Deadline
from headrace.broker.partition import Partition
from headrace.groups.coordinator import Groups
from headrace.groups.outcome import Command, Outcome, Reply, Timer, TimerKey
from headrace.groups.records import Record, decode, encode
from headrace.groups.refusals import refused
from headrace.wire.batch import iter_headers
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Record as LogRecord
from headrace.wire.records import build_batch, read_records
from headrace.wire.schema import Response

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

log = logging.getLogger("headrace.coordinator")

LOAD_BYTES = 1 << 20
# A member id is stored with its group; a client's name must not make that large.
NAMED_AFTER_MAX = 255


class Asked(NamedTuple):
    """A question that is not answered yet."""

    request: Any
    version: int
    answer: Callable[[Response], None]


class Coordinator:
    def __init__(self, broker: "Broker", partition: Partition, groups: Groups) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.groups = groups
        self.is_active = False
        self._over = asyncio.Event()
        self._broker = broker
        self._asked: dict[int, Asked] = {}
        self._asked_early: list[Command] = []
        self._next_ticket = 0
        self._timers: dict[TimerKey, Deadline] = {}
        self._seen_end = 0

    # -- beginning and end -------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Read everything that was ever decided; serve once all of it is committed."""
        log_ = self.partition.log
        offset, end = log_.start_offset, log_.end_offset
        while offset < end and not self.is_over:
            found = log_.read(offset, LOAD_BYTES, end)
            if found is None:
                break
            data, offset = found.read(), found.next_offset
            found.release()
            self._apply_batches(data)
            await asyncio.sleep(0)
        self._seen_end = end
        await self._until_committed(end)
        if not self.is_over:
            self.is_active = True
            self._carry_out(self.groups.on_loaded(self._now()))
            self.forget_deleted_topics()
            self._answer_early()

    def _answer_early(self) -> None:
        commands, self._asked_early = self._asked_early, []
        for command in commands:
            if self.is_active:
                self._carry_out(self.groups.handle(command, self._now()))

    def _apply_batches(self, data: bytes) -> None:
        for position, header in iter_headers(data):
            if header.is_control:
                continue
            for record in read_records(memoryview(data)[position : position + header.size]):
                decoded = decode(record.key, record.value)
                if decoded is not None:
                    self.groups.apply(decoded)

    async def _until_committed(self, end: int) -> None:
        committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.partition.wait(end, -1, _Committed(committed), None):
            await committed

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    async def until_over(self) -> None:
        await self._over.wait()

    def give_up(self) -> None:
        """Somebody else coordinates, or will. Whoever waits is sent to look for them."""
        if self.is_over:
            return
        self._over.set()
        self.is_active = False
        for timer in self._timers.values():
            timer.cancel()
        asked, self._asked = self._asked, {}
        for each in asked.values():
            each.answer(refused(each.request, each.version, ErrorCode.NOT_COORDINATOR))

    # -- asking ------------------------------------------------------------------------------------------------------

    def ask(
        self, request: Any, version: int, client_id: str, client_host: str, answer: Callable[[Response], None]
    ) -> None:
        if self.is_over:
            answer(refused(request, version, ErrorCode.NOT_COORDINATOR))
            return
        self._next_ticket += 1
        ticket = self._next_ticket
        self._asked[ticket] = Asked(request, version, answer)
        named_after = getattr(request, "group_instance_id", None) or client_id
        fresh_id = f"{named_after[:NAMED_AFTER_MAX]}-{self._broker.new_uuid()}"
        command = Command(ticket, request, version, client_id, client_host, fresh_id)
        if self.is_active:
            self._carry_out(self.groups.handle(command, self._now()))
        else:
            # It waits for the log to be read: librdkafka, once refused, comes back only after three seconds.
            self._asked_early.append(command)

    def expire(self) -> None:
        if self.is_active:
            self._carry_out(self.groups.expire(self._now()))

    def forget_deleted_topics(self) -> None:
        """Offsets of topics that are gone, or that were made anew since under the same name."""
        topics = self._broker.image.topics

        def is_gone(name: str, topic_id: bytes) -> bool:
            topic = topics.get(name)
            return topic is None or topic_id not in (ZERO_ID, topic.id)

        if self.is_active:
            self._carry_out(self.groups.on_topics_deleted(is_gone))

    def _on_timer(self, key: TimerKey) -> None:
        self._timers.pop(key, None)
        if self.is_active:
            self._carry_out(self.groups.on_timer(key, self._now()))

    def _now(self) -> Now:
        return self._broker.check_lease()

    # -- doing what was decided --------------------------------------------------------------------------------------

    def _carry_out(self, outcome: Outcome) -> None:
        try:
            if outcome.records:
                self._append(outcome.records)
        except (Refused, DiskFull) as error:
            log.warning("%s: cannot store what was decided, starting over: %s", self.partition.id, error)
            self.give_up()
            return
        for timer in outcome.timers:
            self._set_timer(timer)
        if outcome.replies and not self.partition.wait(self._seen_end, -1, self, outcome.replies):
            self._send(outcome.replies)

    def _append(self, records: list[Record]) -> None:
        now = self._now()
        pairs = [encode(record) for record in records]
        batch = build_batch([LogRecord(timestamp=now.wall, key=key, value=value) for key, value in pairs])
        self._seen_end = self.partition.append_own(bytearray(batch), now)
        for record in records:
            self.groups.apply(record)

    def _set_timer(self, timer: Timer) -> None:
        known = self._timers.pop(timer.key, None)
        if known is not None:
            known.cancel()
        if timer.at is not None:
            seconds = max(0.0, timer.at - self._broker.clock.now().mono)
            self._timers[timer.key] = self._broker.deadlines.after(seconds, lambda: self._on_timer(timer.key))

    def _send(self, replies: list[Reply]) -> None:
        for reply in replies:
            asked = self._asked.pop(reply.ticket, None)
            if asked is not None:
                asked.answer(reply.response)

    # -- as a waiter on the watermark --------------------------------------------------------------------------------

    def on_reached(self, replies: list[Reply]) -> None:
        self._send(replies)

    def on_lost(self, replies: list[Reply], code: int) -> None:
        self.give_up()


class _Committed:
    def __init__(self, future: "asyncio.Future[None]") -> None:
        self._future = future

    def on_reached(self, part: object) -> None:
        if not self._future.done():
            self._future.set_result(None)

    def on_lost(self, part: object, code: int) -> None:
        self.on_reached(part)
