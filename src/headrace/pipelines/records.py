"""Records of a range of offsets as Arrow, under the names that a lake table has for them."""

import asyncio
from collections.abc import Iterator

import pyarrow as pa

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import ClusterClient
from headrace.client.security import security_from
from headrace.pipelines.columns import RAW
from headrace.pipelines.kafka import CLIENT_ID, Kafka, TopicView
from headrace.pipelines.ranges import OffsetRange
from headrace.spark.decode import Decoder

SAMPLE_ROWS = 100
_SOURCE_NAMES = {"kafka_offset": "offset", "timestamp_type": "timestampType"}
_RAW = pa.schema([field for field in RAW if field.name != "decode_error"])
_SOURCE = pa.schema([pa.field(_SOURCE_NAMES.get(field.name, field.name), field.type) for field in _RAW])


def read_records(kafka: Kafka, range: OffsetRange) -> Iterator[pa.RecordBatch]:
    id = TopicPartition(range.topic, range.partition)
    decoder = Decoder(id, _SOURCE)
    offset = range.start
    with asyncio.Runner() as runner:
        client = ClusterClient(kafka.bootstrap, client_id=CLIENT_ID, security=security_from(kafka.options))
        while offset < range.end:
            fetched = runner.run(client.fetch(id, offset, bytes_max=8 << 20))
            for rows in decoder.decode(fetched, offset, range.end):
                offset = rows.column("offset")[-1].as_py() + 1
                yield pa.RecordBatch.from_arrays(rows.columns, schema=_RAW)
            if not len(fetched.batches):
                break
        runner.run(client.close())


def first_values(kafka: Kafka, view: TopicView) -> pa.Array:
    """Some values of every partition, from its beginning."""
    samples = []
    for partition, start in view.start.items():
        end = min(view.end[partition], start + SAMPLE_ROWS)
        samples += [
            rows.column("value") for rows in read_records(kafka, OffsetRange(view.topic, partition, start, end))
        ]
    return pa.concat_arrays(samples) if samples else pa.array([], pa.binary())
