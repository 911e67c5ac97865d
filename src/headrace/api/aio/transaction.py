"""Transactions for tasks: `async with producer.transaction(consumer)` commits at its end, and aborts if its body raises."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from typing import Any, Self

from headrace.api import transaction as threaded
from headrace.api.aio.consumer import Consumer
from headrace.api.aio.producer import Delivery, Producer
from headrace.api.aio.threads import finished
from headrace.api.producer import Headers
from headrace.api.values import Schema


class Transaction:
    """An open transaction; `send` takes what `Producer.send` takes."""

    def __init__(self, producer: Producer, sync: threaded.Transaction) -> None:
        self._producer = producer
        self._sync = sync

    async def send(
        self,
        topic: str,
        value: object,
        *,
        key: object = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        schema: Schema | None = None,
    ) -> Delivery:
        self._sync.check_open()
        prepared = self._producer.sync.prepared(topic, value, key, headers, partition, timestamp_ms, schema)
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

    async def send(self, topic: str, value: object, **options: Any) -> Delivery:
        raise threaded.outside_transaction()

    @asynccontextmanager
    async def transaction(self, consumer: Consumer | None = None) -> AsyncIterator[Transaction]:
        """Of everything sent inside, and of what the loop over `consumer` has in hand, all or nothing is committed."""
        await self.start()
        block = self._transactional.transaction(consumer.sync if consumer is not None else None)
        transaction = Transaction(self, block.__enter__())
        try:
            yield transaction
        except BaseException as failure:
            await finished(self._pool, block.__exit__, type(failure), failure, failure.__traceback__)
            raise
        await finished(self._pool, block.__exit__, None, None, None)

    def _on_started(self, _: None) -> None:
        self._is_started = True
