"""Delegation tokens of Kafka's own tool: made, described, renewed, expired, and used by Java's clients as they know them."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from sasl_brokers import PASSWORD
from token_rig import ADMIN, TokenBroker, librdkafka_by_token, token_broker

from clients import console
from clients.build import MissingTool, java_classpath
from headrace.security.scoped_tokens import narrowed, whole_token

TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"
SECONDS = 30
# Without an owner the tool asks for the tokens of nobody, and Kafka tells none.
DESCRIBE = ("--describe", "--owner-principal", "User:al")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenBroker]:
    try:
        java_classpath()
    except MissingTool as missing:
        pytest.skip(str(missing))
    with token_broker(tmp_path_factory.mktemp("delegation"), "al", "bo") as cluster:
        admin = AdminClient(cluster.login(ADMIN))
        admin.create_topics([NewTopic("orders", 1)])["orders"].result(SECONDS)
        cluster.allow("al", "--read", "--write", "--topic", "orders")
        yield cluster


def java_file(cluster: TokenBroker, name: str, user: str, password: str, more: str = "") -> Path:
    file = cluster.broker.data / f"{name}.java.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f'sasl.jaas.config={LOGIN} username="{user}" password="{password}" {more};\n'
    )
    return file


def tokens(cluster: TokenBroker, user: str, *options: str, expect: int = 0) -> str:
    # Java reads its files as Latin-1.
    password = PASSWORD.encode("unicode_escape").decode().replace("\\xe4", "\\u00e4")
    file = java_file(cluster, user, user, password)
    return console.run(cluster.broker.bootstrap, TOKENS, *options, "--command-config", str(file), expect=expect)


def test_kafkas_tool_and_javas_client(cluster: TokenBroker) -> None:
    made = tokens(cluster, "al", "--create", "--max-life-time-period", "3600000", "--renewer-principal", "User:bo")
    found = re.search(r"([0-9a-f-]{36})\s+(\S{86}==)\s+User:al", made)
    assert found, made
    token_id, key = found[1], found[2]
    assert token_id in tokens(cluster, "al", *DESCRIBE)
    assert key in tokens(cluster, "bo", *DESCRIBE)
    told = tokens(cluster, ADMIN, *DESCRIBE)
    assert token_id in told and key not in told
    assert "expiry" in tokens(cluster, "bo", "--renew", "--renew-time-period", "60000", "--hmac", key)

    by_token = java_file(cluster, "token", token_id, key, 'tokenauth="true"')
    where = ["--topic", "orders", "--command-config", str(by_token)]
    console.run(cluster.broker.bootstrap, console.PRODUCER, *where, stdin="hello")
    shown = ["--partition", "0", "--offset", "earliest", "--max-messages", "1"]
    assert console.run(cluster.broker.bootstrap, console.CONSUMER, *where, *shown).strip() == "hello"
    more = ["--create", "--max-life-time-period", "-1", "--command-config", str(by_token)]
    again = console.run(cluster.broker.bootstrap, TOKENS, *more, expect=1)
    assert "not allowed" in again.lower() or "DelegationToken" in again

    scoped = narrowed(whole_token(token_id, base64.b64decode(key)), [{"may": ["write topic orders"]}])
    producer = Producer(librdkafka_by_token(cluster.broker, "PLAIN", scoped.text))
    producer.produce("orders", b"scoped")
    assert producer.flush(SECONDS) == 0

    tokens(cluster, "al", "--expire", "--expiry-time-period", "-1", "--hmac", key)
    assert token_id not in tokens(cluster, "al", *DESCRIBE)
