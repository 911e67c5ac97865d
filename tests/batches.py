"""Batches as producers send them, with any header they like under a checksum that fits."""

from typing import Any

from headrace.base.clock import Now
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.topic_config import TopicConfig, default_topic_config, topic_config
from headrace.wire.batch import HEADER, parse_header
from headrace.wire.records import Record, build_batch

NOW = Now(1000.0, 1_700_000_000_000)


def config(**settings: object) -> TopicConfig:
    """Topic settings by Kafka's names, with underscores."""
    overrides = {name.replace("_", "."): str(value) for name, value in settings.items()}
    return topic_config(overrides, default_topic_config(BrokerConfig({})))


def batch(*values: bytes, key: bytes | None = b"k", timestamp: int = NOW.wall, **fields: Any) -> bytearray:
    records = [Record(timestamp=timestamp, key=key, value=value) for value in values or (b"v",)]
    return bytearray(build_batch(records, **fields))


def changed(content: bytes, **fields: int) -> bytearray:
    """The same batch with other values in its header; the checksum is made to fit."""
    from crc32c import crc32c

    changed = bytearray(HEADER.pack(*parse_header(content)._replace(**fields)) + content[61:])
    changed[17:21] = crc32c(bytes(changed[21:])).to_bytes(4, "big")
    return changed
