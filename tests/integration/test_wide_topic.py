"""A topic of a thousand partitions: made, filled, listed, read and deleted."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from created import created

from clients.client import LATEST, Client, Record

PARTITIONS = 1000


@pytest.fixture(scope="module")
def wide(reference) -> Iterator[str]:
    topic = created(reference, f"wide-{time.time_ns()}", PARTITIONS)
    yield topic
    reference.delete_topic(topic)


def test_write_and_read_every_partition(wide: str, bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition in range(PARTITIONS):
        producer.produce(wide, str(partition).encode(), partition=partition)
    assert producer.flush(60) == 0
    assert _values(bootstrap, wide) == {partition: str(partition).encode() for partition in range(PARTITIONS)}


def test_every_client_sees_and_uses_the_last_partition(client: Client, wide: str) -> None:
    assert client.topics()[wide] == PARTITIONS
    end = client.offset_at(wide, LATEST, partition=PARTITIONS - 1)
    client.produce(wide, [Record(None, client.name.encode())], partition=PARTITIONS - 1)
    (record,) = client.consume(wide, partition=PARTITIONS - 1, offset=end, count=1)
    assert record.value == client.name.encode()


def _values(bootstrap: str, topic: str) -> dict[int, bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "assigned", "enable.auto.commit": False})
    values: dict[int, bytes] = {}
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        while len(values) < PARTITIONS:
            messages = consumer.consume(PARTITIONS, timeout=60)
            assert messages, f"only {len(values)} of {PARTITIONS} partitions gave their record"
            for message in messages:
                assert message.error() is None, message.error()
                values[message.partition()] = message.value()
    finally:
        consumer.close()
    return values
