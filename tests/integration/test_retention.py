"""Segments that a topic no longer keeps are gone: by size, by time, by wish, and when a setting says so."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from created import created
from upkeep import PER_SEGMENT, SEGMENT_BYTES, log_files, metric, read_all, value_of

from clients.client import EARLIEST, LATEST, WAIT_S, Record, Refused
from clients.confluent import Confluent
from eventually import until
from headrace.testing import Broker

SEGMENTS = {"segment.bytes": str(SEGMENT_BYTES)}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(log_retention_check_interval_ms=200) as broker:
        yield broker


@pytest.fixture
def client(broker: Broker) -> Confluent:
    return Confluent(broker.bootstrap)


def fill(client: Confluent, topic: str, segments: int, timestamp_ms: int | None = None) -> int:
    """How many records."""
    count = segments * PER_SEGMENT
    client.produce(topic, [Record(None, value_of(number), timestamp_ms=timestamp_ms) for number in range(count)])
    return count


def first_offset(client: Confluent, topic: str) -> int:
    """-1 while a broker that has just started does not lead yet."""
    try:
        return client.offset_at(topic, EARLIEST)
    except Refused:
        return -1


def test_by_size(broker: Broker, client: Confluent) -> None:
    topic = created(client, "by-size", config={**SEGMENTS, "retention.bytes": str(2 * SEGMENT_BYTES)})
    count = fill(client, topic, 5)
    until(lambda: first_offset(client, topic) > 0)
    until(lambda: len(log_files(broker.data, topic)) <= 4)
    start = first_offset(client, topic)
    assert count - start >= 2 * PER_SEGMENT - 2, "no more goes than the limit says"
    records = read_all(broker.bootstrap, topic)
    assert [record.offset for record in records] == list(range(start, count))
    until(lambda: metric(broker.metrics_url, "headrace_topic_retention_fill_ratio") > 0.9)


def test_by_time_up_to_the_last_record(broker: Broker, client: Confluent) -> None:
    topic = created(client, "by-time", config={**SEGMENTS, "retention.ms": "3600000"})
    hour_ago = int(time.time() * 1000) - 3_700_000
    count = fill(client, topic, 2, hour_ago)
    until(lambda: first_offset(client, topic) == count)
    assert client.offset_at(topic, LATEST) == count
    until(lambda: sum(path.stat().st_size for path in log_files(broker.data, topic)) == 0)
    client.produce(topic, [Record(None, b"young")])
    assert [record.offset for record in read_all(broker.bootstrap, topic)] == [count]


def test_a_reader_in_what_is_gone_is_told(broker: Broker, client: Confluent) -> None:
    topic = created(client, "told", config=SEGMENTS)
    fill(client, topic, 1)
    client.delete_records(topic, 10)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "told", "auto.offset.reset": "error"})
    try:
        consumer.assign([TopicPartition(topic, 0, 5)])
        message = consumer.poll(WAIT_S)
        assert message is not None
        assert message.error().code() == KafkaError._AUTO_OFFSET_RESET
    finally:
        consumer.close()


def test_a_changed_setting_counts_at_once_and_the_start_survives_a_kill(broker: Broker, client: Confluent) -> None:
    topic = created(client, "changed", config=SEGMENTS)
    count = fill(client, topic, 3)
    assert first_offset(client, topic) == 0
    client.set_config(topic, "retention.bytes", str(SEGMENT_BYTES))
    until(lambda: first_offset(client, topic) > 0)
    until(lambda: len(log_files(broker.data, topic)) <= 3)
    client.set_config(topic, "retention.bytes", "-1")
    start = first_offset(client, topic)
    broker.kill()
    broker.start()
    # A new one: librdkafka's admin client keeps the leader epoch it knows.
    until(lambda: first_offset(Confluent(broker.bootstrap), topic) >= start)
    assert [record.offset for record in read_all(broker.bootstrap, topic)] == list(range(start, count))
