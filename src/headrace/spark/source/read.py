"""A task of the source: fetches a range of offsets from the partition's leader, one fetch ahead, and yields Arrow.

Memory is bounded by two fetches and what one becomes, whatever the range. The rows depend on the range alone, so a
task that Spark runs again yields the same ones.
"""

from collections.abc import Iterator
from concurrent.futures import Future

import pyarrow as pa

from headrace.base.errors import Refused, UserError
from headrace.client.cluster_client import EARLIEST, LATEST, ClusterClient, Fetched
from headrace.spark.clients import client_of
from headrace.spark.loop_thread import loop_thread
from headrace.spark.plain_words import READING, in_plain_words
from headrace.spark.source.lost_records import LostRecords, report
from headrace.spark.source.options import SourceOptions
from headrace.spark.source.ranges import OffsetRange
from headrace.spark.source.subscription import offsets_at
from headrace.wire.codes import ErrorCode

FETCH_WAIT_MS = 500


def read_range(options: SourceOptions, schema: pa.Schema, whole: OffsetRange) -> Iterator[pa.RecordBatch]:
    # Not at the top: planning happens in processes that need no compiler, and importing it takes a second.
    from headrace.spark.source.decode import Decoder

    decoder = Decoder(whole.id, schema, options.read_committed)
    with in_plain_words(options.bootstrap, READING):
        for first, fetched in _fetch_ahead(options, whole):
            yield from decoder.decode(fetched, first, whole.limit)


def _fetch_ahead(options: SourceOptions, whole: OffsetRange) -> Iterator[tuple[int, Fetched]]:
    client, thread, position = client_of(options, ClusterClient), loop_thread(), whole.first

    def begin(offset: int) -> "Future[Fetched]":
        return thread.submit(
            client.fetch(
                whole.id,
                offset,
                bytes_max=options.fetch_bytes,
                wait_ms=FETCH_WAIT_MS,
                read_committed=options.read_committed,
                seconds_max=options.poll_seconds,
            )
        )

    empty_ms = 0
    coming = begin(position)
    try:
        while position < whole.limit:
            try:
                fetched = coming.result()
            except Refused as refused:
                if refused.code != ErrorCode.OFFSET_OUT_OF_RANGE:
                    raise
                position = _behind_the_loss(options, whole, position)
                coming = begin(position)
                continue
            first, position = position, fetched.next_offset
            if position < whole.limit:
                coming = begin(position)
            if fetched.batches:
                empty_ms = 0
                yield first, fetched
            elif (empty_ms := empty_ms + FETCH_WAIT_MS) > options.poll_seconds * 1000:
                raise UserError(
                    f"{whole.id}: nothing came from offset {position} on for {options.poll_seconds:.0f} s, "
                    f"though the partition ended at {whole.limit} when the query was planned",
                    "look at the brokers; kafkaConsumer.pollTimeoutMs says how long to wait",
                )
    finally:
        coming.cancel()


def _behind_the_loss(options: SourceOptions, whole: OffsetRange, position: int) -> int:
    """Retention, or somebody, deleted what we were about to read: where the log begins now, if that is acceptable."""
    ask = loop_thread().run
    start = ask(offsets_at(options, [whole.id], EARLIEST))[whole.id]
    if start <= position:
        end = ask(offsets_at(options, [whole.id], LATEST))[whole.id]
        report(options, LostRecords(whole.id, position, whole.limit, f"the partition now ends at {end}"))
        return whole.limit
    report(options, LostRecords(whole.id, position, min(start, whole.limit), f"the partition now begins at {start}"))
    return start
