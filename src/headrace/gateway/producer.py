"""confluent-kafka's Producer with an async face: what is sent is awaited, and many senders share its batches.

librdkafka tells of deliveries only to whoever polls it. The event loop does that itself, every millisecond while
something is in flight and not at all otherwise: a thread of ours would fight it for the interpreter. A full queue is
not waited for: `BufferError` says at once that the caller should come back later.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

TICK_SECONDS = 0.001
Headers = list[tuple[str, str | bytes | None]]


class Outgoing(NamedTuple):
    """Partition -1 leaves the choice to the key's hash, timestamp 0 means now."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers | None = None
    partition: int = -1
    timestamp: int = 0


class Delivered(NamedTuple):
    partition: int
    offset: int
    timestamp: int


class _Receipt:
    """What came of the messages of one call; its future is done when all of them are settled."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.results: list[Message | KafkaError | None] = [None] * count
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_delivery(self, index: int, error: KafkaError | None, message: Message | None) -> None:
        # Kept as it is: it is opened when all are there, in one go.
        self.results[index] = error or message
        self.left -= 1
        if not self.left and not self.settled.done():
            self.settled.set_result(None)

    def outcome(self) -> list[Delivered | KafkaError]:
        return [result if isinstance(result, KafkaError) else _place(result) for result in self.results]


def _place(message: Message | None) -> Delivered:
    assert message is not None, "all are settled"
    partition, offset = message.partition(), message.offset()
    assert partition is not None and offset is not None, "what is delivered has a place"
    return Delivered(partition, offset, message.timestamp()[1])


class AsyncProducer:
    """Used from one event loop only."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._producer = Producer({"log_level": 0, "error_cb": _ignore, **config})
        self._loop = asyncio.get_running_loop()
        self._tick: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Headers | None = None,
        partition: int = -1,
        timestamp: int = 0,
    ) -> Delivered:
        """KafkaException when it was refused, or not acknowledged in time; then it may be in the log or not."""
        (result,) = await self.send_all(topic, [Outgoing(value, key, headers, partition, timestamp)])
        if isinstance(result, KafkaError):
            raise KafkaException(result)
        return result

    async def send_all(self, topic: str, messages: Sequence[Outgoing]) -> list[Delivered | KafkaError]:
        """In the order of the messages. BufferError if the queue is full for the first of them."""
        receipt = _Receipt(len(messages))
        produce = self._producer.produce
        for index, (value, key, headers, partition, timestamp) in enumerate(messages):
            on_delivery = partial(receipt.on_delivery, index)
            try:
                produce(topic, value, key, partition, on_delivery, timestamp=timestamp, headers=headers)
            except BufferError:
                if index == 0:
                    raise
                receipt.on_delivery(index, KafkaError(KafkaError._QUEUE_FULL), None)
            except KafkaException as error:
                receipt.on_delivery(index, error.args[0], None)
        self._watch()
        if receipt.left:
            await receipt.settled
        return receipt.outcome()

    def _watch(self) -> None:
        if self._tick is None:
            self._idle.clear()
            self._tick = self._loop.call_later(TICK_SECONDS, self._on_tick)

    def _on_tick(self) -> None:
        self._tick = None
        self._producer.poll(0)
        if len(self._producer):
            self._watch()
        else:
            self._idle.set()

    async def close(self, seconds_max: float) -> None:
        """Waits for what is in flight, up to a limit; what is not acknowledged by then is given up."""
        if self._tick is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), seconds_max)
        self._producer.purge()
        self._producer.poll(0)
        if self._tick is not None:
            self._tick.cancel()


def _ignore(_: object) -> None:
    """librdkafka tries again by itself; what fails for good comes with the delivery."""
