"""MirrorMaker 2, in a worker of Kafka Connect: a topic of another cluster, and where a group stands in it."""

from collections.abc import Callable, Iterable
from typing import Self

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
        with (
            three.outcome(MIRRORED) as mirrored,
            TopicFeed(origin.bootstrap, TOPIC) as feed,
            Readers(origin.bootstrap, three.bootstrap) as readers,
        ):
            before = until(readers.stand, all, READ_SECONDS, lambda: worker.said)
            three.kill_leader_at_work(MIRRORED, mirrored, worker.well)
            after = until(readers.stand, _later_than(before), READ_SECONDS, lambda: worker.said)
            feed.stop()
            mirrored.until(len(feed.sent), worker.well)
            found = mirrored.read()
        assert worker.failed("records") + worker.failed("offsets") == []
        assert exactly_once(feed.sent, found) == []
        # The group may go on at the mirror: nothing that it has not read lies before its offsets there.
        assert at_least_once(feed.sent, {("origin", 0): readers.read, **_from(after, found)}) == []


class Readers:
    """A group at the origin; what it has read, and where it stands in the mirror."""

    def __init__(self, origin: str, target: str) -> None:
        settings = {"group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False, "log_level": 0}
        self.read: list[Found] = []
        self._origin = Consumer({"bootstrap.servers": origin, **settings})
        self._target = Consumer({"bootstrap.servers": target, **settings})

    def __enter__(self) -> Self:
        self._origin.subscribe([TOPIC])
        return self

    def __exit__(self, *_: object) -> None:
        self._origin.close()
        self._target.close()

    def stand(self) -> list[int]:
        """By partition of the mirror, 0 where nothing is known yet, after they read on at the origin and committed."""
        messages = [message for message in self._origin.consume(500, 0.5) if not message.error()]
        if messages:
            self.read += [Found(message.offset(), Written.decode(message.value())) for message in messages]
            self._origin.commit(asynchronous=False)
        return [
            max(each.offset, 0) for each in self._target.committed([TopicPartition(*place) for place in PLACES], 30)
        ]


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


def _later_than(before: list[int]) -> Callable[[list[int]], bool]:
    return lambda now: all(then < offset for then, offset in zip(before, now, strict=True))


def _from(offsets: Iterable[int], found: dict[Place, list[Found]]) -> dict[Place, list[Found]]:
    return {
        place: [each for each in found[place] if each.offset >= offset]
        for place, offset in zip(PLACES, offsets, strict=True)
    }
