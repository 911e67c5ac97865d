"""Rows in, sealed record batches out: one open batch per partition, sent when it is full or when the task ends.

A sealed batch has its producer's sequence in it, so that sending it again is harmless. Open batches share a fixed amount
of memory: the more partitions, the smaller each. Buffers come back when their batch is written, and are used again.
"""

import random
import time
from collections.abc import Callable

import numpy as np

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.spark.sink.columns import Longs, Octets, Rows
from headrace.spark.sink.encode import append, route, sizes
from headrace.wire.batch import HEADER_SIZE, TRANSACTIONAL, Identity, produced_header, seal
from headrace.wire.compression import NONE, compress

_SEQUENCE_MASK = 0x7FFFFFFF
# Of a record: its length, its two deltas.
_NUMBERS_SIZE_MAX = 25
_ROOM_MIN = 16 * 1024

Send = Callable[[TopicPartition, memoryview, Callable[[], None]], None]


class OpenBatch:
    def __init__(self) -> None:
        self.buffer: Octets | None = None
        self.position = HEADER_SIZE
        self.records = 0
        self.base_time = self.latest_time = -1
        self.next_sequence = 0


class RecordBatches:
    def __init__(
        self,
        send: Send,
        partition_count: Callable[[str], int],
        identity: Identity,
        codec: int,
        bytes_max: int,
        open_bytes_max: int,
        is_transactional: bool = False,
    ) -> None:
        self._send = send
        self._partition_count = partition_count
        self._identity = identity
        self._codec = codec
        self._attributes = codec | (TRANSACTIONAL if is_transactional else 0)
        self._bytes_max = bytes_max
        self._open_bytes_max = open_bytes_max
        self._partitions: dict[str, int] = {}
        self._room = bytes_max
        self._open: dict[TopicPartition, OpenBatch] = {}
        self._turns: dict[str, int] = {}
        self._free: list[Octets] = []

    def add(self, rows: Rows, topic: str | None) -> None:
        """Adds rows to `topic`, or to the topics that the rows name."""
        if topic is not None:
            self._add_to(topic, np.arange(rows.number, dtype=np.int64), rows)
            return
        assert rows.topics is not None
        if rows.topics.null_count:
            raise UserError("a row has no topic", "its column `topic` is null; set the option `topic` or fill it")
        numbers = rows.topics.indices.to_numpy(zero_copy_only=False)
        for number, name in enumerate(rows.topics.dictionary.to_pylist()):
            self._add_to(name, np.flatnonzero(numbers == number), rows)

    def flush(self) -> None:
        for id, batch in self._open.items():
            if batch.records:
                self._seal(id, batch)

    def _add_to(self, topic: str, chosen: Longs, rows: Rows) -> None:
        partitions = self._partitions.get(topic) or self._meet(topic)
        first = self._turns.get(topic, random.randrange(partitions))
        routed, self._turns[topic] = route(chosen, rows.partitions, *rows.keys, partitions, first)
        if len(rows.partitions) and len(routed) and routed.max() >= partitions:
            raise UserError(
                f"column `partition` has {routed.max()}, but topic {topic} has {partitions} partitions",
                "they are numbered from 0",
            )
        order = chosen[np.argsort(routed, kind="stable")]
        ends = np.cumsum(np.bincount(routed, minlength=partitions))
        row_sizes = sizes(
            rows.keys.lengths,
            rows.values.lengths,
            rows.headers.starts,
            rows.headers.counts,
            rows.headers.keys.lengths,
            rows.headers.values.lengths,
        )
        begin = 0
        for partition in np.flatnonzero(np.diff(ends, prepend=0)):
            end = int(ends[partition])
            self._append(TopicPartition(topic, int(partition)), order[begin:end], rows, row_sizes)
            begin = end

    def _meet(self, topic: str) -> int:
        partitions = self._partitions[topic] = self._partition_count(topic)
        share = self._open_bytes_max // sum(self._partitions.values())
        self._room, self._free = min(self._bytes_max, max(_ROOM_MIN, share)), []
        return partitions

    def _append(self, id: TopicPartition, order: Longs, rows: Rows, row_sizes: Longs) -> None:
        batch = self._open.setdefault(id, OpenBatch())
        begin = 0
        while begin < len(order):
            if batch.buffer is None:
                row = int(order[begin])
                self._start(batch, int(row_sizes[row]), int(rows.times[row]) if len(rows.times) else -1)
            assert batch.buffer is not None
            done, batch.position, latest = append(
                batch.buffer,
                batch.position,
                batch.records,
                batch.base_time,
                order,
                begin,
                row_sizes,
                rows.times,
                *rows.keys,
                *rows.values,
                rows.headers.starts,
                rows.headers.counts,
                *rows.headers.keys,
                *rows.headers.values,
            )
            batch.records += done - begin
            batch.latest_time = max(batch.latest_time, latest)
            begin = done
            if begin < len(order):
                self._seal(id, batch)

    def _start(self, batch: OpenBatch, first_size: int, first_time: int) -> None:
        needed = HEADER_SIZE + first_size + _NUMBERS_SIZE_MAX
        if needed > self._room:
            batch.buffer = np.empty(needed, np.uint8)
        else:
            batch.buffer = self._free.pop() if self._free else np.empty(self._room, np.uint8)
        batch.position, batch.records = HEADER_SIZE, 0
        batch.base_time = first_time if first_time >= 0 else time.time_ns() // 1_000_000
        batch.latest_time = -1

    def _seal(self, id: TopicPartition, batch: OpenBatch) -> None:
        assert batch.buffer is not None
        buffer, batch.buffer = batch.buffer, None
        sealed = buffer.data[: batch.position]
        if self._codec != NONE:
            packed = compress(self._codec, sealed[HEADER_SIZE:])
            sealed = memoryview(bytearray(HEADER_SIZE + len(packed)))
            sealed[HEADER_SIZE:] = packed
        header = produced_header(
            self._identity, batch.next_sequence, self._attributes, batch.records, batch.base_time, batch.latest_time
        )
        seal(sealed, header)
        batch.next_sequence = (batch.next_sequence + batch.records) & _SEQUENCE_MASK
        batch.records = 0
        self._send(id, sealed, lambda: self._take_back(buffer))

    def _take_back(self, buffer: Octets) -> None:
        if len(buffer) == self._room:
            self._free.append(buffer)
