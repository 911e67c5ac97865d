"""A confluent-kafka Consumer with an async face: polled on a thread of its own, what it reads is handed to the event loop.

One batch is handed over at a time: the next one is read when the loop has dealt with the last. While that takes long, the
partitions rest but polling goes on, so a slow taker neither leaves its group nor holds up its rebalances. Whatever is to
be done with the consumer is done by the thread (`order`): a second caller would have to wait for the poll to end.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

logger = logging.getLogger("headrace.gateway.push")

POLL_SECONDS = 0.5
# While there is traffic there are orders, which wait for the poll that goes on.
BUSY_POLL_SECONDS = 0.02
BUSY_SECONDS = 1.0
BATCH_MESSAGES_MAX = 1000
QUICK_SECONDS = 1.0
REVOKE_SECONDS_MAX = 5.0
CLOSE_SECONDS_MAX = 15.0
OnPartitions = Callable[[list[TopicPartition]], Awaitable[None]]


class ConsumerThread:
    """`on_messages` and the others run on the event loop that made this. Errors of one partition come with its name."""

    def __init__(
        self,
        config: dict[str, Any],
        on_messages: Callable[[list[Message]], Awaitable[None]],
        on_error: Callable[[KafkaError, Message], None],
    ) -> None:
        self._consumer = Consumer({"log_level": 0, "error_cb": _ignore, **config})
        self._orders: deque[Callable[[Consumer], object]] = deque()
        self._busy_until = 0.0
        self._on_messages = on_messages
        self._on_error = on_error
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-consumer", daemon=True)

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
            self._do_orders()

        self._consumer.subscribe(list(topics), on_assign=assigned, on_revoke=revoked, on_lost=revoked)

    def start(self) -> None:
        self._thread.start()

    async def stop(self) -> None:
        """Leaves the group. A consumer that does not let go in time is left to end with the process."""
        if not self._thread.is_alive():
            return
        self._stopping.set()
        try:
            async with asyncio.timeout(CLOSE_SECONDS_MAX):
                await self._ended.wait()
        except TimeoutError:
            pass

    def order(self, what: Callable[[Consumer], object]) -> None:
        """Done soon, and not waited for: a commit that fails means that messages are read again."""
        self._orders.append(what)

    # -- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                first = self._poll()
                if first is not None:
                    self._hand_over([first, *self._consumer.consume(BATCH_MESSAGES_MAX - 1, 0)])
            self._do_orders()
            self._consumer.close()
        finally:
            try:
                self._loop.call_soon_threadsafe(self._ended.set)
            except RuntimeError:
                pass  # the loop has ended before us

    def _poll(self) -> Message | None:
        self._do_orders()
        busy = time.monotonic() < self._busy_until
        message = self._consumer.poll(BUSY_POLL_SECONDS if busy else POLL_SECONDS)
        if message is not None:
            self._busy_until = time.monotonic() + BUSY_SECONDS
        return message

    def _do_orders(self) -> None:
        while self._orders:
            self._busy_until = time.monotonic() + BUSY_SECONDS
            try:
                self._orders.popleft()(self._consumer)
            except KafkaException as error:
                logger.info("not done by the consumer: %(cause)s", {"cause": error})

    def _hand_over(self, polled: list[Message]) -> None:
        while polled and not self._stopping.is_set():
            taken = asyncio.run_coroutine_threadsafe(self._take(polled), self._loop)
            polled = [] if _is_done(taken, QUICK_SECONDS) else self._rest_until(taken)

    def _rest_until(self, taken: "Future[None]") -> list[Message]:
        """Messages that still arrive: librdkafka hands out those it had fetched, and those of partitions that are new
        to us.
        """
        arrived = []
        while not self._stopping.is_set() and not taken.done():
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


def _ignore(_: object) -> None:
    """librdkafka tries again by itself; what concerns a partition comes as a message."""
