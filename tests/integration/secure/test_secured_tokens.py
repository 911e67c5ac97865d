"""Tokens on a cluster that `headrace up --secure` started: by every mechanism, on every broker, until they are revoked."""

import json
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from secured import SECONDS, SecuredUp

from eventually import until

PLAIN, BEARER, SCRAM = "PLAIN", "OAUTHBEARER", "SCRAM-SHA-512"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredUp]:
    running = SecuredUp(tmp_path_factory.mktemp("tokens"), brokers=3).start()
    admin = AdminClient(running.admin)
    # Led by all of the brokers.
    admin.create_topics([NewTopic("orders", 6, 3)])["orders"].result(SECONDS)
    yield running
    running.stop()


def client(up: SecuredUp, mechanism: str, token: str) -> dict[str, object]:
    trusted = {name: up.admin[name] for name in ("bootstrap.servers", "security.protocol", "ssl.ca.location")}
    login: dict[str, object] = {**trusted, "sasl.mechanism": mechanism}
    if mechanism == BEARER:
        return {**login, "oauth_cb": lambda _: (token, time.time() + 3_600, "anybody", {})}
    user, password = ("anybody", token) if mechanism == PLAIN else (token.rpartition(".")[0], token.rpartition(".")[2])
    return {**login, "sasl.username": user, "sasl.password": password}


def made(up: SecuredUp, *options: str) -> tuple[str, str]:
    """The id and the token."""
    ran = up.cli("token", "create", "--json", *options)
    assert ran.code == 0, ran.err

    said = json.loads(ran.out)
    return said["id"], said["token"]


@pytest.mark.parametrize("mechanism", [PLAIN, BEARER, SCRAM])
def test_a_token_is_good_on_every_broker_until_it_is_revoked(up: SecuredUp, mechanism: str) -> None:
    token_id, token = made(up, "--write", "orders", "--ttl", "1h")
    errors: list[KafkaError] = []
    producer = Producer({**client(up, mechanism, token), "error_cb": errors.append})
    for partition in range(6):
        producer.produce("orders", b"hello", partition=partition)
    assert producer.flush(SECONDS) == 0 and not errors
    assert up.cli("token", "revoke", token_id).code == 0
    until(lambda: (producer.poll(0.1), [each for each in errors if each.code() == KafkaError._AUTHENTICATION])[1])
