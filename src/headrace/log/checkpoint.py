"""One offset per partition in one small text file per broker: recovery points, high watermarks, log start offsets.

    headrace-checkpoint 1 2 crc32c=080af845
    xxove-CMTh-dTyptO16AkQ 0 1842         the topic's id, the partition, the offset
    xxove-CMTh-dTyptO16AkQ 1 90

Invariant: a file is read whole and sound or not at all; one of a newer version is refused, since without its offsets records
that were deleted would be there again. `save` blocks until durable, so it is for a thread.
"""

from collections.abc import Mapping
from typing import NamedTuple

from crc32c import crc32c

from headrace.base.disk import Disk
from headrace.base.headed_text import newer_version
from headrace.base.ids import TopicPartition
from headrace.base.other_format import other_format

_MAGIC, VERSION = "headrace-checkpoint", 1


class Checkpoint(NamedTuple):
    """`is_damaged`: a file was there and could not be believed; all offsets are then unknown."""

    offsets: dict[TopicPartition, int]
    is_damaged: bool = False


def save(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    disk.write_atomic(path, encode(offsets))


def load(disk: Disk, path: str) -> Checkpoint:
    if not disk.exists(path):
        return Checkpoint({})
    content = disk.read(path)
    if newer := newer_version(_MAGIC, VERSION, content):
        raise other_format(path, newer, VERSION)
    return decode(content)


def encode(offsets: Mapping[TopicPartition, int]) -> bytes:
    _assert_offsets(offsets)
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in offsets.items()]
    body = "".join(lines).encode()
    return f"{_MAGIC} {VERSION} {len(lines)} crc32c={crc32c(body):08x}\n".encode() + body


def decode(content: bytes) -> Checkpoint:
    head, _, body = content.partition(b"\n")
    lines = body.splitlines()
    if head != f"{_MAGIC} {VERSION} {len(lines)} crc32c={crc32c(body):08x}".encode():
        return Checkpoint({}, is_damaged=True)
    offsets = {}
    for line in lines:
        topic, partition, offset = line.decode().split(" ")
        offsets[TopicPartition(topic, int(partition))] = int(offset)
    _assert_offsets(offsets)
    return Checkpoint(offsets)


def _assert_offsets(offsets: Mapping[TopicPartition, int]) -> None:
    assert min(offsets.values(), default=0) >= 0, min(offsets, key=lambda id: offsets[id])
