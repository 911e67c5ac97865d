"""Rows with offsets of their own into topics, in order and once: what mirror, replay and clean have in common.

Each piece is one transaction on the target, which also stores up to which offset of the source it reaches; so the target
itself says where to go on, and a piece that a task, or a whole run, repeats is seen to be there. The name under which that
is stored is the transactional id too: of two runs at the same time one is fenced.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa

from headrace.client.transaction import BatchTransaction
from headrace.pipelines.columns import RAW
from headrace.pipelines.kafka import Kafka
from headrace.pipelines.ranges import Offsets
from headrace.spark.loop_thread import loop_thread
from headrace.spark.plain_words import WRITING, in_plain_words
from headrace.spark.sink.columns import Columns
from headrace.spark.sink.options import EXACTLY_ONCE, SinkOptions, sink_options
from headrace.spark.sink.task import SinkTask, Written, transaction_of

Rows = Iterator[pa.RecordBatch]
RECORD = pa.schema([field for field in RAW if field.name != "decode_error"])
NOTHING = Written(0, 0)


def sink_of(target: Kafka, topic: str = "") -> SinkOptions:
    """The sink's options; without a topic, rows have a column for it."""
    chosen = {"topic": topic} if topic else {}
    return sink_options(target.source_options() | {"includeTimestamp": "true", **chosen}, EXACTLY_ONCE)


def known_positions(options: SinkOptions, names: Mapping[int, str]) -> Offsets:
    """The source's next offset by partition, as the last piece left it; partitions without a piece are left out."""
    with in_plain_words(options.bootstrap, WRITING):
        found = {p: loop_thread().run(transaction_of(options, name).last_mark()) for p, name in names.items()}
    return {partition: offset for partition, offset in found.items() if offset >= 0}


def write_once(
    options: SinkOptions, name: str, limit: int, write: Callable[[BatchTransaction, int], Written]
) -> Written:
    """`write` is given the offset to go on from, and writes what there is up to `limit`. Nothing when that is there."""
    run = loop_thread().run
    transaction = transaction_of(options, name)
    with in_plain_words(options.bootstrap, WRITING):
        run(transaction.begin(limit))
        position = run(transaction.last_mark())
        if position >= limit:
            return NOTHING
        try:
            written = write(transaction, position)
        except BaseException:
            run(transaction.abort())
            raise
        if written.rows:
            run(transaction.commit())
        return written


def send(
    options: SinkOptions, transaction: BatchTransaction, schema: pa.Schema, rows: Iterable[pa.RecordBatch]
) -> Written:
    """Rows of this schema; their columns are found by name."""

    def at(name: str) -> int | None:
        return schema.get_field_index(name) if name in schema.names else None

    columns = Columns(
        value=schema.get_field_index("value"),
        key=at("key"),
        topic=None if options.topic else at("topic"),
        partition=at("partition"),
        headers=at("headers"),
        timestamp=at("timestamp"),
    )
    return SinkTask(options, columns, transaction).write(rows)
