"""MirrorMaker 2, in a worker of Kafka Connect: a topic of another cluster, and where a group stands in it."""

from collections.abc import Iterable

import pytest
from confluent_kafka import Consumer, TopicPartition

from chaos.ledger import Found, Place, Written
from clients.build import java_classpath
from clients.confluent import Confluent
from ecosystem.conftest import PARTITIONS, START_SECONDS
from ecosystem.connect_worker import CONNECT, Worker
from ecosystem.feed import TopicFeed
from ecosystem.judge import at_least_once, exactly_once
from eventually import until
from headrace.testing import Cluster

TOPIC, MIRRORED = "orders", "origin.orders"
GROUP = "readers"
READ_SECONDS = 180.0
PLACES: list[Place] = [(MIRRORED, partition) for partition in range(PARTITIONS)]

pytestmark = pytest.mark.long


def test_records_and_the_offsets_of_a_group(three, built) -> None:
    with (
        Cluster(1, start_seconds=START_SECONDS) as origin,
        Worker(built(java_classpath, CONNECT), three.bootstrap, three.folder) as worker,
    ):
        Confluent(origin.bootstrap).create_topic(TOPIC, PARTITIONS)
        _mirror(worker, origin.bootstrap, three.bootstrap)
        with three.outcome(MIRRORED) as mirrored, TopicFeed(origin.bootstrap, TOPIC) as feed:
            mirrored.progress(PARTITIONS, worker.well)
            done = _read_on(origin.bootstrap, len(feed.sent))
            before = until(lambda: _committed(three.bootstrap), all, READ_SECONDS, lambda: worker.said)
            three.kill_leader_at_work(MIRRORED, mirrored, worker.well)
            done += _read_on(origin.bootstrap, len(feed.sent) - len(done))
            after = until(lambda: _committed(three.bootstrap), _later_than(before), READ_SECONDS, lambda: worker.said)
            feed.stop()
            mirrored.until(len(feed.sent), worker.well)
            found = mirrored.read()
        assert worker.failed("records") + worker.failed("offsets") == []
        assert exactly_once(feed.sent, found) == []
        # The group may go on at the mirror: nothing that it has not read lies before its offsets there.
        assert at_least_once(feed.sent, {("origin", 0): done, **_from(after, found)}) == []


def _mirror(worker: Worker, origin: str, target: str) -> None:
    both = {
        "source.cluster.alias": "origin",
        "target.cluster.alias": "target",
        "source.cluster.bootstrap.servers": origin,
        "target.cluster.bootstrap.servers": target,
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "topics": TOPIC,
        "groups": GROUP,
        # The origin is one broker, and offsets are to be followed closely.
        "offset-syncs.topic.replication.factor": "1",
        "offset.lag.max": "10",
        "replication.factor": "3",
    }
    connectors = "org.apache.kafka.connect.mirror.Mirror"
    worker.put(
        "records",
        connector_class=f"{connectors}SourceConnector",
        exactly_once_support="required",
        source_consumer_isolation_level="read_committed",
        **both,
    )
    worker.put(
        "offsets",
        connector_class=f"{connectors}CheckpointConnector",
        sync_group_offsets_enabled="true",
        sync_group_offsets_interval_seconds="1",
        emit_checkpoints_interval_seconds="1",
        refresh_groups_interval_seconds="5",
        **both,
    )


def _read_on(origin: str, count: int) -> list[Found]:
    """As a member of the group, from where it stands; committed."""
    settings = {"bootstrap.servers": origin, "group.id": GROUP, "auto.offset.reset": "earliest", "log_level": 0}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    read: list[Found] = []
    try:
        consumer.subscribe([TOPIC])
        until(lambda: _read_more(consumer, read), lambda _: len(read) >= count, READ_SECONDS)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return read


def _read_more(consumer: Consumer, read: list[Found]) -> int:
    messages = [message for message in consumer.consume(500, 0.2) if not message.error()]
    read += [Found(message.offset(), Written.decode(message.value())) for message in messages]
    return len(read)


def _committed(target: str) -> list[int]:
    """Where the group stands in the mirror, by partition; 0 where it stands nowhere yet."""
    consumer = Consumer({"bootstrap.servers": target, "group.id": GROUP, "log_level": 0})
    try:
        return [max(each.offset, 0) for each in consumer.committed([TopicPartition(*place) for place in PLACES], 30)]
    finally:
        consumer.close()


def _later_than(before: list[int]):
    return lambda now: all(then < offset for then, offset in zip(before, now, strict=True))


def _from(offsets: Iterable[int], found: dict[Place, list[Found]]) -> dict[Place, list[Found]]:
    return {
        place: [each for each in found[place] if each.offset >= offset]
        for place, offset in zip(PLACES, offsets, strict=True)
    }
