"""Rules bind those who have logged in: real clients with passwords, each with what it may, and the admin who says so."""

import asyncio
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import TopicAuthorizationFailedError as AiokafkaDenied
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from kafka.errors import TopicAuthorizationFailedError as KafkaPythonDenied
from sasl_brokers import BROKER, add_users, librdkafka, python_client, sasl_broker

from clients import console
from clients.build import MissingTool, java_classpath
from eventually import until
from headrace.broker.security.authorization import AUTHORIZER, KAFKAS_AUTHORIZER
from headrace.cli import app
from kafka import KafkaProducer

SECONDS = 30
MECHANISM = "SCRAM-SHA-512"
# Who does everything, who writes, who reads, and who may do nothing.
ADMIN, WRITER, READER, NOBODY = "admin", "writer", "reader", "nobody"
JAVA_ADMIN = "duke"
SETTINGS = {
    AUTHORIZER: KAFKAS_AUTHORIZER,
    "super.users": f"User:{ADMIN};User:{JAVA_ADMIN};User:{BROKER}",
    "sasl.enabled.mechanisms": MECHANISM,
    "group.initial.rebalance.delay.ms": 0,
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    data = tmp_path_factory.mktemp("rules")
    add_users(data, ADMIN, WRITER, READER, NOBODY)
    add_users(data, JAVA_ADMIN, password=JAVA_ADMIN)
    with sasl_broker(data, SETTINGS) as broker:
        yield broker


@pytest.fixture(scope="module")
def config(broker, tmp_path_factory) -> Path:
    """The admin's settings of clients, in a file."""
    path = tmp_path_factory.mktemp("config") / "admin.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in librdkafka(broker, MECHANISM, ADMIN).items()))
    path.chmod(0o600)
    return path


@pytest.fixture
def headrace(config, monkeypatch, capsys):
    monkeypatch.setenv("HEADRACE_CONFIG", str(config))

    def run(*arguments: str) -> tuple[int, str]:
        return app.run(arguments), capsys.readouterr().out

    return run


@pytest.fixture
def rules(headrace) -> None:
    """Those of one producer and one consumer of one topic."""
    for rule in (
        [WRITER, "--write", "--create", "--topic", "orders"],
        [READER, "--read", "--topic", "orders", "--group", "billing-*"],
    ):
        assert headrace("acl", "allow", "--user", *rule)[0] == 0


def sent(broker, user: str, topic: str) -> KafkaError | None:
    producer = Producer({**librdkafka(broker, MECHANISM, user), "log_level": 0, "message.timeout.ms": 20_000})
    outcomes: list[KafkaError | None] = []
    producer.produce(topic, b"hello", on_delivery=lambda error, _: outcomes.append(error))
    producer.flush(SECONDS)
    return outcomes[0]


def denied(error: KafkaError | None) -> bool:
    return error is not None and error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_each_does_what_it_may_and_nothing_else(broker, rules) -> None:
    assert sent(broker, WRITER, "orders") is None
    assert denied(sent(broker, WRITER, "others"))
    assert denied(sent(broker, READER, "orders"))
    assert denied(sent(broker, NOBODY, "orders"))
    assert read(broker, READER, "billing-1").value() == b"hello"
    with pytest.raises(KafkaException) as refused:
        read(broker, READER, "others")
    assert refused.value.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED


def read(broker, user: str, group: str):
    login = librdkafka(broker, MECHANISM, user)
    consumer = Consumer({**login, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0})
    consumer.subscribe(["orders"])
    try:
        message = until(lambda: consumer.poll(0.5))
        if message.error():
            raise KafkaException(message.error())
        return message
    finally:
        consumer.close()


def test_nobody_sees_no_topic(broker, rules) -> None:
    def topics(user: str) -> set[str]:
        return set(AdminClient(librdkafka(broker, MECHANISM, user)).list_topics(timeout=SECONDS).topics)

    assert sent(broker, WRITER, "orders") is None
    assert topics(NOBODY) == set()
    assert topics(READER) == {"orders"}
    assert {"orders", "__consumer_offsets"} <= topics(ADMIN) | {"__consumer_offsets"}


def test_only_the_admin_makes_rules(broker, headrace, config, tmp_path, monkeypatch) -> None:
    other = tmp_path / "nobody.properties"
    other.write_text(config.read_text().replace(f"username={ADMIN}", f"username={NOBODY}"))
    other.chmod(0o600)
    monkeypatch.setenv("HEADRACE_CONFIG", str(other))
    assert headrace("acl", "allow", "--user", NOBODY, "--all", "--topic", "*")[0] == 4
    assert headrace("acl", "list")[0] == 4


def test_kafka_python_and_aiokafka_are_told(broker, rules) -> None:
    assert sent(broker, WRITER, "orders") is None
    producer = KafkaProducer(**python_client(broker, MECHANISM, WRITER))
    assert producer.send("orders", b"hello").get(SECONDS).topic == "orders"
    producer.close()
    # Without that it would be refused a producer id, since there is no topic that it may write.
    producer = KafkaProducer(**python_client(broker, MECHANISM, READER), enable_idempotence=False)
    with pytest.raises(KafkaPythonDenied):
        producer.send("orders", b"hello").get(SECONDS)
    producer.close()

    async def send(user: str) -> None:
        async with AIOKafkaProducer(**python_client(broker, MECHANISM, user), enable_idempotence=False) as client:
            await client.send_and_wait("orders", b"hello")

    asyncio.run(send(WRITER))
    with pytest.raises(AiokafkaDenied):
        asyncio.run(send(READER))


@pytest.mark.long
def test_kafkas_tools_as_the_admin(broker, tmp_path, headrace) -> None:
    try:
        java_classpath()
    except MissingTool as missing:
        pytest.skip(str(missing))
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    login = f'{module} required username="{JAVA_ADMIN}" password="{JAVA_ADMIN}";'
    config = tmp_path / "java.properties"
    config.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={MECHANISM}\nsasl.jaas.config={login}\n", "utf-8"
    )
    where = ["--command-config", str(config), "--topic", "by-java"]
    acls = "org.apache.kafka.tools.AclCommand"
    console.run(broker.bootstrap, acls, *where, "--add", "--allow-principal", f"User:{WRITER}", "--operation", "Write")
    assert sent(broker, WRITER, "by-java") is not None, "it may not make the topic"
    console.run(broker.bootstrap, acls, *where, "--add", "--allow-principal", f"User:{WRITER}", "--operation", "Create")
    assert sent(broker, WRITER, "by-java") is None
    console.run(broker.bootstrap, acls, *where, "--remove", "--force")
    assert denied(sent(broker, WRITER, "by-java"))
