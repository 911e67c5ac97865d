"""The size of a record, by a look at the next ones of each partition: what `maxBytesPerTrigger` counts with."""

from collections.abc import Mapping

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import ClusterClient
from headrace.spark.clients import client_of
from headrace.spark.source.options import SourceOptions
from headrace.wire.batch import iter_headers

SAMPLE_BYTES = 64 << 10


async def bytes_per_record(
    options: SourceOptions, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> float:
    """The mean stored (so perhaps compressed) size of a record, weighted by how much each partition has to give."""
    total = records = 0.0
    for id, end in ends.items():
        if end > starts[id]:
            size = await _sample(options, id, starts[id])
            total += size * (end - starts[id])
            records += end - starts[id]
    return max(1.0, total / records) if records else 1.0


async def _sample(options: SourceOptions, id: TopicPartition, offset: int) -> float:
    fetched = await client_of(options, ClusterClient).fetch(id, offset, bytes_max=SAMPLE_BYTES, wait_ms=0)
    headers = [header for _, header in iter_headers(fetched.batches)]
    offsets = sum(header.last_offset_delta + 1 for header in headers)
    return sum(header.size for header in headers) / offsets if offsets else 1.0
