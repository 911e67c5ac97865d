"""A member of a consumer group for tasks: `async for message in consumer` commits a message when its body has finished.

A message is finished when the loop asks for the next one. Work that a body gives to other tasks is not awaited by
that: await it in the body, or take batches and await the work of a batch together.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

from headrace.api import consumer as threaded
from headrace.api.aio.threads import finished
from headrace.api.loop import Loop
from headrace.api.message import Message
from headrace.api.positions import Seek
from headrace.api.reader import no_partition
from headrace.api.seeking import ASK_SECONDS

Result = TypeVar("Result")


class Consumer:
    def __init__(self, sync: threaded.Consumer) -> None:
        self.sync = sync
        self.group = sync.group
        self.turn = asyncio.Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="headrace-consumer")

    def __aiter__(self) -> AsyncIterator[Message]:
        return self.messages()

    def messages(self, idle_seconds: float | None = None) -> AsyncIterator[Message]:
        """One by one, without end; with `idle_seconds`, until none has come for so long to a member of the group."""
        return _Messages(self.batches(1, 0.0, idle_seconds))

    def batches(
        self, messages_max: int = 500, wait_seconds: float = 0.5, idle_seconds: float | None = None
    ) -> AsyncIterator[list[Message]]:
        """Lists of at least one message, each committed as a whole when its body has finished."""
        return _Batches(self, lambda: Loop(self.sync.reader, messages_max, wait_seconds, idle_seconds))

    async def commit_offset(self, message: Message) -> None:
        """Commits this message, and all before it in its partition, now: for a loop that ends with `break`."""
        await self.call(self.sync.commit_offset, message)

    async def seek(self, to: Seek, topic: str | None = None, partition: int | None = None) -> None:
        """Goes on elsewhere: an offset, a time, "earliest" or "latest", in all partitions it has or in those named."""
        await self._until_assigned()
        await self.call(self.sync.seek, to, topic, partition)

    async def pause(self, topic: str | None = None, partition: int | None = None) -> None:
        """Holds back the messages of these partitions until `resume`; the loop stays a member and waits."""
        await self._until_assigned()
        await self.call(self.sync.pause, topic, partition)

    async def resume(self, topic: str | None = None, partition: int | None = None) -> None:
        await self._until_assigned()
        await self.call(self.sync.resume, topic, partition)

    @property
    def assignment(self) -> list[tuple[str, int]]:
        """The partitions that this member reads now."""
        return self.sync.assignment

    async def close(self) -> None:
        """Commits what is finished and leaves the group. A second close does nothing."""
        await self.call(self.sync.close)
        self._pool.shutdown(wait=False)

    @property
    def is_closed(self) -> bool:
        return self.sync.is_closed

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def call(
        self, step: Callable[..., Result], *args: Any, spared: Callable[[Result], None] | None = None
    ) -> Result:
        """Steps of all tasks one after the other, in the consumer's thread; each of a loop is a tenth of a second."""
        async with self.turn:
            if self.is_closed:
                return step(*args)  # it says so, or does nothing
            return await finished(self._pool, step, *args, spared=spared)

    async def _until_assigned(self) -> None:
        deadline = time.monotonic() + ASK_SECONDS
        while not await self.call(self.sync.reader.is_assigned_soon):
            if time.monotonic() > deadline:
                raise no_partition(self.group)


class _Batches:
    """`__anext__` may be cancelled and called again: a batch that it had in its hands comes then."""

    def __init__(self, consumer: Consumer, begin: Callable[[], Loop]) -> None:
        self._consumer = consumer
        self._begin = begin
        self._loop: Loop | None = None
        self._spared: list[Message] = []
        self._is_handed_out = False

    def __aiter__(self) -> AsyncIterator[list[Message]]:
        return self

    async def __anext__(self) -> list[Message]:
        loop = await self._begun()
        if self._is_handed_out:
            await self._finish(loop)
        while not (batch := self._ready(loop) or await self._consumer.call(loop.poll, spared=self._spare)):
            if loop.is_over:
                raise StopAsyncIteration
        self._is_handed_out = True
        return batch

    async def _begun(self) -> Loop:
        if self._loop is None:
            self._loop = await self._consumer.call(self._begin, spared=self._keep)
        return self._loop

    def _keep(self, loop: Loop) -> None:
        self._loop = loop

    def _spare(self, batch: list[Message]) -> None:
        self._spared = batch

    async def _finish(self, loop: Loop) -> None:
        if self._consumer.sync.commits.is_aborted:
            await self._consumer.call(loop.finish)
        else:
            async with self._consumer.turn:
                loop.finish()
        self._is_handed_out = False

    def _ready(self, loop: Loop) -> list[Message]:
        """Messages that are ready without a wait, and so without a thread."""
        if self._spared:
            batch, self._spared = self._spared, []
            return batch
        return [] if self._consumer.turn.locked() else loop.ready()


class _Messages:
    def __init__(self, batches: AsyncIterator[list[Message]]) -> None:
        self._batches = batches

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        (message,) = await anext(self._batches)
        return message
