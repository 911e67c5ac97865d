"""A topic of a thousand partitions: made, filled, listed, read and deleted."""

from clients.client import Client, Record
from confluent_kafka import Consumer, Producer, TopicPartition

PARTITIONS = 1000


def test_write_and_read_every_partition(new_topic, bootstrap: str, reference) -> None:
    topic = new_topic(partitions=PARTITIONS)
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition in range(PARTITIONS):
        producer.produce(topic, str(partition).encode(), partition=partition)
    assert producer.flush(60) == 0
    assert _values(bootstrap, topic) == {partition: str(partition).encode() for partition in range(PARTITIONS)}
    reference.delete_topic(topic)


def test_every_client_sees_and_uses_the_last_partition(client: Client, new_topic, reference) -> None:
    topic = new_topic(partitions=PARTITIONS)
    assert client.topics()[topic] == PARTITIONS
    client.produce(topic, [Record(None, b"last")], partition=PARTITIONS - 1)
    (record,) = client.consume(topic, partition=PARTITIONS - 1, count=1)
    assert record.value == b"last"
    reference.delete_topic(topic)


def _values(bootstrap: str, topic: str) -> dict[int, bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "assigned", "enable.auto.commit": False})
    values: dict[int, bytes] = {}
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        while len(values) < PARTITIONS:
            messages = consumer.consume(PARTITIONS, timeout=10)
            assert messages, f"only {len(values)} of {PARTITIONS} partitions gave their record"
            for message in messages:
                assert message.error() is None, message.error()
                values[message.partition()] = message.value()
    finally:
        consumer.close()
    return values
