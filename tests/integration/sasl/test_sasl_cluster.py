"""Three brokers that log in at each other, and whose logins end soon: what is acknowledged is on all of them."""

from time import monotonic

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from sasl_brokers import BROKER, add_users, librdkafka

from eventually import until
from headrace.cli.run.ports import free_port
from headrace.testing.broker import HOST
from headrace.testing.cluster import Cluster

SESSION_MS = 2_000
SECONDS_OF_LOAD = 4 * SESSION_MS / 1000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    data = tmp_path_factory.mktemp("cluster")
    add_users(data, "al")
    add_users(data, BROKER, password=BROKER)
    ports = {number: free_port(HOST) for number in (1, 2, 3)}
    settings = {
        "listeners": lambda number: f"OUT://{HOST}:{ports[number]}",
        "listener.security.protocol.map": "OUT:SASL_PLAINTEXT",
        "listener.name.out.scram-sha-512.sasl.jaas.config": (
            f'ScramLoginModule required username="{BROKER}" password="{BROKER}";'
        ),
        "connections.max.reauth.ms": SESSION_MS,
    }
    with Cluster(3, settings, data=data) as cluster:
        cluster.secured = ",".join(f"{HOST}:{port}" for port in ports.values())
        yield cluster


def test_replication_goes_on_past_the_end_of_logins(cluster, headrace_topic):
    login = {**librdkafka(cluster, "SCRAM-SHA-256"), "bootstrap.servers": cluster.secured}
    admin = AdminClient(login)
    made = admin.create_topics([NewTopic(headrace_topic, 3, 3)])
    made[headrace_topic].result(30)
    producer = Producer({**login, "acks": "all", "message.timeout.ms": 30_000})
    sent: list[object] = []

    def send(number: int) -> None:
        producer.produce(headrace_topic, b"%d" % number, on_delivery=lambda error, _: sent.append(error))
        assert producer.flush(30) == 0

    begun, count = monotonic(), 0
    while monotonic() < begun + SECONDS_OF_LOAD:
        send(count)
        count += 1
    assert set(sent) == {None}
    consumer = Consumer({**login, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([headrace_topic])
    seen: set[bytes] = set()
    try:
        until(lambda: seen.update(each.value() for each in consumer.consume(1000, 1.0)) or len(seen) == count)
    finally:
        consumer.close()
    described = admin.list_topics(headrace_topic).topics[headrace_topic]
    assert all(len(partition.isrs) == 3 for partition in described.partitions.values())
