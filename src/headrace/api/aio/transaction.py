"""Transactions for tasks: `async with producer.transaction(consumer)` commits at its end, and aborts if its body raises."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from typing import Self, Unpack

from headrace.api import transaction as threaded
from headrace.api.aio.consumer import Consumer
from headrace.api.aio.producer import Delivery, Producer
from headrace.api.aio.threads import finished
from headrace.api.errors import TransactionMisused
from headrace.api.sending import SendOptions


class Transaction:
    """An open transaction; `send` takes what `Producer.send` takes."""

    def __init__(self, producer: Producer, sync: threaded.Transaction) -> None:
        self._producer = producer
        self._sync = sync

    async def send(self, topic: str, value: object, **options: Unpack[SendOptions]) -> Delivery:
        self._sync.check_open()
        prepared = self._producer.sync.prepared(topic, value, options)
        return await self._producer.hand_over(prepared, self._sync.check_open)

    @property
    def is_open(self) -> bool:
        return self._sync.is_open


class TransactionalProducer(Producer):
    """Made by `client.transactional_producer(id)`: one that starts with the same id ends what the last one left open."""

    def __init__(self, sync: threaded.TransactionalProducer, pool: Executor) -> None:
        super().__init__(sync, pool)
        self._transactional = sync
        self._starting = asyncio.Lock()
        self._is_started = False

    async def start(self) -> None:
        """Done by `async with` and by the first transaction."""
        async with self._starting:
            if not self._is_started:
                await finished(self._pool, self._transactional.start, spared=self._on_started)
                self._is_started = True

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.close()
            raise
        return self

    async def send(self, topic: str, value: object, **options: Unpack[SendOptions]) -> Delivery:
        raise threaded.outside_transaction()

    @asynccontextmanager
    async def transaction(self, consumer: Consumer | None = None) -> AsyncIterator[Transaction]:
        """Commits all that is sent inside, with the messages in hand of the loop over `consumer`, or none of it."""
        await self.start()
        if consumer is not None and not isinstance(consumer, Consumer):
            raise TransactionMisused(
                f"{consumer!r} is no consumer of headrace.aio", "pass what client.join_group() made"
            )
        block = self._transactional.transaction(consumer.sync if consumer is not None else None)
        try:
            await finished(self._pool, block.__enter__)
            yield Transaction(self, block)
        except BaseException as failure:
            if block.is_open:
                await finished(self._pool, block.__exit__, type(failure), failure, failure.__traceback__)
            raise
        await finished(self._pool, block.__exit__, None, None, None)

    def _on_started(self, _: None) -> None:
        self._is_started = True
