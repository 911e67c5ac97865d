"""Fetched record batches as Arrow: one RecordBatch for a fetch, or several where compressed data becomes large.

What a reader must not see is left out here: control batches, records outside the range of offsets asked for, and to a
read_committed reader aborted transactions. A damaged batch raises `DamagedBatch` with its place and a way around it;
never a wrong row. Memory is bounded by the fetch, or `UNPACKED_BYTES` and one batch where data is compressed.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import AbortedRecords, Fetched
from headrace.spark.source import kernels
from headrace.spark.source.arrow_columns import ArrowColumns
from headrace.wire.batch import CODEC_MASK, CONTROL, HEADER_SIZE, TRANSACTIONAL, CorruptBatch
from headrace.wire.compression import decompress
from headrace.wire.records import UNPACKED_BYTES_MAX, read_marker

# Compressed batches are opened until there are this many bytes, and become one Arrow batch.
UNPACKED_BYTES = 8 << 20

Numbers = NDArray[np.int64]
Buffer = NDArray[np.uint8]

_REASONS = {
    kernels.BAD_LENGTH: "its length is not that of a batch",
    kernels.BAD_FORMAT: "it is in a format of Kafka before 0.11",
    kernels.BAD_CRC: "its checksum does not fit its bytes",
    kernels.BAD_RECORD: "a record reaches past its end",
    kernels.BAD_NUMBER: "a number in a record is malformed",
    kernels.BAD_FIELD: "a key or value reaches past its record",
    kernels.BAD_HEADERS: "the headers of a record are malformed",
    kernels.BAD_COUNT: "it cannot hold as many records as it claims",
}


class DamagedBatch(UserError):
    def __init__(self, id: TopicPartition, first: int, last: int, reason: str) -> None:
        fix = f'to read on behind it, start with startingOffsets={{"{id.topic}":{{"{id.partition}":{last + 1}}}}}'
        super().__init__(f"{id}: the batch at offset {first} cannot be read: {reason}", fix)


class Decoder:
    """The decoder of one partition."""

    def __init__(self, id: TopicPartition, schema: pa.Schema, read_committed: bool = True) -> None:
        self._id = id
        self._columns = ArrowColumns(id, schema)
        self._read_committed = read_committed

    def decode(self, fetched: Fetched, first: int, limit: int) -> Iterator[pa.RecordBatch]:
        """The records with first <= offset < limit."""
        batches = self._index(fetched.batches, first)
        wanted = (batches[:, kernels.LAST_OFFSET] >= first) & (batches[:, kernels.BASE_OFFSET] < limit)
        wanted &= (batches[:, kernels.ATTRIBUTES] & CONTROL == 0) & (batches[:, kernels.COUNT] != 0)
        if self._read_committed and fetched.aborted:
            wanted &= ~_aborted(batches, fetched.aborted, fetched.batches)
        for source, records in self._records(fetched.batches, batches[wanted], first, limit):
            if len(records):
                try:
                    yield self._columns.build(source, records)
                except CorruptBatch as error:
                    raise DamagedBatch(self._id, first, int(records[-1, kernels.OFFSET]), str(error)) from error

    def _index(self, data: memoryview, first: int) -> Numbers:
        batches = np.empty((len(data) // HEADER_SIZE + 1, kernels.BATCH_FIELDS), np.int64)
        found, bad = kernels.index_batches(np.frombuffer(data, np.uint8), batches)
        if bad:
            place = int(batches[found - 1, kernels.LAST_OFFSET]) + 1 if found else first
            raise DamagedBatch(self._id, place, place, _REASONS[bad])
        return batches[:found]

    def _records(self, data: memoryview, batches: Numbers, first: int, limit: int) -> Iterator[tuple[Buffer, Numbers]]:
        """The bytes that records lie in, and where."""
        buffer = np.frombuffer(data, np.uint8)
        for codec, run in _runs_of_one_codec(batches):
            if codec == 0:
                self._check_counts(run, run[:, kernels.SIZE] - HEADER_SIZE)
                records = _room_for(run)
                found, bad = kernels.index_plain(buffer, run, first, limit, records, 0)
                if found < 0:
                    raise self._damaged(run[bad], _REASONS[found])
                yield buffer, records[:found]
            else:
                for opened, bodies in self._opened(data, run, codec):
                    yield self._index_bodies(opened, bodies, first, limit)

    def _opened(self, data: memoryview, run: Numbers, codec: int) -> Iterator[tuple[list[Any], list[bytes]]]:
        """Batches and their unpacked bodies, some at a time."""
        opened: list[Any] = []
        bodies: list[bytes] = []
        for batch in run:
            at, size = int(batch[kernels.POSITION]), int(batch[kernels.SIZE])
            try:
                body = decompress(codec, data[at + HEADER_SIZE : at + size], UNPACKED_BYTES_MAX)
            except CorruptBatch as error:
                raise self._damaged(batch, str(error)) from error
            opened.append(batch)
            bodies.append(body)
            if sum(map(len, bodies)) >= UNPACKED_BYTES:
                yield opened, bodies
                opened, bodies = [], []
        if opened:
            yield opened, bodies

    def _index_bodies(self, opened: list[Any], bodies: list[bytes], first: int, limit: int) -> tuple[Buffer, Numbers]:
        buffer = np.frombuffer(b"".join(bodies), np.uint8)
        batches = np.stack(opened)
        self._check_counts(batches, np.array([len(body) for body in bodies]))
        records, found, begin = _room_for(batches), 0, 0
        for batch, body in zip(batches, bodies, strict=True):
            found = kernels.index_records(buffer, begin, begin + len(body), batch, first, limit, records, found)
            if found < 0:
                raise self._damaged(batch, _REASONS[found])
            begin += len(body)
        return buffer, records[:found]

    def _check_counts(self, batches: Numbers, sizes: Numbers) -> None:
        """Before room is made for what a batch only claims."""
        counts = batches[:, kernels.COUNT]
        for batch in batches[(counts < 0) | (counts > sizes // kernels.RECORD_SIZE_MIN)][:1]:
            raise self._damaged(batch, _REASONS[kernels.BAD_COUNT])

    def _damaged(self, batch: Numbers, reason: str) -> DamagedBatch:
        return DamagedBatch(self._id, int(batch[kernels.BASE_OFFSET]), int(batch[kernels.LAST_OFFSET]), reason)


def _room_for(batches: Numbers) -> Numbers:
    return np.empty((int(batches[:, kernels.COUNT].sum()), kernels.RECORD_FIELDS), np.int64)


def _runs_of_one_codec(batches: Numbers) -> Iterator[tuple[int, Numbers]]:
    codecs = batches[:, kernels.ATTRIBUTES] & CODEC_MASK
    if not codecs.any():
        yield 0, batches
        return
    for codec, places in groupby(range(len(batches)), lambda place: int(codecs[place])):
        run = list(places)
        yield codec, batches[run[0] : run[-1] + 1]


def _aborted(batches: Numbers, aborted: Iterable[AbortedRecords], data: memoryview) -> NDArray[np.bool_]:
    """Marks the batches of aborted transactions, as the broker's list and the markers between tell."""
    found = np.zeros(len(batches), np.bool_)
    waiting, open_ids = list(aborted), set()
    for place, batch in enumerate(batches):
        while waiting and waiting[0].first_offset <= batch[kernels.LAST_OFFSET]:
            open_ids.add(waiting.pop(0).producer_id)
        producer = int(batch[kernels.PRODUCER])
        if producer not in open_ids:
            continue
        if batch[kernels.ATTRIBUTES] & CONTROL:
            marker = read_marker(data[batch[kernels.POSITION] :])
            if marker is not None and not marker.commit:
                open_ids.discard(producer)
        elif batch[kernels.ATTRIBUTES] & TRANSACTIONAL:
            found[place] = True
    return found
