"""What one client writes all others read: keys, nulls, empty and large values, unicode, bytes, headers, timestamps."""

import time
from collections.abc import Callable

import pytest
from created import created

from clients.client import Client, Record
from clients.roster import CLIENTS

START_MS = int(time.time() * 1000) - 600_000
LARGE = bytes(range(65, 91)) * 34_616  # 900,016 bytes, below every client's default limit of a megabyte

RECORDS = [
    Record(b"key", b"value", timestamp_ms=START_MS),
    Record(None, b"no key", timestamp_ms=START_MS + 1),
    Record(b"tombstone", None, timestamp_ms=START_MS + 2),
    Record(b"empty value", b"", timestamp_ms=START_MS + 3),
    Record(b"", b"empty key", timestamp_ms=START_MS + 4),
    Record("clé — ключ — 鍵".encode(), "Grüße 🌊 水".encode(), timestamp_ms=START_MS + 5),
    # All bytes but the one that kcat is told ends a record.
    Record(b"bytes", bytes(byte for byte in range(256) if byte != 0x1E), timestamp_ms=START_MS + 6),
    Record(b"headers", b"v", (("a", b"1"), ("a", b"2"), ("empty", b""), ("ünï", "值".encode())), START_MS + 7),
    Record(b"null header", b"v", (("gone", None),), START_MS + 8),
    Record(b"large", LARGE, timestamp_ms=START_MS + 500_000),
]


def written(writer: str) -> list[Record]:
    # kafka-python's producer takes no null as a header's value; its consumer does.
    return [record for record in RECORDS if writer != "kafka-python" or record.key != b"null header"]


@pytest.fixture(scope="session")
def written_by(client_named: Callable[[str], Client], reference) -> Callable[[str], str]:
    """The topic that holds RECORDS as this client wrote them: written once, read by all."""
    topics: dict[str, str] = {}

    def write(name: str) -> str:
        if name not in topics:
            client = client_named(name)
            topics[name] = f"cross-{name}-{time.time_ns()}"
            created(reference, topics[name])
            client.produce(topics[name], written(name))
        return topics[name]

    return write


@pytest.mark.parametrize("writer", CLIENTS)
def test_reads_what_another_wrote(client: Client, writer: str, written_by, client_named) -> None:
    topic = written_by(writer)
    expected = written(writer)
    records = client.consume(topic, count=len(expected))
    assert [record.content for record in records] == [record.content for record in expected]
    assert [record.offset for record in records] == list(range(len(expected)))
    if client_named(writer).can_stamp:
        assert [record.timestamp_ms for record in records] == [record.timestamp_ms for record in expected]
    else:
        assert all(record.timestamp_ms > START_MS for record in records)


def test_reads_the_brokers_stamp(client: Client, new_topic, reference) -> None:
    topic = new_topic(config={"message.timestamp.type": "LogAppendTime"})
    reference.produce(topic, [Record(None, b"v", timestamp_ms=START_MS)])
    (record,) = client.consume(topic, count=1)
    assert record.timestamp_ms > START_MS
