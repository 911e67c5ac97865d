"""A producer for tasks: `await producer.send()` hands a message over, `await` of what it returned says where it lies."""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import Executor
from types import TracebackType
from typing import Any, Self, Unpack

from headrace.api import delivery as deliveries
from headrace.api import producer as threaded
from headrace.api.aio.threads import finished
from headrace.api.delivery import Delivered
from headrace.api.producer import CLOSE_SECONDS
from headrace.api.room import still_full
from headrace.api.sending import Prepared, SendOptions

# A task that sends without a pause lets the others run after so many messages.
TURN_MESSAGES = 500


class Delivery:
    """The result of one `send`: `await` it, or do not; a failure that nobody asked for is raised by `flush` and `close`."""

    def __init__(self, sent: deliveries.Delivery) -> None:
        self._sent = sent

    def __await__(self) -> Generator[Any, None, Delivered]:
        self._sent.is_asked_for = True
        return (yield from asyncio.wrap_future(self._sent.future).__await__())

    async def result(self, timeout: float | None = None) -> Delivered:  # noqa: ASYNC109, the name of the sync one
        """Waits until the message is stored; raises DeliveryFailed, or TimeoutError while nothing is known yet."""
        async with asyncio.timeout(timeout):
            return await self

    @property
    def done(self) -> bool:
        return self._sent.done


class Producer:
    def __init__(self, sync: threaded.Producer, pool: Executor) -> None:
        self.sync = sync
        self._pool = pool
        self._turn = asyncio.Lock()
        self._since_turn = 0

    async def send(self, topic: str, value: object, **options: Unpack[SendOptions]) -> Delivery:
        """Hands the message over, and waits only while the queue is full. Cancelled, it has handed over nothing."""
        return await self.hand_over(self.sync.prepared(topic, value, options), self.sync.check_open)

    async def hand_over(self, message: Prepared, check: Callable[[], None]) -> Delivery:
        """`check` raises if the message has lost its place meanwhile, as in a transaction that has ended."""
        await self._let_others_run()
        check()
        # Who waits for room is first in line: messages leave in the order of their sends.
        if self._turn.locked() or not self.sync.offer(message):
            try:
                async with asyncio.timeout(self.sync.room_seconds), self._turn:
                    await self._until_taken(message, check)
            except TimeoutError:
                raise still_full(message.topic, self.sync.room_seconds) from None
        return Delivery(message.delivery)

    async def flush(self, timeout: float = CLOSE_SECONDS) -> None:  # noqa: ASYNC109, as above
        """Waits until everything sent is answered; raises the first failure that nobody has asked for."""
        await finished(self._pool, self.sync.flush, timeout)

    async def close(self) -> None:
        """Flushes first; what is not answered then has failed. A second close does nothing."""
        if not self.is_closed:
            await finished(self._pool, self.sync.close)

    @property
    def is_closed(self) -> bool:
        return self.sync.is_closed

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _let_others_run(self) -> None:
        self._since_turn += 1
        if self._since_turn >= TURN_MESSAGES:
            self._since_turn = 0
            await asyncio.sleep(0)

    async def _until_taken(self, message: Prepared, check: Callable[[], None]) -> None:
        while True:
            check()
            if self.sync.offer(message):
                return
            with self.sync.room.awaited() as told:
                woken = asyncio.wrap_future(told)
                await asyncio.wait([woken], timeout=threaded.PRODUCER_POLL_SECONDS)
                woken.cancel()
