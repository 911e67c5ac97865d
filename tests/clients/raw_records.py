"""Produce and Fetch requests of one partition, and batches with any fault a test wants under a good checksum."""

import struct
import time
from typing import Any

from crc32c import crc32c

from clients.raw import RawClient
from headrace.wire.batch import HEADER, BatchHeader, parse_header
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.records import Record, build_batch

ACKS_ALL = -1


def good_batch(*values: bytes, codec: int = 0, **fields: Any) -> bytes:
    now = int(time.time() * 1000)
    records = [Record(timestamp=now, key=b"k", value=value) for value in values or (b"v",)]
    return build_batch(records, codec=codec, **fields)


def sealed(header: BatchHeader, payload: bytes) -> bytes:
    """As a producer would seal it, whatever the header claims."""
    batch = bytearray(HEADER.pack(*header) + payload)
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return bytes(batch)


def with_fields(batch: bytes, **fields: int) -> bytes:
    """The batch with other values in its header, and a checksum that fits."""
    return sealed(parse_header(batch)._replace(**fields), batch[61:])


def produce_request(
    topic: str, records: bytes | None, *, partition: int = 0, acks: int = ACKS_ALL, timeout_ms: int = 10_000
) -> ProduceRequest:
    return ProduceRequest(
        None, acks, timeout_ms, [TopicProduceData(topic, partition_data=[PartitionProduceData(partition, records)])]
    )


def produce(client: RawClient, topic: str, records: bytes | None, *, version: int = 9, **options: int) -> Any:
    """The answer for the one partition."""
    response = client.ask(produce_request(topic, records, **options), version)
    return response.responses[0].partition_responses[0]


def fetch_request(
    topic: str, offset: int = 0, *, partition: int = 0, max_wait_ms: int = 0, min_bytes: int = 1, **fields: int
) -> FetchRequest:
    wanted = FetchPartition(partition, fetch_offset=offset, partition_max_bytes=1 << 20, **fields)
    return FetchRequest(max_wait_ms=max_wait_ms, min_bytes=min_bytes, topics=[FetchTopic(topic, partitions=[wanted])])


def fetch(client: RawClient, topic: str, offset: int = 0, *, version: int = 12, **options: int) -> Any:
    response = client.ask(fetch_request(topic, offset, **options), version)
    return response.responses[0].partitions[0]
