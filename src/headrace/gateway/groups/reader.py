"""The consumer of one session: polled on a thread of its own into a small buffer, from which callers take.

Polling goes on for as long as the session lives, so no rebalance of the group waits for a slow caller; while the buffer
is full the partitions rest. What is revoked leaves the buffer before anybody else may be given the partition: a message
that another member reads by now is never given out.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from headrace.admin.groups import NewCommit
from headrace.base.ids import TopicPartition
from headrace.client.polled_consumer import Pace, PolledConsumer

PACE = Pace(idle_seconds=0.25, busy_seconds=0.01, busy_for_seconds=2.0)
BUFFER_MESSAGES_MAX = 1000
BUFFER_BYTES_MAX = 4 << 20
ERRORS_MAX = 10

Refusals = dict[TopicPartition, KafkaError]


class Busy(Exception):
    """A commit is still unanswered; which of two came first could not be told."""


class GroupReader:
    def __init__(self, config: dict[str, Any]) -> None:
        config = {"on_commit": self._on_commit, **config}
        self._polled = PolledConsumer(config, self._turn, pace=PACE, on_failure=self._on_failure)
        self._consumer = self._polled.consumer
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._buffer: deque[Message] = deque()
        self._buffer_bytes = 0
        self._last: list[Message] = []
        self._assigned: set[TopicPartition] = set()
        self._revoked: set[TopicPartition] = set()
        self._errors: deque[str] = deque(maxlen=ERRORS_MAX)
        self._rests = False
        self._committing: asyncio.Future[Refusals] | None = None
        self._arrived = asyncio.Event()
        self.rebalances = 0
        self.fatal: KafkaError | None = None

    def subscribe(self, topics: list[str]) -> None:
        """KafkaException when an expression is none. Call it once, before `start`."""
        self._consumer.subscribe(topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke)

    def start(self) -> None:
        self._polled.start()

    async def stop(self) -> None:
        """Leaves the group."""
        await self._polled.stop()

    # -- for the event loop ------------------------------------------------------------------------------------------

    async def until_arrived(self, seconds_max: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds_max):
                while not self._buffer and self.fatal is None and not self._polled.is_stopping:
                    await self._arrived.wait()
                    self._arrived.clear()

    def take(self, count: int, bytes_max: int) -> list[Message]:
        """Messages that have arrived: at least one, if there is any."""
        self._polled.use()
        taken: list[Message] = []
        size = 0
        with self._lock:
            while self._buffer and len(taken) < count:
                size += _size(self._buffer[0])
                if taken and size > bytes_max:
                    break
                taken.append(self._buffer.popleft())
                self._buffer_bytes -= _size(taken[-1])
            self._last = taken
        return taken

    @property
    def last_taken(self) -> list[Message]:
        """The messages of the last `take`, as far as their partitions are still assigned to this reader."""
        with self._lock:
            return self._last

    @property
    def assigned(self) -> list[TopicPartition]:
        with self._lock:
            return sorted(self._assigned)

    def take_news(self) -> tuple[list[TopicPartition], list[str]]:
        """Partitions that were revoked, and what the cluster complained of, since the last time."""
        with self._lock:
            revoked, self._revoked = sorted(self._revoked), set()
            errors = list(self._errors)
            self._errors.clear()
        return revoked, errors

    async def commit(self, places: Mapping[TopicPartition, NewCommit], seconds_max: float) -> Refusals:
        """The refusals of this commit. Raises TimeoutError without an answer in time; whether it was stored is then
        unknown.
        """
        if self._committing is not None:
            raise Busy
        self._committing = answer = self._loop.create_future()
        self._polled.use()
        offsets = [KafkaPartition(*id, place.offset, metadata=place.metadata) for id, place in places.items()]
        self._polled.order(lambda _: self._commit(offsets))
        async with asyncio.timeout(seconds_max):
            return await asyncio.shield(answer)

    def _on_committed(self, refused: Refusals) -> None:
        answer, self._committing = self._committing, None
        if answer is not None and not answer.done():
            answer.set_result(refused)

    # -- the thread --------------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        self._rest_if_full()
        message = self._polled.poll()
        if message is not None:
            self._on_message(message)

    def _on_failure(self, error: Exception) -> None:
        """Notes a failure for the next poll, which is told that the session is at its end."""
        self.fatal = KafkaError(KafkaError._FAIL, str(error))
        self._polled.tell(self._arrived.set)

    def _commit(self, offsets: list[KafkaPartition]) -> None:
        try:
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as failure:
            self._on_commit(failure.args[0], offsets)

    def _rest_if_full(self) -> None:
        if len(self._buffer) >= BUFFER_MESSAGES_MAX or self._buffer_bytes >= BUFFER_BYTES_MAX:
            # Each time: a partition that was just given to us does not rest yet.
            self._consumer.pause(self._consumer.assignment())
            self._rests = True
        elif self._rests:
            self._consumer.resume(self._consumer.assignment())
            self._rests = False

    def _on_message(self, message: Message) -> None:
        error = message.error()
        with self._lock:
            if error is None:
                self._buffer.append(message)
                self._buffer_bytes += _size(message)
            else:
                self._errors.append(f"{error.name()}: {error.str()}")
                self.fatal = error if error.fatal() else self.fatal
        if error is None or self.fatal is not None:
            self._polled.tell(self._arrived.set)

    def _on_assign(self, _: Consumer, partitions: list[KafkaPartition]) -> None:
        with self._lock:
            self._assigned.update(TopicPartition(each.topic, each.partition) for each in partitions)
            self.rebalances += 1

    def _on_revoke(self, _: Consumer, partitions: list[KafkaPartition]) -> None:
        gone = {TopicPartition(each.topic, each.partition) for each in partitions}
        with self._lock:
            self._assigned -= gone
            self._revoked |= gone
            self._last = [message for message in self._last if partition_of(message) not in gone]
            self._buffer = deque(message for message in self._buffer if partition_of(message) not in gone)
            self._buffer_bytes = sum(map(_size, self._buffer))
            self.rebalances += 1

    def _on_commit(self, error: KafkaError | None, partitions: list[KafkaPartition]) -> None:
        refused = {
            TopicPartition(each.topic, each.partition): each.error or error
            for each in partitions
            if each.error is not None or error is not None
        }
        self._polled.tell(self._on_committed, refused)


def partition_of(message: Message) -> TopicPartition:
    topic, partition = message.topic(), message.partition()
    assert topic is not None and partition is not None, "what was read has a place"
    return TopicPartition(topic, partition)


def _size(message: Message) -> int:
    return len(message.value() or b"") + len(message.key() or b"") + 100
