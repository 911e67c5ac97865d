"""Records in and out of topics, for these tests."""

import json

from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.pipelines.kafka import Kafka, look_at_all

ADMIN_SECONDS = 60


def send(bootstrap: str, topic: str, values, **settings) -> None:
    """Objects become JSON; a (key, value) pair has a key, and its partition follows from it."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 5, **settings})
    failures = []
    for number, value in enumerate(values):
        key, value = value if isinstance(value, tuple) else (None, value)
        raw = json.dumps(value).encode() if isinstance(value, dict) else value
        producer.produce(
            topic,
            raw,
            key,
            headers=[("n", b"%d" % number)],
            on_delivery=lambda error, _: error and failures.append(error),
        )
        producer.poll(0)
    assert producer.flush(60) == 0 and not failures


def records_of(bootstrap, topic):
    """(partition, offset, (key, value, headers, time)), in order."""
    view = look_at_all(Kafka(bootstrap), topic, seconds=60)
    config = {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer(config | {"enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in view.end])
    found, open_partitions = [], set(view.end)
    try:
        while open_partitions:
            message = consumer.poll(60)
            assert message is not None, "nothing came"
            if message.error():
                open_partitions.discard(message.partition())
                continue
            content = (message.key(), message.value(), message.headers(), message.timestamp())
            found.append((message.partition(), message.offset(), content))
    finally:
        consumer.close()
    return sorted(found, key=lambda record: record[:2])
