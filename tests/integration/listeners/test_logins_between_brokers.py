"""Brokers that log in at each other over TLS: replication and fail-over, past the end of their sessions too."""

from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from test_tls_clients import values
from tls_world import HOST, Certificates

from eventually import until
from headrace.cli.app import run
from headrace.cli.run.ports import free_port
from headrace.testing import Cluster

SECRET = "between-brokers"
MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


@pytest.mark.parametrize("mechanism", MODULES)
def test_brokers_log_in_at_each_other(certificates: Certificates, tmp_path: Path, mechanism: str) -> None:
    data, secret = tmp_path / "data", tmp_path / "secret"
    secret.write_text(SECRET)
    assert run(["user", "add", "broker", "--password-file", str(secret), "--data", str(data)]) == 0
    ports = {number: free_port(HOST) for number in (1, 2, 3)}
    jaas = f'{MODULES[mechanism]} required username="broker" password="{SECRET}";'
    settings = {
        "listeners": lambda number: f"SASL_SSL://{HOST}:{ports[number]}",
        "ssl.keystore.location": certificates.broker("member"),
        "ssl.truststore.location": certificates.ca,
        "sasl.enabled.mechanisms": mechanism,
        "sasl.mechanism.inter.broker.protocol": mechanism,
        f"listener.name.sasl_ssl.{mechanism.lower()}.sasl.jaas.config": jaas,
        # Their sessions end again and again while the test runs: brokers go on, by logging in anew.
        "connections.max.reauth.ms": 2000,
    }
    options = {
        **certificates.librdkafka(),
        "bootstrap.servers": ",".join(f"{HOST}:{port}" for port in ports.values()),
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.username": "broker",
        "sasl.password": SECRET,
    }
    with Cluster(3, settings, data=data) as cluster:
        admin = AdminClient(options)
        until(lambda: len(admin.list_topics(timeout=10).brokers) == 3)
        admin.create_topics([NewTopic("followed", 6, 3)])["followed"].result(30)
        producer = Producer({**options, "enable.idempotence": True})

        def send(first: int, end: int) -> None:
            for number in range(first, end):
                producer.produce("followed", str(number), partition=number % 6)
            assert producer.flush(60) == 0

        send(0, 300)
        cluster.kill(2)
        send(300, 600)
        cluster.start(2)
        send(600, 900)

        def in_sync() -> set[int]:
            partitions = admin.list_topics("followed", timeout=10).topics["followed"].partitions
            return {len(each.isrs) for each in partitions.values()}

        until(in_sync, lambda sizes: sizes == {3})
        got = values(options, options["bootstrap.servers"], "followed", 900)
        assert sorted(map(int, got)) == list(range(900))
