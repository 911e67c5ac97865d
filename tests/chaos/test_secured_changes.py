"""Certificates, rules and users that change under load: whom it is not about notices nothing, and what was acknowledged
before is there.
"""

import asyncio
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError

from chaos.cluster import LOOPBACK
from chaos.ledger import Ledger, Place
from chaos.load import Load
from chaos.login import Login
from chaos.reader import read_all
from chaos.secured import SecuredCluster
from eventually import until
from headrace.base.errors import Refused
from headrace.cli.security.certificates import read_server
from headrace.client.peer import Peer
from headrace.client.security import security_from
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

pytestmark = pytest.mark.timeout(300)
USERS = ("alice", "bob", "carol")
HOUR = 3_600.0
# Long enough for clients to connect, on any machine.
SHORT_SECONDS = 60.0
# A slow machine is no error of the connection.
_CALM = {"request.timeout.ms": 60_000, "socket.timeout.ms": 60_000, "log_level": 0}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with SecuredCluster(tmp_path_factory.mktemp("secured") / "cluster", users=USERS) as cluster:
        yield cluster


class Writer:
    """One user's load on a topic of its own, with what its client reports, and the judge of what it was told."""

    def __init__(self, cluster: SecuredCluster, user: str, topic: str, *, idempotent: bool = True) -> None:
        self.cluster = cluster
        self.errors: list[KafkaError] = []
        self.places = cluster.create_topic(topic, 3, {})
        self.ledger = Ledger()
        login = Login({**cluster.login_of(user).librdkafka, "error_cb": self.errors.append, **_CALM})
        self.load = Load(
            user, cluster.bootstrap, self.ledger, self.places, idempotent=idempotent, burst_seconds=0.1, login=login
        )

    def __enter__(self) -> "Writer":
        self.load.start()
        self.until_acknowledged(self.places)
        return self

    def __exit__(self, *_: object) -> None:
        self.load.abandon()

    def until_acknowledged(self, places: list[Place]) -> None:
        """Every partition acknowledges something that was written after this call."""
        sent = self.load.sent
        until(lambda: all(self.load.newest_ack[place] >= sent for place in places), otherwise=lambda: str(self.errors))

    def judge_unharmed(self) -> None:
        self.until_acknowledged(self.places)
        self.load.stop()
        assert (self.load.failures, self.errors) == ([], [])
        self.judge_acknowledged()

    def judge_acknowledged(self) -> None:
        found = read_all(self.cluster.bootstrap, self.places, login=self.cluster.login)
        assert self.ledger.count > 0
        assert self.ledger.check(found, [self.load.name] if self.load.idempotent else []) == []


def ends(cluster: SecuredCluster) -> list[str]:
    """When the certificate that each broker shows ends."""
    ports = [int(each.rpartition(":")[2]) for each in cluster.bootstrap.split(",")]
    return [read_server(LOOPBACK, port)[0].not_after for port in ports]


def renew(cluster: SecuredCluster, seconds: float) -> None:
    """Another certificate for every broker, and each shows it."""
    before = set(ends(cluster))
    for broker in cluster.ids:
        cluster.certify(broker, seconds / 86_400)
    until(lambda: not before & set(ends(cluster)))


@pytest.mark.parametrize("seconds", [HOUR, pytest.param(SHORT_SECONDS, marks=pytest.mark.long)])
def test_certificates_are_replaced_while_a_producer_runs(cluster: SecuredCluster, seconds: float) -> None:
    renew(cluster, seconds)
    over = time.time() + seconds
    with Writer(cluster, "admin", f"rotated-{seconds:.0f}") as writer:
        renew(cluster, 2 * HOUR)
        if seconds < HOUR:
            # Its connections began with certificates that have ended by then, and go on.
            until(lambda: time.time() > over, seconds=2 * SHORT_SECONDS)
        writer.judge_unharmed()


def test_a_right_is_taken_away_on_every_broker_and_from_nobody_else(cluster: SecuredCluster) -> None:
    for user, topic in (("alice", "of-alice"), ("bob", "of-bob")):
        cluster.cli("acl", "allow", "--user", user, "--write", "--topic", topic)
    with Writer(cluster, "alice", "of-alice", idempotent=False) as alice, Writer(cluster, "bob", "of-bob") as bob:
        cluster.cli("acl", "delete", "--user", "alice", "--topic", "of-alice", "--yes")
        # Each learns of rules on its own.
        for broker in cluster.bootstrap.split(","):
            until(lambda broker=broker: refuses(cluster, broker, "alice", "of-alice"))
        until(lambda: alice.load.failures)
        assert all("authorization failed" in each.lower() for each in alice.load.failures)
        bob.until_acknowledged(bob.places)
        alice.load.abandon()
        alice.judge_acknowledged()
        bob.judge_unharmed()


def refuses(cluster: SecuredCluster, broker: str, user: str, topic: str) -> bool:
    """Whether this broker lets the user do nothing with the topic."""
    request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    return asked(cluster, broker, user, request).topics[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def asked(cluster: SecuredCluster, broker: str, user: str, request: MetadataRequest) -> MetadataResponse:
    """The answer of this broker, after a login of its own."""

    async def ask() -> MetadataResponse:
        host, _, port = broker.rpartition(":")
        peer = await Peer.open((host, int(port)), "test", security_from(cluster.login_of(user).librdkafka))
        try:
            return await peer.ask(request, MetadataResponse)
        finally:
            peer.connection.close()

    return asyncio.run(ask())


def test_a_user_who_is_deleted_cannot_log_in_anywhere_and_who_is_at_work_goes_on(cluster: SecuredCluster) -> None:
    for user, topic in (("carol", "of-carol"), ("bob", "of-bob-too")):
        cluster.cli("acl", "allow", "--user", user, "--write", "--topic", topic)
    with Writer(cluster, "carol", "of-carol") as carol, Writer(cluster, "bob", "of-bob-too") as bob:
        cluster.cli("user", "delete", "carol")
        for broker in cluster.bootstrap.split(","):
            until(lambda broker=broker: is_turned_away(cluster, "carol", broker))
        # Until their logins are over (connections.max.reauth.ms).
        carol.judge_unharmed()
        bob.judge_unharmed()


def is_turned_away(cluster: SecuredCluster, user: str, broker: str) -> bool:
    """Whether a new login at this broker is refused."""
    try:
        asked(cluster, broker, user, MetadataRequest(topics=[]))
    except Refused as refusal:
        return refusal.code == ErrorCode.SASL_AUTHENTICATION_FAILED
    return False
