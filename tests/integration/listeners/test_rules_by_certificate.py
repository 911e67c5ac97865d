"""Certificates as the only logins: rules bind the names in them, brokers are super users by a mapping rule."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from tls_world import HOST, Certificates

from eventually import until
from headrace.broker.security.authorization import AUTHORIZER, KAFKAS_AUTHORIZER
from headrace.cli.run.ports import free_port
from headrace.client.cluster_metadata import ClusterMetadata
from headrace.client.kafka_cluster import KafkaCluster
from headrace.client.security import security_from
from headrace.testing import Cluster

RULES = r"RULE:^CN=member-\d$/member/,RULE:^CN=Writer-.*$/writer/,DEFAULT"

JAVA_NAMES = ("ssl.keystore.certificate.chain", "ssl.keystore.key")


class Ruled:
    def __init__(self, certificates: Certificates) -> None:
        ports = {number: free_port(HOST) for number in (1, 2)}
        settings = {
            "listeners": lambda number: f"SSL://{HOST}:{ports[number]}",
            "ssl.client.auth": "requested",
            "ssl.keystore.location": lambda number: certificates.broker(f"member-{number}"),
            "ssl.truststore.location": certificates.ca,
            "ssl.principal.mapping.rules": RULES,
            "default.replication.factor": 2,
            AUTHORIZER: KAFKAS_AUTHORIZER,
            "super.users": "User:member;User:CN=admin",
        }
        self.certificates = certificates
        self.bootstrap = ",".join(f"{HOST}:{port}" for port in ports.values())
        self.cluster = Cluster(2, settings)

    def options(self, client: str = "") -> dict[str, str]:
        certificate = self.certificates.client(client) if client else ""
        return {"bootstrap.servers": self.bootstrap, **self.certificates.librdkafka(certificate)}

    def write(self, client: str = "") -> list[int]:
        """The error codes, or 0, of a record to each of two partitions."""
        ends: list[int] = []
        producer = Producer({**self.options(client), "acks": "all", "log_level": 0})
        for partition in (0, 1):
            producer.produce(
                "ruled",
                b"x",
                partition=partition,
                on_delivery=lambda error, _: ends.append(error.code() if error else 0),
            )
        assert producer.flush(30) == 0
        return ends


@pytest.fixture(scope="module")
def ruled(certificates: Certificates) -> Iterator[Ruled]:
    ruled = Ruled(certificates)
    with ruled.cluster:
        admin = AdminClient(ruled.options("admin"))
        until(lambda: len(admin.list_topics(timeout=10).brokers) == 2)
        admin.create_topics([NewTopic("ruled", 2, 2)])["ruled"].result(30)
        rule = AclBinding(
            ResourceType.TOPIC,
            "ruled",
            ResourcePatternType.LITERAL,
            "User:writer",
            "*",
            AclOperation.WRITE,
            AclPermissionType.ALLOW,
        )
        admin.create_acls([rule])[rule].result(30)
        yield ruled


def test_brokers_follow_each_other_by_their_certificates(ruled: Ruled) -> None:
    admin = AdminClient(ruled.options("admin"))

    def in_sync() -> set[int]:
        return {len(each.isrs) for each in admin.list_topics("ruled", timeout=10).topics["ruled"].partitions.values()}

    until(lambda: ruled.write("Writer-1"), lambda ends: ends == [0, 0])
    until(in_sync, lambda sizes: sizes == {2})


@pytest.mark.parametrize("client", ["", "member", "writer", "stranger"])
def test_others_may_not(ruled: Ruled, client: str) -> None:
    """One that is named like a broker, or like the user that a rule makes of another name, is neither."""
    ends = ruled.write(client)
    denied = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._UNKNOWN_TOPIC)
    assert [each in denied for each in ends] == [True, True]
    admin = AdminClient(ruled.options(client))
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([NewTopic("theirs", 1, 1)])["theirs"].result(30)
    assert refused.value.args[0].code() in (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    )


@pytest.mark.parametrize("names", [("ssl.certificate.pem", "ssl.key.pem"), JAVA_NAMES])
def test_a_client_whose_key_and_certificate_are_texts(ruled: Ruled, names: tuple[str, str]) -> None:
    pem = Path(ruled.certificates.client("admin")).read_text()
    own = {"security.protocol": "SSL", "ssl.ca.location": ruled.certificates.ca, **dict.fromkeys(names, pem)}

    async def seen() -> ClusterMetadata:
        cluster = KafkaCluster(ruled.bootstrap, client_id="texts", security=security_from(own))
        try:
            return await cluster.metadata()
        finally:
            await cluster.close()

    assert "ruled" in asyncio.run(seen()).topics
