"""What brokers count moves as the traffic does: two real brokers, and what goes over them, lags, is held back and goes."""

import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType
from gateway_process import SECONDS
from metric_page import page_at, value_on

from eventually import until
from headrace.testing import Cluster

MEGABYTE = 1 << 20
HOUR_MS = 3_600_000


class Measured:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})

    def create(self, replicas: list[int], **config: object) -> str:
        name = f"t-{uuid.uuid4().hex[:12]}"
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        topic = NewTopic(name, num_partitions=1, replica_assignment=[replicas], config=settings)
        self.admin.create_topics([topic])[name].result(SECONDS)
        until(lambda: f'headrace_topic_leaders{{topic="{name}"}} 1' in page_at(self.cluster.metrics_url(replicas[0])))
        return name

    def alter(self, topic: str, setting: str, value: str | None) -> None:
        how = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        entry = ConfigEntry(setting, value, incremental_operation=how)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(SECONDS)

    def produce(self, topic: str, records: int, size: int = 100, timestamp_ms: int = 0) -> None:
        settings = {"bootstrap.servers": self.cluster.bootstrap, "log_level": 0, "acks": 1, "batch.size": MEGABYTE // 4}
        producer = Producer(settings)
        for _ in range(records):
            producer.produce(topic, bytes(size), timestamp=timestamp_ms)
        assert producer.flush(SECONDS) == 0

    def consume(self, topic: str, records: int) -> None:
        settings = {"bootstrap.servers": self.cluster.bootstrap, "log_level": 0, "group.id": f"g-{topic}"}
        consumer = Consumer({**settings, "enable.auto.commit": False})
        consumer.assign([TopicPartition(topic, 0, 0)])
        assert len(consumer.consume(records, SECONDS)) == records
        consumer.close()

    def value(self, broker: int, name: str, **labels: str) -> float:
        return value_on(page_at(self.cluster.metrics_url(broker)), f"headrace_{name}", **labels)

    def partition(self, broker: int, name: str, topic: str) -> float:
        page = page_at(f"{self.cluster.metrics_url(broker)}/partitions?topic={topic}")
        return value_on(page, f"headrace_partition_{name}", topic=topic, partition="0")


@pytest.fixture(scope="module")
def measured() -> Iterator[Measured]:
    rate = MEGABYTE // 8
    settings = {"log.retention.check.interval.ms": 200, "follower.replication.throttled.rate": rate}
    with Cluster(2, settings) as cluster:
        yield Measured(cluster)
        # Nothing is to remain of them, so they need no clean stop.
        cluster.kill()


def test_bytes_and_what_they_cost(measured: Measured) -> None:
    names = ("bytes_received_total", "bytes_sent_total", "process_cpu_seconds_total", "sync_files_total")
    names += ("connections_accepted_total", "loop_lag_seconds_count")
    topic = measured.create([1])
    before = {name: measured.value(1, name) for name in names}
    measured.produce(topic, 1000, size=2000)
    measured.consume(topic, 1000)
    until(lambda: all(measured.value(1, name) > before[name] for name in names))
    assert measured.value(1, "bytes_received_total") - before["bytes_received_total"] > 2_000_000
    assert measured.value(1, "bytes_sent_total") - before["bytes_sent_total"] > 2_000_000
    assert measured.value(1, "topic_bytes_out_total", topic=topic) > 2_000_000
    assert measured.value(1, "process_max_resident_bytes") >= 10e6


def test_connections_and_those_that_broke_the_protocol(measured: Measured) -> None:
    opened, broken = measured.value(1, "connections_open"), measured.value(1, "peer_errors_total")
    host, port = measured.cluster.address(1).split(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        until(lambda: measured.value(1, "connections_open") > opened)
        connection.sendall(b"\xff" * 100)
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""
    until(lambda: measured.value(1, "peer_errors_total") > broken)
    assert measured.value(1, "handler_failures_total") == 0


def test_segments(measured: Measured) -> None:
    topic = measured.create([1], segment_bytes=MEGABYTE)
    assert measured.value(1, "topic_segments", topic=topic) == 1
    measured.produce(topic, 30, size=100_000)
    count = measured.value(1, "topic_segments", topic=topic)
    assert count == measured.partition(1, "segments", topic) >= 3
    assert measured.value(1, "topic_log_bytes", topic=topic) == measured.partition(1, "log_bytes", topic) > 3_000_000


def test_when_the_oldest_is_due_and_that_it_goes(measured: Measured) -> None:
    topic = measured.create([1], retention_ms=HOUR_MS)
    written_ms = int(time.time() * 1000) - HOUR_MS // 2
    measured.produce(topic, 10, timestamp_ms=written_ms)
    until(lambda: f'oldest_due_seconds{{topic="{topic}"}}' in page_at(measured.cluster.metrics_url(1)))
    due = measured.value(1, "topic_oldest_due_seconds", topic=topic)
    assert due == pytest.approx((written_ms + HOUR_MS) / 1000, abs=0.001)
    dropped = measured.value(1, "retention_segments_total")
    measured.alter(topic, "retention.ms", str(HOUR_MS // 4))
    until(lambda: measured.partition(1, "start_offset", topic) == 10)
    until(lambda: measured.value(1, "retention_segments_total") > dropped)
    assert measured.partition(1, "end_offset", topic) == 10


def test_a_follower_that_is_gone_and_held_back_when_it_comes_again(measured: Measured) -> None:
    topic = measured.create([1, 2])
    measured.produce(topic, 10)
    until(lambda: measured.value(1, "topic_replica_lag_records", topic=topic) == 0)
    until(lambda: measured.value(2, "topic_copied_in_bytes_total", topic=topic) > 0)
    assert measured.partition(1, "isr_size", topic) == 2
    assert (measured.partition(1, "is_leader", topic), measured.partition(2, "is_leader", topic)) == (1, 0)

    measured.alter(topic, "follower.replication.throttled.replicas", "*")
    measured.cluster.kill(2)
    measured.produce(topic, 60, size=100_000)
    assert measured.value(1, "topic_replica_lag_records", topic=topic) == 60
    assert measured.partition(1, "replica_lag_records", topic) == 60
    until(lambda: measured.value(1, "topic_under_replicated", topic=topic) == 1)
    assert measured.value(1, "topic_replica_lag_seconds", topic=topic) > 0
    assert measured.partition(1, "isr_size", topic) == measured.value(1, "topic_isr_size_min", topic=topic) == 1

    measured.cluster.start(2)
    until(lambda: measured.value(2, "throttle_seconds_total") > 0)
    assert measured.value(1, "topic_replica_lag_records", topic=topic) > 0
    measured.alter(topic, "follower.replication.throttled.replicas", None)
    until(lambda: measured.value(1, "topic_replica_lag_records", topic=topic) == 0)
    until(lambda: measured.value(1, "topic_under_replicated", topic=topic) == 0)
    assert measured.value(1, "topic_copied_out_bytes_total", topic=topic) > 6_000_000
    assert measured.value(1, "throttle_seconds_total") == 0, "the leader held nobody back"


def test_who_heals_and_who_is_fenced(measured: Measured) -> None:
    def total(name: str) -> float:
        return sum(measured.value(each, name) for each in measured.cluster.ids)

    # On a busy machine a broker may lose its lease for a moment.
    until(
        lambda: [total(name) for name in ("controller", "fenced", "leaderless_partitions")],
        lambda seen: seen == [1, 0, 0],
    )
    assert measured.value(1, "unclean_elections_total") == 0
