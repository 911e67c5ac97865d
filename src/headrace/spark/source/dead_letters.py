"""Records whose values do not parse, written to a topic of their own as they were, with the reason in headers."""

from typing import Any

import pyarrow as pa

from headrace.base.dead_letters import SPARK_REASON, Origin, dead_letter_headers, former_headers
from headrace.base.ids import TopicPartition
from headrace.client.writer_client import WriterClient
from headrace.spark.clients import client_of
from headrace.spark.loop_thread import loop_thread
from headrace.spark.source.options import SourceOptions
from headrace.wire.records import Record, build_batch

DEAD_LETTER_SECONDS_MAX = 60.0
_ALL = -1


def send_dead_letters(options: SourceOptions, id: TopicPartition, records: pa.RecordBatch, reasons: list[str]) -> None:
    """Returns when they are stored."""
    letters = [_letter(id, row, reason) for row, reason in zip(records.to_pylist(), reasons, strict=True)]
    loop_thread().run(_send(options, id.partition, letters))


async def _send(options: SourceOptions, partition: int, letters: list[Record]) -> None:
    client = client_of(options, WriterClient)
    count = await client.partition_count(options.dead_letter_topic, DEAD_LETTER_SECONDS_MAX)
    target = TopicPartition(options.dead_letter_topic, partition % count)
    for letter in letters:
        # One by one: they are few, and together they might be more than a broker takes in a batch.
        batch = memoryview(build_batch([letter]))
        await client.produce(target, batch, acks=_ALL, transactional_id=None, seconds_max=DEAD_LETTER_SECONDS_MAX)


def _letter(id: TopicPartition, row: dict[str, Any], reason: str) -> Record:
    timestamp = round(row["timestamp"].timestamp() * 1000)
    origin = Origin(id.topic, id.partition, row["offset"], timestamp)
    own = [(header["key"], header["value"]) for header in row["headers"] or ()]
    told = [*dead_letter_headers(origin, reason), *former_headers(origin, reason, SPARK_REASON)]
    return Record(timestamp=timestamp, key=row["key"], value=row["value"], headers=[*own, *told])
