"""The record batches of a partition as they lie in the broker's log, read with one hand-made Fetch request (version 4).

Clients hide how their records were stored; this shows the codec, producer and sequence that a batch's header states.
"""

import socket
import struct
from typing import NamedTuple

CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
BATCH = struct.Struct(">qiibIhiqqqhii")
FETCH_KEY, FETCH_VERSION = 1, 4
MAX_BYTES = 50 << 20


class Batch(NamedTuple):
    base_offset: int
    codec: str
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int


def raw_batches(bootstrap: str, topic: str, partition: int = 0) -> list[Batch]:
    host, port = bootstrap.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=60) as connection, connection.makefile("rb") as replies:
        connection.sendall(_fetch_request(topic, partition))
        (size,) = struct.unpack(">i", replies.read(4))
        return list(_batches(_records(replies.read(size), topic)))


def _fetch_request(topic: str, partition: int) -> bytes:
    name = topic.encode()
    header = struct.pack(">hhih", FETCH_KEY, FETCH_VERSION, 1, -1)
    limits = struct.pack(">iiiib", -1, 0, 0, MAX_BYTES, 0)
    topics = struct.pack(">ih", 1, len(name)) + name + struct.pack(">iiqi", 1, partition, 0, MAX_BYTES)
    body = header + limits + topics
    return struct.pack(">i", len(body)) + body


def _records(reply: bytes, topic: str) -> bytes:
    # Correlation id, throttle time, one topic with its name, one partition.
    position = 4 + 4 + 4 + 2 + len(topic.encode()) + 4
    _, error, _, _, aborted, size = struct.unpack_from(">ihqqii", reply, position)
    assert error == 0, f"Fetch of {topic} answered error code {error}"
    assert aborted <= 0, "no aborted transactions in these tests"
    position += struct.calcsize(">ihqqii")
    return reply[position : position + size]


def _batches(records: bytes):
    position = 0
    while position < len(records):
        base, length, _, magic, _, attributes, _, _, _, producer, epoch, sequence, count = BATCH.unpack_from(
            records, position
        )
        assert magic == 2, magic
        yield Batch(base, CODEC_NAMES[attributes & 7], producer, epoch, sequence, count)
        position += length + 12
