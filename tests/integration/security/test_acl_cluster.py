"""Rules on three real brokers, over SQLite and etcd: made at one, in force at all, and taken back, while clients work."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer

from etcd_cluster import EtcdCluster, MissingEtcd
from eventually import until
from headrace.broker.security.authorization import AUTHORIZER, KAFKAS_AUTHORIZER
from headrace.cli import app
from headrace.testing import Cluster

SECONDS = 30.0
# Everybody, brokers too, may do what no rule speaks of: so rules are about one topic, and brokers need no names.
OPEN = {AUTHORIZER: KAFKAS_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}


@pytest.fixture(scope="module", params=["sqlite", "etcd"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with ExitStack() as stack:
        store = ""
        if request.param == "etcd":
            try:
                store = stack.enter_context(EtcdCluster(tmp_path_factory.mktemp("etcd"))).url("/headrace")
            except MissingEtcd as missing:
                pytest.skip(str(missing))
        yield stack.enter_context(Cluster(3, OPEN, store=store))


@pytest.fixture
def acl(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    monkeypatch.setenv("HEADRACE_BOOTSTRAP", cluster.bootstrap)
    return lambda *arguments: app.run(["acl", *arguments])


def produce(cluster: Cluster, topic: str) -> KafkaError | None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0, "message.timeout.ms": 30_000})
    outcomes: list[KafkaError | None] = []
    producer.produce(topic, b"v", on_delivery=lambda error, message: outcomes.append(error))
    producer.flush(SECONDS)
    return outcomes[0]


def test_a_rule_is_in_force_on_every_broker(
    cluster: Cluster, acl: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert produce(cluster, "orders") is None
    assert acl("deny", "--user", "ANONYMOUS", "--write", "--topic", "orders") == 0
    for broker in cluster.bootstrap.split(","):
        capsys.readouterr()

        def seen(broker: str = broker) -> list[dict[str, str]]:
            acl("list", "--bootstrap", broker, "--topic", "orders", "--json")
            found: list[dict[str, str]] = json.loads(capsys.readouterr().out)
            return found

        (rule,) = until(seen)
        assert (rule["permission"], rule["principal"]) == ("deny", "User:ANONYMOUS")
    refused = produce(cluster, "orders")
    assert refused is not None and refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert produce(cluster, "others") is None
    assert acl("delete", "--user", "ANONYMOUS", "--topic", "orders", "--yes") == 0
    until(lambda: produce(cluster, "orders"), lambda error: error is None)


def test_more_rules_than_fit_into_a_commit_are_kept(cluster: Cluster, acl: Callable[..., int]) -> None:
    many = [part for number in range(150) for part in ("--topic", f"many-{number}")]
    assert acl("allow", "--user", "many", "--read", *many) == 0
    assert acl("test", "--user", "many", "--read", *many) == 0
    assert acl("delete", "--user", "many", "--yes") == 0


def test_a_live_consumer_is_cut_off_and_let_in_again(cluster: Cluster, acl: Callable[..., int]) -> None:
    assert produce(cluster, "bills") is None
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "log_level": 0,
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["bills"])

    def polled() -> Message | None:
        message: Message | None = consumer.poll(0.2)
        return message

    try:
        until(polled, lambda message: message is not None and message.error() is None)
        assert acl("deny", "--user", "*", "--read", "--topic", "bills") == 0
        denied = KafkaError.TOPIC_AUTHORIZATION_FAILED
        until(polled, lambda message: message is not None and message.error() and message.error().code() == denied)
        assert acl("delete", "--topic", "bills", "--yes") == 0
        # The leader hears of it in a moment.
        until(lambda: produce(cluster, "bills"), lambda error: error is None)
        until(polled, lambda message: message is not None and message.error() is None)
    finally:
        consumer.close()
