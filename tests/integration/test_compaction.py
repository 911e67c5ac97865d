"""Compaction on a real broker, read by real clients: one value a key, whatever happens in the midst of it."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from created import created
from upkeep import PER_SEGMENT, SEGMENT_BYTES, keyed, log_files, metric, newest, read_all

from clients import line_driver, roster
from clients.build import MissingTool
from clients.client import Client, Record, Refused
from clients.confluent import Confluent
from eventually import until
from headrace.testing import Broker

COMPACT = {"cleanup.policy": "compact", "segment.bytes": str(SEGMENT_BYTES), "min.cleanable.dirty.ratio": "0.01"}
KEYS = 20


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(log_cleaner_backoff_ms=200) as broker:
        yield broker


@pytest.fixture
def client(broker: Broker) -> Confluent:
    return Confluent(broker.bootstrap)


def until_clean(broker: Broker, client: Confluent, topic: str) -> None:
    """Only the newest record of each key is below the active segment."""
    until(lambda: len(read_all(broker.bootstrap, topic)) <= KEYS + PER_SEGMENT + 1)


def others(broker: Broker) -> Iterator[Client]:
    """Each that can be had on this machine."""
    for name in roster.CLIENTS:
        try:
            client = roster.make(name, broker.bootstrap)
        except MissingTool:
            continue
        yield client
        if isinstance(client, line_driver.LineDriver):
            client.close()


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_one_value_a_key_for_every_client(broker: Broker, client: Confluent, codec: str) -> None:
    topic = created(client, f"table-{codec}", config=COMPACT)
    count = 4 * PER_SEGMENT
    for start in range(0, count, PER_SEGMENT):
        client.produce(topic, keyed(range(start, start + PER_SEGMENT), KEYS), codec=codec)
    if codec != "none":
        # Compressed they are few bytes: a setting makes segments that can be sealed.
        client.set_config(topic, "segment.ms", "1")
    client.produce(topic, keyed(range(count, count + KEYS), KEYS), codec=codec)
    client.produce(topic, keyed(range(count + KEYS, count + 2 * KEYS), KEYS), codec=codec)
    until_clean(broker, client, topic)
    expected = {f"key-{number % KEYS}".encode(): number for number in range(count + KEYS, count + 2 * KEYS)}
    records = read_all(broker.bootstrap, topic)
    assert newest(records) == expected
    assert [record.offset for record in records] == sorted({record.offset for record in records})
    for other in others(broker):
        seen = other.consume(topic, count=len(records))
        assert [(each.offset, each.key, each.timestamp_ms) for each in seen] == [
            (each.offset, each.key, each.timestamp_ms) for each in records
        ], other.name
    assert metric(broker.metrics_url, "headrace_cleaner_failures_total") == 0


def test_a_tombstone_deletes_and_then_goes(broker: Broker, client: Confluent) -> None:
    config = {**COMPACT, "delete.retention.ms": "0", "max.compaction.lag.ms": "500"}
    topic = created(client, "tombstones", config=config)
    client.produce(topic, [Record(b"kept", b"1:"), Record(b"gone", b"1:")])
    client.produce(topic, [Record(b"gone", None)])
    # The lag seals the segment by itself; nothing more has to be written.
    until(lambda: [record.key for record in read_all(broker.bootstrap, topic)] == [b"kept"])


def test_a_record_without_a_key_is_refused(client: Confluent) -> None:
    topic = created(client, "keyless", config=COMPACT)
    with pytest.raises(Refused):
        client.produce(topic, [Record(None, b"v")])


def test_compact_and_delete(broker: Broker, client: Confluent) -> None:
    config = {**COMPACT, "cleanup.policy": "compact,delete"}
    topic = created(client, "both", config=config)
    count = 4 * PER_SEGMENT
    client.produce(topic, keyed(range(count), KEYS))
    until_clean(broker, client, topic)
    assert newest(read_all(broker.bootstrap, topic)).keys() == {f"key-{n}".encode() for n in range(KEYS)}


def test_committed_offsets_are_compacted_and_found_again(tmp_path: Path) -> None:
    settings = {
        "log.cleaner.backoff.ms": 100,
        "log.cleaner.min.cleanable.ratio": 0.01,
        "offsets.topic.segment.bytes": SEGMENT_BYTES,
        "offsets.topic.num.partitions": 1,
    }
    with Broker(settings, data=tmp_path) as broker:
        client = Confluent(broker.bootstrap)
        topic = created(client, "read", 10)
        for offset in range(1, 80):
            commit(broker.bootstrap, topic, 10, offset)
        until(
            lambda: (
                sum(path.stat().st_size for path in log_files(broker.data, "__consumer_offsets")) < 2 * SEGMENT_BYTES
            )
        )
        assert committed(broker.bootstrap, topic, 10) == [79] * 10
        broker.kill()
        broker.start()
        until(lambda: committed(broker.bootstrap, topic, 10) == [79] * 10)


def commit(bootstrap: str, topic: str, partitions: int, offset: int) -> None:
    """With as much metadata as a commit may carry, so that a segment fills up soon."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers"})
    offsets = [TopicPartition(topic, partition, offset, metadata="m" * 4000) for partition in range(partitions)]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


