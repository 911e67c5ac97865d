"""One task of the sink: takes Arrow batches, and returns when everything is acknowledged.

    rows of the batch ─► RecordBatches (this thread) ─► one batch at a time to each partition (the loop's thread)

At most `kafka.buffer.memory` bytes are on their way; beyond that the task waits for the oldest. One batch at a time to a
partition keeps the order whatever has to be sent again. Connections outlive the task, in the worker process.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from itertools import chain
from typing import NamedTuple

import pyarrow as pa

from headrace.base.ids import TopicPartition
from headrace.client.transaction import BatchTransaction
from headrace.client.writer_client import WriterClient
from headrace.spark.clients import client_of
from headrace.spark.frozen_modules import freeze_loaded
from headrace.spark.loop_thread import loop_thread
from headrace.spark.plain_words import WRITING, in_plain_words
from headrace.spark.sink.batches import RecordBatches
from headrace.spark.sink.columns import Columns, rows_of
from headrace.spark.sink.options import SinkOptions
from headrace.wire.batch import NOBODY, Identity
from headrace.wire.compression import CODEC_NAMES


class Written(NamedTuple):
    rows: int
    bytes: int


def write_rows(options: SinkOptions, columns: Columns, batches: Iterable[pa.RecordBatch]) -> Written:
    with in_plain_words(options.bootstrap, WRITING):
        return SinkTask(options, columns).write(batches)


def write_rows_once(
    options: SinkOptions, columns: Columns, batches: Iterator[pa.RecordBatch], name: str, batch_id: int
) -> Written | None:
    """None when an earlier attempt under this name has written this batch."""
    filled = _from_first_row(batches)
    if filled is None:
        # A task without rows has none in a repetition either.
        return Written(0, 0)
    with in_plain_words(options.bootstrap, WRITING):
        return _write_once(options, columns, filled, name, batch_id)


def _write_once(
    options: SinkOptions, columns: Columns, batches: Iterator[pa.RecordBatch], name: str, batch_id: int
) -> Written | None:
    run = loop_thread().run
    transaction = transaction_of(options, name)
    run(transaction.begin(batch_id))
    if run(transaction.last_mark()) >= batch_id:
        for _ in batches:
            # Spark expects its rows to be taken.
            pass
        return None
    try:
        written = SinkTask(options, columns, transaction).write(batches)
    except BaseException:
        run(transaction.abort())
        raise
    run(transaction.commit())
    return written


def _from_first_row(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch] | None:
    for batch in batches:
        if batch.num_rows:
            return chain([batch], batches)
    return None


class _OnItsWay(NamedTuple):
    done: "Future[None]"
    size: int
    release: Callable[[], None]


class SinkTask:
    """`transaction` is begun; without one, rows are readable as they arrive."""

    def __init__(self, options: SinkOptions, columns: Columns, transaction: BatchTransaction | None = None) -> None:
        self._options = options
        self._columns = columns
        self._transaction = transaction
        self._client = client_of(options, WriterClient)
        self._lanes: dict[TopicPartition, asyncio.Lock] = {}
        self._sent: deque[_OnItsWay] = deque()
        self._bytes_sent = 0
        self._bytes_on_their_way = 0
        self._has_failed = False

    def write(self, batches: Iterable[pa.RecordBatch]) -> Written:
        try:
            return self._write(batches)
        except BaseException:
            self._abandon()
            raise

    def _write(self, batches: Iterable[pa.RecordBatch]) -> Written:
        freeze_loaded("write")
        out = RecordBatches(
            self._send,
            self._partition_count,
            self._identity(),
            CODEC_NAMES.index(self._options.codec),
            self._options.batch_bytes,
            self._options.buffer_bytes,
            is_transactional=self._transaction is not None,
        )
        rows = 0
        for batch in batches:
            out.add(rows_of(batch, self._columns), self._options.topic)
            rows += batch.num_rows
        out.flush()
        self._wait_until_below(1)
        return Written(rows, self._bytes_sent)

    def _identity(self) -> Identity:
        if self._transaction is not None:
            return Identity(self._transaction.producer_id, self._transaction.producer_epoch)
        if not self._options.is_idempotent:
            return NOBODY
        return loop_thread().run(self._client.producer_id(self._options.start_seconds))

    def _partition_count(self, topic: str) -> int:
        return loop_thread().run(self._client.partition_count(topic, self._options.start_seconds))

    def _send(self, id: TopicPartition, batch: memoryview, release: Callable[[], None]) -> None:
        self._wait_until_below(self._options.buffer_bytes)
        done = loop_thread().submit(self._deliver(id, batch))
        self._sent.append(_OnItsWay(done, len(batch), release))
        self._bytes_on_their_way += len(batch)
        self._bytes_sent += len(batch)

    def _wait_until_below(self, bytes_max: int) -> None:
        while self._sent and (self._bytes_on_their_way >= bytes_max or self._sent[0].done.done()):
            oldest = self._sent.popleft()
            oldest.done.result()
            oldest.release()
            self._bytes_on_their_way -= oldest.size

    async def _deliver(self, id: TopicPartition, batch: memoryview) -> None:
        async with self._lanes.setdefault(id, asyncio.Lock()):
            if self._has_failed:
                return
            try:
                await self._produce(id, batch)
            except BaseException:
                self._has_failed = True
                raise

    async def _produce(self, id: TopicPartition, batch: memoryview) -> None:
        if self._transaction is not None:
            await self._transaction.include(id)
        await self._client.produce(
            id,
            batch,
            acks=self._options.acks,
            transactional_id=self._transaction.name if self._transaction else None,
            seconds_max=self._options.delivery_seconds,
        )

    def _abandon(self) -> None:
        """Nothing more is sent, and nothing is on its way: the worker lives on, and its next attempt begins clean."""
        self._has_failed = True
        for each in self._sent:
            each.done.exception()


def transaction_of(options: SinkOptions, name: str) -> BatchTransaction:
    timeout_ms, seconds_max = options.transaction_timeout_ms, options.delivery_seconds
    return BatchTransaction(
        client_of(options, WriterClient), name, timeout_ms, seconds_max, note="batch of a Spark query"
    )
