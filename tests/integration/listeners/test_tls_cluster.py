"""Three brokers that call each other over TLS, by certificates: replication, fail-over, new certificates under load."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from test_tls_clients import values
from tls_world import HOST, Certificates

from eventually import until
from headrace.cli.run.ports import free_port
from headrace.cli.security.certificates import read_server
from headrace.testing import Cluster

NUMBERS = (1, 2, 3)
TLS_ONLY = {
    "listener.security.protocol.map": "BROKERS:SSL,CLIENTS:SSL",
    "inter.broker.listener.name": "BROKERS",
    "listener.name.brokers.ssl.client.auth": "required",
}


class TlsCluster:
    def __init__(self, certificates: Certificates) -> None:
        self.certificates = certificates
        self.clients = {number: free_port(HOST) for number in NUMBERS}
        self.brokers = {number: free_port(HOST) for number in NUMBERS}
        settings = {
            **TLS_ONLY,
            "listeners": self._urls,
            "ssl.keystore.location": lambda number: certificates.broker(f"broker-{number}"),
            "ssl.truststore.location": certificates.ca,
        }
        self.cluster = Cluster(3, settings)

    def _urls(self, number: int) -> str:
        return f"BROKERS://{HOST}:{self.brokers[number]},CLIENTS://{HOST}:{self.clients[number]}"

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self.clients.values())

    @property
    def options(self) -> dict[str, str]:
        return self.certificates.librdkafka()

    def create(self, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, **self.options})
        until(lambda: len(admin.list_topics(timeout=10).brokers) == 3)
        for done in admin.create_topics([NewTopic(topic, 6, 3)]).values():
            done.result(30)

    def in_sync(self, topic: str) -> list[int]:
        """The sizes of the in-sync sets."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, **self.options})
        partitions = admin.list_topics(topic, timeout=10).topics[topic].partitions
        return [len(each.isrs) for each in partitions.values()]


@pytest.fixture(scope="module")
def tls_cluster(certificates: Certificates) -> Iterator[TlsCluster]:
    tls_cluster = TlsCluster(certificates)
    with tls_cluster.cluster:
        yield tls_cluster


class Load:
    """Records in order, with acks of all, while something happens to the brokers."""

    def __init__(self, tls_cluster: TlsCluster, topic: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": tls_cluster.bootstrap, "enable.idempotence": True, **tls_cluster.options}
        )
        self._topic = topic
        self.sent = 0

    def send(self, count: int) -> None:
        for _ in range(count):
            self._producer.produce(self._topic, str(self.sent), partition=self.sent % 6)
            self.sent += 1
            self._producer.poll(0)
        assert self._producer.flush(60) == 0


def test_a_broker_dies_and_comes_back(tls_cluster: TlsCluster) -> None:
    tls_cluster.create("survives")
    load = Load(tls_cluster, "survives")
    load.send(500)
    tls_cluster.cluster.kill(1)
    load.send(500)
    tls_cluster.cluster.start(1)
    load.send(500)
    until(lambda: tls_cluster.in_sync("survives"), lambda sizes: sizes == [3] * 6)
    got = values(tls_cluster.options, tls_cluster.bootstrap, "survives", load.sent)
    assert sorted(map(int, got)) == list(range(load.sent))


def test_new_certificates_under_load(tls_cluster: TlsCluster) -> None:
    """A new authority beside the old one, then certificates of the new one, and nobody is cut off."""
    tls_cluster.create("renewed")
    load = Load(tls_cluster, "renewed")
    load.send(200)
    before = {number: read_server(HOST, port) for number, port in tls_cluster.clients.items()}
    for number in NUMBERS:
        tls_cluster.certificates.broker(f"broker-{number}", ("localhost", HOST, "renewed.example.com"))

    def are_renewed() -> bool:
        load.send(50)
        shown = [read_server(HOST, port)[0].names for port in tls_cluster.clients.values()]
        return all("renewed.example.com" in names for names in shown)

    until(are_renewed)
    assert all("renewed.example.com" not in each[0].names for each in before.values())
    assert tls_cluster.in_sync("renewed") == [3] * 6
    # Brokers call each other anew, with the new ones.
    tls_cluster.cluster.restart(2)
    load.send(200)
    until(lambda: tls_cluster.in_sync("renewed"), lambda sizes: sizes == [3] * 6)
    got = values(tls_cluster.options, tls_cluster.bootstrap, "renewed", load.sent)
    assert sorted(map(int, got)) == list(range(load.sent))


def test_nobody_calls_brokers_without_a_certificate(tls_cluster: TlsCluster) -> None:
    producer = Producer(
        {"bootstrap.servers": f"{HOST}:{tls_cluster.brokers[1]}", "log_level": 0, **tls_cluster.options}
    )
    with pytest.raises(Exception, match="_TRANSPORT"):
        producer.list_topics(timeout=3)


def test_a_broker_whose_certificate_is_of_another_host_is_not_followed(
    certificates: Certificates, tmp_path: Path
) -> None:
    """The certificate of its leader says another name: the follower never gets in sync."""
    ports = {number: free_port(HOST) for number in (1, 2)}
    names = {1: ("elsewhere.example.com",), 2: (HOST,)}
    settings = {
        "default.replication.factor": 2,
        "auto.leader.rebalance.enable": False,
        "replica.lag.time.max.ms": 1000,
        "listeners": lambda number: f"SSL://{HOST}:{ports[number]}",
        "ssl.keystore.location": lambda number: certificates.broker(f"wrong-{number}", names[number]),
        "ssl.truststore.location": certificates.ca,
    }
    with Cluster(2, settings):
        options = {**certificates.librdkafka(), "ssl.endpoint.identification.algorithm": "none"}
        admin = AdminClient({"bootstrap.servers": f"{HOST}:{ports[1]}", **options})
        until(lambda: len(admin.list_topics(timeout=10).brokers) == 2)
        admin.create_topics([NewTopic("led", 4, 2)])["led"].result(30)
        producer = Producer({"bootstrap.servers": f"{HOST}:{ports[1]}", "acks": "1", **options})

        def in_sync() -> dict[int, set[int]]:
            for number in range(4):
                producer.produce("led", b"x", partition=number)
            producer.flush(10)
            partitions = admin.list_topics("led", timeout=10).topics["led"].partitions
            return {index: set(each.isrs) for index, each in partitions.items() if each.leader == 1}

        until(in_sync, lambda found: found and all(isr == {1} for isr in found.values()))
