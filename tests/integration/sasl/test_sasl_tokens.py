"""OAUTHBEARER with clients that have it, and brokers that do not start with less than it takes."""

import asyncio
import time

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError as AiokafkaError
from confluent_kafka import KafkaError, Producer
from kafka.net.sasl.oauth import AbstractTokenProvider as KafkaPythonTokenProvider
from sasl_brokers import sasl_broker

from clients import line_driver
from clients.build import MissingTool
from eventually import until
from headrace.base.errors import UserError
from kafka import KafkaProducer
from signed_tokens import AUDIENCE, ISSUER, JWKS, STRANGE_KEY, token

WAIT_SECONDS = 30


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys") / "jwks.json"
    keys.write_bytes(JWKS)
    return {
        "sasl.enabled.mechanisms": "OAUTHBEARER,SCRAM-SHA-512",
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": f"other,{AUDIENCE}",
    }


@pytest.fixture(scope="module")
def broker(tmp_path_factory, settings):
    with sasl_broker(tmp_path_factory.mktemp("sasl"), settings) as broker:
        yield broker


def librdkafka(broker, text: str, seconds: float = 300.0) -> dict[str, object]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (text, time.time() + seconds, "al", {}),
    }


class Token(AbstractTokenProvider):
    def __init__(self, text: str) -> None:
        self.text = text

    async def token(self) -> str:
        return self.text


async def send_by_aiokafka(broker, topic: str, text: str) -> int:
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, sasl_oauth_token_provider=Token(text), **login)
    try:
        await producer.start()
        return (await producer.send_and_wait(topic, b"hello")).offset
    finally:
        await producer.stop()


def test_librdkafka_logs_in_with_a_token(broker, headrace_topic):
    producer = Producer(librdkafka(broker, token()))
    producer.produce(headrace_topic, b"hello")
    assert producer.flush(WAIT_SECONDS) == 0


def test_aiokafka_logs_in_with_a_token(broker, headrace_topic):
    assert asyncio.run(send_by_aiokafka(broker, headrace_topic, token())) == 0


class SyncToken(KafkaPythonTokenProvider):
    def __init__(self, text: str) -> None:
        self.text = text

    def token(self) -> str:
        return self.text


def test_kafka_python_logs_in_with_a_token(broker, headrace_topic):
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, sasl_oauth_token_provider=SyncToken(token()), **login)
    assert producer.send(headrace_topic, b"hello").get(WAIT_SECONDS).offset == 0
    producer.close()


def test_franz_go_logs_in_with_a_token(broker, headrace_topic, monkeypatch):
    monkeypatch.setenv("HEADRACE_TEST_SASL", f"OAUTHBEARER:al:{token()}")
    try:
        client = line_driver.go(broker.bootstrap)
    except MissingTool as missing:
        pytest.skip(str(missing))
    try:
        client.create_topic(headrace_topic, 1)
    finally:
        client.close()


BAD_TOKENS = {
    "other key": lambda: token(STRANGE_KEY),
    "expired": lambda: token(iat=1_700_000_000, exp=1_700_000_300),
    "not yet": lambda: token(nbf=4_000_000_000),
    "issuer": lambda: token(iss="https://other"),
    "audience": lambda: token(aud="others"),
    "no subject": lambda: token(sub=None),
}


@pytest.mark.parametrize("bad", BAD_TOKENS)
def test_a_bad_token_is_refused(broker, headrace_topic, bad):
    with pytest.raises(AiokafkaError):
        asyncio.run(send_by_aiokafka(broker, headrace_topic, BAD_TOKENS[bad]()))


def test_librdkafka_is_told_that_its_token_is_bad(broker):
    errors = []
    producer = Producer({**librdkafka(broker, token(STRANGE_KEY)), "error_cb": errors.append})
    until(
        lambda: producer.poll(0.1) or errors,
        lambda _: KafkaError._AUTHENTICATION in {each.code() for each in errors},
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sasl.oauthbearer.jwks.endpoint.url", ""),
        ("sasl.oauthbearer.jwks.endpoint.url", "file:///nowhere/jwks.json"),
        ("sasl.oauthbearer.jwks.endpoint.url", "https://127.0.0.1:9/jwks.json"),
        ("sasl.oauthbearer.expected.issuer", ""),
        ("sasl.oauthbearer.expected.audience", ""),
    ],
)
def test_a_broker_does_not_start_with_less(tmp_path, settings, name, value):
    with pytest.raises(UserError) as failed, sasl_broker(tmp_path, {**settings, name: value}):
        pass
    assert name in f"{failed.value}"
