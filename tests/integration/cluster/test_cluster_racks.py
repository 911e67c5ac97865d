"""Racks: replicas are spread over them, and a consumer that names its own reads there (KIP-392)."""

import pytest
from confluent_kafka import Consumer, TopicPartition

from clients.client import Record
from eventually import collected
from headrace.testing import Cluster

COUNT = 2_000
BYTES_OUT = "headrace_topic_bytes_out_total"


@pytest.fixture
def racked(lab_of):
    with Cluster(6, racks=["a", "b", "c", "a", "b", "c"]) as cluster:
        yield lab_of(cluster)


def consume(bootstrap: str, topic: str, rack: str) -> int:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "assigned", "enable.auto.commit": False, "client.rack": rack}
    )
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        got = collected(
            lambda: [message for message in consumer.consume(500, 1.0) if message.error() is None],
            lambda messages: len(messages) >= COUNT,
        )
        return len(got)
    finally:
        consumer.close()


def test_replicas_are_in_different_racks_and_each_reader_is_served_in_its_own(racked) -> None:
    topic = racked.create("orders", partitions=1)
    racked.client.produce(topic, [Record(None, b"v" * 1000) for _ in range(COUNT)])
    seen = racked.until(
        lambda seen: all(replica.lag == 0 for each in seen.partitions.values() for replica in each.held.values())
    )
    partition = seen.partitions[(topic, 0)]
    by_rack = {seen.brokers[replica].rack: replica for replica in partition.replicas}
    assert sorted(by_rack) == ["a", "b", "c"]
    for rack, replica in by_rack.items():
        before = {each: racked.metric(each, BYTES_OUT, topic) for each in partition.replicas}
        assert consume(racked.cluster.bootstrap, topic, rack) == COUNT
        read = {each: racked.metric(each, BYTES_OUT, topic) - before[each] for each in partition.replicas}
        assert read[replica] >= COUNT * 1000, f"{rack}: {read}"
        assert all(count == 0 for each, count in read.items() if each != replica), f"{rack}: {read}"


def test_a_reader_goes_on_when_its_replica_dies(racked) -> None:
    topic = racked.create("orders", partitions=1)
    racked.client.produce(topic, [Record(None, b"v" * 1000) for _ in range(COUNT)])
    partition = racked.until_healthy().partitions[(topic, 0)]
    follower = next(each for each in partition.replicas if each != partition.leader)
    rack = racked.cluster.options(follower).rack
    racked.cluster.kill(follower)
    assert consume(racked.live_bootstrap, topic, rack) == COUNT
