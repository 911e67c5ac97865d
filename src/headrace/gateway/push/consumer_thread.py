"""A consumer with an async face: polled on a thread of its own, what it reads is handed to the event loop.

One batch is handed over at a time: the next one is read when the loop has dealt with the last. While that takes long, the
partitions rest but polling goes on, so a slow taker neither leaves its group nor holds up its rebalances.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from headrace.client.polled_consumer import Order, Pace, PolledConsumer

logger = logging.getLogger("headrace.gateway.push")

# While there is traffic there are orders, which wait for the poll that goes on.
PACE = Pace(idle_seconds=0.5, busy_seconds=0.02, busy_for_seconds=1.0)
BATCH_MESSAGES_MAX = 1000
QUICK_SECONDS = 1.0
REVOKE_SECONDS_MAX = 5.0
OnPartitions = Callable[[list[TopicPartition]], Awaitable[None]]


class ConsumerThread:
    """`on_messages` and the others run on the event loop that made this. Errors of one partition come with its name."""

    def __init__(
        self,
        config: dict[str, Any],
        on_messages: Callable[[list[Message]], Awaitable[None]],
        on_error: Callable[[KafkaError, Message], None],
    ) -> None:
        self._polled = PolledConsumer(config, self._turn, pace=PACE)
        self._consumer = self._polled.consumer
        self._on_messages = on_messages
        self._on_error = on_error
        self._loop = asyncio.get_running_loop()

    def subscribe(
        self,
        topics: Sequence[str],
        on_assigned: OnPartitions,
        on_revoked: OnPartitions,
        begin_at: MutableMapping[int, int] | None = None,
    ) -> None:
        """`begin_at` are offsets, by partition, that go before what the group has committed; each is used once."""

        def assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            self._wait(on_assigned(partitions))
            for each in partitions if begin_at else ():
                each.offset = begin_at.pop(each.partition, each.offset)  # type: ignore[union-attr]
            consumer.incremental_assign(partitions)

        def revoked(_: Consumer, partitions: list[TopicPartition]) -> None:
            self._wait(on_revoked(partitions))
            self._polled.do_orders()

        self._consumer.subscribe(list(topics), on_assign=assigned, on_revoke=revoked, on_lost=revoked)

    def start(self) -> None:
        self._polled.start()

    async def stop(self) -> None:
        """Leaves the group."""
        await self._polled.stop()

    def order(self, what: Order) -> None:
        """Done soon, and not waited for: a commit that fails means that messages are read again."""
        self._polled.order(what)

    # -- the thread --------------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        first = self._poll()
        if first is not None:
            self._hand_over([first, *self._consumer.consume(BATCH_MESSAGES_MAX - 1, 0)])

    def _poll(self) -> Message | None:
        message = self._polled.poll()
        if message is not None:
            self._polled.use()
        return message

    def _hand_over(self, polled: list[Message]) -> None:
        while polled and not self._polled.is_stopping:
            taken = asyncio.run_coroutine_threadsafe(self._take(polled), self._loop)
            polled = [] if _is_done(taken, QUICK_SECONDS) else self._rest_until(taken)

    def _rest_until(self, taken: "Future[None]") -> list[Message]:
        """Messages that still arrive: librdkafka hands out those it had fetched, and those of partitions that are new
        to us.
        """
        arrived = []
        while not self._polled.is_stopping and not taken.done():
            self._consumer.pause(self._consumer.assignment())
            message = self._poll()
            if message is not None:
                arrived.append(message)
        self._consumer.resume(self._consumer.assignment())
        return arrived

    async def _take(self, polled: list[Message]) -> None:
        messages = []
        for message in polled:
            error = message.error()
            if error is None:
                messages.append(message)
            else:
                self._on_error(error, message)
        try:
            if messages:
                await self._on_messages(messages)
        except Exception:
            # The thread goes on: what was not taken was not committed, and is read again by whoever comes next.
            logger.exception("messages were not taken")

    def _wait(self, told: Awaitable[None]) -> None:
        async def tell() -> None:
            await told

        _is_done(asyncio.run_coroutine_threadsafe(tell(), self._loop), REVOKE_SECONDS_MAX)


def _is_done(future: "Future[None]", seconds_max: float) -> bool:
    try:
        future.result(seconds_max)
    except NotYet:
        return False
    return True