def committed(bootstrap: str, topic: str, partitions: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers"})
    try:
        found = consumer.committed([TopicPartition(topic, partition) for partition in range(partitions)], timeout=60)
    except KafkaException:
        return []
    finally:
        consumer.close()
    return [each.offset for each in found]


def test_an_idempotent_producer_goes_on_where_its_records_were_cleaned_away(tmp_path: Path) -> None:
    """Its last batch is left without records, for its sequence number, and is not forgotten by a start either."""
    with Broker({"log.cleaner.backoff.ms": 100}, data=tmp_path) as broker:
        client = Confluent(broker.bootstrap)
        topic = created(client, "table", config=COMPACT)
        producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
        producer.produce(topic, b"0:", b"key-0", 0)
        assert producer.flush(60) == 0
        client.produce(topic, keyed(range(3 * PER_SEGMENT), KEYS))
        until(lambda: read_all(broker.bootstrap, topic)[0].offset > 0)
        broker.kill()
        broker.start()
        failures: list[KafkaError] = []
        producer.produce(
            topic, b"999:", b"key-0", 0, on_delivery=lambda error, _: failures.append(error) if error else None
        )
        assert producer.flush(30) == 0
        assert failures == []
        assert newest(read_all(broker.bootstrap, topic))[b"key-0"] == 999


@pytest.mark.parametrize("seen", [".cleaned", ".swap"])
def test_a_kill_in_the_midst_of_it(tmp_path: Path, seen: str) -> None:
    """The broker dies as soon as a file of that kind is seen; what it left is finished or swept away."""
    slow = {"log.cleaner.backoff.ms": 100, "log.cleaner.io.max.bytes.per.second": 20 << 20}
    with Broker(slow, data=tmp_path) as broker:
        client = Confluent(broker.bootstrap)
        topic = created(client, "table", config=COMPACT)
        count = 6 * PER_SEGMENT
        client.produce(topic, keyed(range(count), KEYS))
        _until_seen(broker.data, topic, seen)
        broker.kill()
        broker.start()
        until(lambda: not log_files(broker.data, topic, ".swap"))
        until_clean(broker, client, topic)
        expected = {f"key-{number % KEYS}".encode(): number for number in range(count - KEYS, count)}
        records = read_all(broker.bootstrap, topic)
        assert newest(records) == expected
        assert [record.offset for record in records] == sorted({record.offset for record in records})


def _until_seen(data: Path, topic: str, suffix: str) -> None:
    """Some are there for a millisecond only: if none is caught in a second, any moment is as good."""
    directory = log_files(data, topic)[0].parent
    deadline = time.monotonic() + (20 if suffix == ".cleaned" else 1)
    while time.monotonic() < deadline:
        if any(path.name.endswith(suffix) for path in directory.iterdir()):
            return
