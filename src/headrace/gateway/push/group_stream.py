"""A listener that is a member of a consumer group: its share of a topic's partitions, from where the group has got to.

Members anywhere (other listeners, other programs) share the partitions with it. What it was sent is committed when the
connection has taken it, or where the client says so, when it says so. An id begins its partitions again behind what may
have been lost on the way; without one the group's commits decide.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Position

from headrace.gateway.gateway import Gateway
from headrace.gateway.push.block import Block, Event
from headrace.gateway.push.consumer_thread import ConsumerThread
from headrace.gateway.push.feed import parts
from headrace.gateway.push.positions import Positions, format_positions
from headrace.gateway.push.records import record_of
from headrace.gateway.push.stream import Ended

QUIET_SECONDS_MAX = 15.0
Start = Literal["latest", "earliest"]


class GroupStream:
    def __init__(
        self, gateway: Gateway, group: str, topic: str, start: Start, after: Positions, commits_itself: bool
    ) -> None:
        self.on_end: Callable[[], object] = lambda: None
        self._topic = topic
        self._commits_itself = commits_itself
        self._settings = gateway.settings
        self._positions: dict[int, int] = {}
        self._sent: dict[int, int] = {}
        self._owned: set[int] = set()
        self._arrived: asyncio.Queue[Sequence[Event] | None] = asyncio.Queue(maxsize=1)
        self._ended = ""
        self._failure: KafkaError | None = None
        self._sending_since: float | None = None
        self._begin_at = dict(after)
        self._config = _config(gateway, group, start)
        self._reader: ConsumerThread | None = None

    def start(self) -> None:
        """Joins the group: only who has its place among the listeners may."""
        self._reader = ConsumerThread(self._config, self._on_messages, self._on_error)
        self._reader.subscribe([self._topic], self._on_assigned, self._on_revoked, self._begin_at)
        self._reader.start()

    async def close(self) -> None:
        """Leaves the group, so that the others need not wait for its session to end."""
        if self._reader is not None:
            await self._reader.stop()

    async def next(self) -> Block | None:
        self._sending_since = None
        if self._commits_itself and self._sent:
            self.commit(self._sent)
            self._sent = {}
        try:
            async with asyncio.timeout(QUIET_SECONDS_MAX):
                events = await self._arrived.get()
        except TimeoutError:
            return None
        if self._failure is not None:
            raise KafkaException(self._failure)
        if events is None:
            raise Ended(self._ended)
        return self._block(events)

    def commit(self, positions: Positions) -> None:
        """Commits positions of owned partitions; those that went to another member are for that one to commit."""
        offsets = [Position(self._topic, each, at) for each, at in positions.items() if each in self._owned]
        if offsets and self._reader is not None:
            self._reader.order(lambda consumer: consumer.commit(offsets=offsets, asynchronous=True))

    def _block(self, events: Sequence[Event]) -> Block:
        before, self._positions = self._positions, dict(self._positions)
        for partition, record in events:
            self._positions[partition] = self._sent[partition] = record.offset + 1
        self._sending_since = time.monotonic()
        return Block(before, events, self._positions)

    # -- the hub's side ----------------------------------------------------------------------------------------------

    def sweep(self, now: float) -> None:
        seconds_max = self._settings.push_send_seconds_max
        if self._sending_since is not None and now - self._sending_since > seconds_max:
            self.end(f"nothing was taken for {seconds_max:g} s (push_send_seconds_max)")

    def end(self, reason: str) -> None:
        self._ended = reason
        if self._sending_since is not None:
            self.on_end()
        elif self._arrived.empty():
            self._arrived.put_nowait(None)

    # -- the reader's side -------------------------------------------------------------------------------------------

    async def _on_assigned(self, partitions: Sequence[Position]) -> None:
        self._owned |= {each.partition for each in partitions}

    async def _on_revoked(self, partitions: Sequence[Position]) -> None:
        for each in partitions:
            self._owned.discard(each.partition)
            self._positions.pop(each.partition, None)
            self._sent.pop(each.partition, None)

    async def _on_messages(self, messages: Sequence[Message]) -> None:
        events = [Event(message.partition(), record_of(message)) for message in messages]  # type: ignore[arg-type]
        for part in parts(events, len(format_positions(self._positions))):
            await self._arrived.put(part)

    def _on_error(self, error: KafkaError, _: Message) -> None:
        if error.fatal() or error.code() in _FINAL:
            self._failure = error
            self.end("")


_FINAL = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
}


def _config(gateway: Gateway, group: str, start: Start) -> dict[str, Any]:
    return {
        **gateway.kafka_config(),
        "group.id": group,
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": gateway.settings.group_session_ms,
        "heartbeat.interval.ms": gateway.settings.group_session_ms // 4,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": start,
        "isolation.level": "read_committed",
        "queued.max.messages.kbytes": 4096,
        "fetch.wait.max.ms": 500,
    }
