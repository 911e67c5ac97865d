"""What tests of retention and compaction share: filling segments, looking at files, reading to the end."""

import re
import urllib.request
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from random import Random

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from clients.client import WAIT_S, Record
from eventually import collected

SEGMENT_BYTES = 1 << 20
VALUE_BYTES = 8 << 10
PER_SEGMENT = SEGMENT_BYTES // VALUE_BYTES
_NOISE = Random(1).randbytes(VALUE_BYTES)


def value_of(number: int) -> bytes:
    """Eight kilobytes that begin with the number and do not compress to nothing."""
    return (f"{number}:".encode() + _NOISE)[:VALUE_BYTES]


def keyed(numbers: Sequence[int], keys: int) -> list[Record]:
    return [Record(f"key-{number % keys}".encode(), value_of(number)) for number in numbers]


def newest(records: list[Record]) -> dict[bytes, int]:
    """Key → the number in its last value; keys whose last record is a tombstone are not there."""
    table: dict[bytes, int] = {}
    for record in records:
        if record.value is None:
            table.pop(record.key, None)
        else:
            table[record.key] = int(record.value.partition(b":")[0])
    return table


def read_all(bootstrap: str, topic: str, partition: int = 0, offset: int = OFFSET_BEGINNING) -> list[Record]:
    """Everything up to the end of the partition, gaps or not."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False}
    consumer = Consumer({**settings, "enable.partition.eof": True, "auto.offset.reset": "error"})
    consumer.assign([TopicPartition(topic, partition, offset)])
    try:
        found = collected(lambda: consumer.consume(500, 1.0), lambda found: any(each.error() for each in found), WAIT_S)
    finally:
        consumer.close()
    messages = list(takewhile(lambda each: not each.error(), found))
    assert found[len(messages)].error().code() == KafkaError._PARTITION_EOF, found[len(messages)].error()
    return [Record(each.key(), each.value(), (), each.timestamp()[1], each.offset()) for each in messages]


def metric(url: str, name: str) -> float:
    with urllib.request.urlopen(url, timeout=60) as page:
        found = re.findall(rf"^{re.escape(name)}(?:\{{.*\}})? ([0-9.e+-]+)$", page.read().decode(), re.MULTILINE)
    return max(map(float, found), default=0.0)


def log_files(data: Path, topic: str, suffix: str = ".log") -> list[Path]:
    return sorted(data.glob(f"broker-*/logs/{topic}-0/*{suffix}")) or sorted(data.glob(f"logs/{topic}-0/*{suffix}"))
