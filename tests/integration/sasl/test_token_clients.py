"""Scoped tokens in clients as they are: each does what the token says, as far as its owner may, and nothing else."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AiokafkaProvider
from aiokafka.errors import KafkaError as AiokafkaError
from aiokafka.errors import TopicAuthorizationFailedError
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka.errors import TopicAuthorizationFailedError as KafkaPythonDenied
from kafka.net.sasl.oauth import AbstractTokenProvider as KafkaPythonProvider
from token_rig import (
    ADMIN,
    MECHANISMS,
    PASSWORD,
    librdkafka_by_token,
    narrow,
    python_client_by_token,
    token_broker,
)

from clients.raw import RawClient
from eventually import until
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from headrace.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka import KafkaConsumer, KafkaProducer

SECONDS = 30
AL = "al"
each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with token_broker(tmp_path_factory.mktemp("tokens"), AL, "bo") as cluster:
        admin = AdminClient(cluster.login(ADMIN))
        topics = [NewTopic(name, 1) for name in ("orders", "others")]
        for made in admin.create_topics(topics).values():
            made.result(SECONDS)
        cluster.allow(AL, "--read", "--write", "--topic", "orders", "--topic", "others")
        cluster.allow(AL, "--read", "--group", "*")
        yield cluster


def send(login, topic: str) -> KafkaError | None:
    """The error of one message; None if it arrived."""
    seen: list[KafkaError | None] = []
    producer = Producer({**login, "message.timeout.ms": SECONDS * 1000, "topic.metadata.propagation.max.ms": 1_000})
    producer.produce(topic, b"hello", on_delivery=lambda error, _: seen.append(error))
    until(lambda: (producer.poll(0.1), seen)[1])
    return seen[0]


def receive(login, topic: str, group: str) -> bytes | KafkaError:
    consumer = Consumer({**login, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        message = consumer.poll(SECONDS)
        assert message is not None
        return message.error() or message.value()
    finally:
        consumer.close()


def refusal(login) -> str:
    """What a client is told whose login fails."""
    errors: list[KafkaError] = []
    producer = Producer({**login, "error_cb": errors.append})
    return until(lambda: (producer.poll(0.1), refusals(errors))[1])[0].str()


def refusals(errors: list[KafkaError]) -> list[KafkaError]:
    return [each for each in errors if each.code() == KafkaError._AUTHENTICATION]


@each_mechanism
def test_librdkafka_can_do_what_the_token_says_and_no_more(cluster, mechanism):
    token = cluster.token(AL, "--read", "orders", "--write", "orders", "--group", "spark-*", "--ttl", "1h")
    login = librdkafka_by_token(cluster.broker, mechanism, token)
    assert send(login, "orders") is None
    assert send(login, "others").code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert receive(login, "orders", "spark-1") == b"hello"
    assert receive(login, "orders", "flink-1").code() == KafkaError.GROUP_AUTHORIZATION_FAILED
    assert set(AdminClient(login).list_topics(timeout=SECONDS).topics) == {"orders"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka(cluster, mechanism):
    class Provider(AiokafkaProvider):
        def __init__(self, text):
            self.text = text

        async def token(self):
            return self.text

    token = cluster.token(AL, "--write", "orders", "--read", "orders", "--ttl", "1h")

    async def there_and_back() -> bytes:
        login = python_client_by_token(cluster.broker, mechanism, token, Provider)
        async with AIOKafkaProducer(**login) as producer:
            await producer.send_and_wait("orders", b"hello")
            with pytest.raises(TopicAuthorizationFailedError):
                await producer.send_and_wait("others", b"hello")
        async with AIOKafkaConsumer("orders", auto_offset_reset="earliest", **login) as consumer:
            return (await asyncio.wait_for(consumer.getone(), SECONDS)).value

    assert asyncio.run(there_and_back()) == b"hello"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python(cluster, mechanism):
    class Provider(KafkaPythonProvider):
        def __init__(self, text):
            self.text = text

        def token(self):
            return self.text

    token = cluster.token(AL, "--write", "orders", "--read", "orders", "--ttl", "1h")
    login = python_client_by_token(cluster.broker, mechanism, token, Provider)
    producer = KafkaProducer(**login)
    producer.send("orders", b"hello").get(SECONDS)
    with pytest.raises(KafkaPythonDenied):
        producer.send("others", b"hello").get(SECONDS)
    producer.close()
    consumer = KafkaConsumer("orders", auto_offset_reset="earliest", **login)
    try:
        assert next(iter(consumer)).value == b"hello"
    finally:
        consumer.close()


def test_it_is_narrowed_offline_and_never_widened(cluster, tmp_path: Path):
    token = cluster.token(AL, "--write", "orders", "--ttl", "1h")
    narrower = narrow(token, tmp_path, "--write", "orders", "--write", "others", "--from", "127.0.0.0/8")
    login = librdkafka_by_token(cluster.broker, "PLAIN", narrower)
    assert send(login, "orders") is None
    assert send(login, "others").code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    elsewhere = narrow(token, tmp_path, "--from", "10.0.0.0/8")
    assert "credentials" in refusal(librdkafka_by_token(cluster.broker, "PLAIN", elsewhere))


def test_it_has_no_more_rights_than_its_owner(cluster):
    everything = cluster.token("bo", "--everything", "--ttl", "1h")
    login = librdkafka_by_token(cluster.broker, "PLAIN", everything)
    assert send(login, "orders").code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    cluster.allow("bo", "--write", "--topic", "orders")
    assert send(login, "orders") is None
    producer = Producer(login)
    producer.produce("orders", b"before")
    assert producer.flush(SECONDS) == 0
    cluster.headrace(ADMIN, "acl", "delete", "--user", "bo", "--yes")
    seen: list[KafkaError | None] = []
    producer.produce("orders", b"after", on_delivery=lambda error, _: seen.append(error))
    until(lambda: (producer.poll(0.1), seen)[1])
    assert seen[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_a_super_users_token_does_what_it_says(cluster):
    login = librdkafka_by_token(cluster.broker, "PLAIN", cluster.token(ADMIN, "--read", "orders", "--ttl", "1h"))
    assert send(login, "orders").code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    admin = AdminClient(login)
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([NewTopic("new", 1)])["new"].result(SECONDS)
    assert refused.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_nobody_makes_a_token_that_may_do_everything_by_oversight(cluster):
    cluster.headrace(AL, "token", "create", "--ttl", "1h", code=2)


@each_mechanism
def test_a_revoked_token_ends_its_connections(cluster, mechanism):
    made = cluster.headrace(AL, "token", "create", "--read", "orders", "--group", "*", "--ttl", "1h")
    login = librdkafka_by_token(cluster.broker, mechanism, made["token"])
    errors: list[KafkaError] = []
    consumer = Consumer(
        {**login, "group.id": f"revoked-{mechanism}", "auto.offset.reset": "latest", "error_cb": errors.append}
    )
    consumer.subscribe(["orders"])
    try:
        until(lambda: (consumer.poll(0.1), consumer.assignment())[1])
        assert made["id"] in [each["id"] for each in cluster.headrace(AL, "token", "list")]
        assert cluster.headrace(AL, "token", "revoke", made["id"]) == {"revoked": [made["id"]]}
        until(lambda: (consumer.poll(0.1), refusals(errors))[1])
    finally:
        consumer.close()
    assert made["id"] not in [each["id"] for each in cluster.headrace(AL, "token", "list")]
    cluster.headrace(AL, "token", "revoke", made["id"], code=3)


@each_mechanism
def test_a_narrowed_token_is_revoked_alone(cluster, tmp_path: Path, mechanism):
    wide = cluster.token(AL, "--write", "orders", "--ttl", "1h")
    narrowed = narrow(wide, tmp_path, "--ttl", "50m")
    login = librdkafka_by_token(cluster.broker, mechanism, narrowed)
    errors: list[KafkaError] = []
    producer = Producer({**login, "error_cb": errors.append})
    producer.produce("orders", b"hello")
    assert producer.flush(SECONDS) == 0
    name = tmp_path / "name"
    name.write_text(narrowed.rpartition(".")[0])
    revoked = cluster.headrace(AL, "token", "revoke", "--token", str(name))
    assert revoked["revoked"] == [] and revoked["narrowed_from"] in [
        each["id"] for each in cluster.headrace(AL, "token", "list")
    ]
    until(lambda: (producer.poll(0.1), refusals(errors))[1])
    further = narrow(narrowed, tmp_path, "--ttl", "5m")
    assert refusal(librdkafka_by_token(cluster.broker, mechanism, further))
    assert send(librdkafka_by_token(cluster.broker, mechanism, wide), "orders") is None


def fetched(client: RawClient, session_id: int = 0, epoch: int = 0, *topics: str) -> FetchResponse:
    asked = [FetchTopic(name, partitions=[FetchPartition(0)]) for name in topics]
    return client.ask(FetchRequest(max_wait_ms=0, session_id=session_id, session_epoch=epoch, topics=asked), 12)


def test_a_fetch_session_is_its_tokens_alone(cluster, tmp_path: Path):
    """Neither a narrower token nor the password of the same user goes on with it, or ends it."""
    wide = cluster.token(AL, "--read", "orders", "--read", "others", "--ttl", "1h")
    narrower = narrow(wide, tmp_path, "--read", "others")

    @contextmanager
    def logged_in(password: str) -> Iterator[RawClient]:
        with RawClient(cluster.broker.bootstrap) as client:
            assert client.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == 0
            assert client.ask(SaslAuthenticateRequest(f"\0{AL}\0{password}".encode()), 2).error_code == 0
            yield client

    with logged_in(wide) as first:
        begun = fetched(first, 0, 0, "orders", "others")
        assert begun.session_id and [each.partitions[0].error_code for each in begun.responses] == [0, 0]
        for other in (narrower, PASSWORD):
            with logged_in(other) as thief:
                assert fetched(thief, begun.session_id, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
                fetched(thief, begun.session_id, -1)
        with logged_in(wide) as same:
            assert fetched(same, begun.session_id, 1).error_code == 0


def test_a_token_that_has_expired_lets_nobody_in_and_ends_its_sessions(cluster, tmp_path: Path):
    token = narrow(cluster.token(AL, "--write", "orders", "--ttl", "1h"), tmp_path, "--ttl", "3s")
    login = librdkafka_by_token(cluster.broker, "PLAIN", token)
    errors: list[KafkaError] = []
    producer = Producer({**login, "error_cb": errors.append, "message.timeout.ms": SECONDS * 1000})
    producer.produce("orders", b"hello")
    assert producer.flush(SECONDS) == 0

    def send_on() -> list[KafkaError]:
        producer.produce("orders", b"more")
        producer.poll(0.1)
        return refusals(errors)

    until(send_on)
    assert "credentials" in refusal(login)


def test_an_admin_ends_a_token_without_being_told_its_key(cluster):
    made = cluster.headrace(AL, "token", "create", "--read", "orders", "--ttl", "1h")
    assert made["id"] not in [each["id"] for each in cluster.headrace("bo", "token", "list")]
    cluster.headrace("bo", "token", "revoke", made["id"], code=3)
    (listed,) = [each for each in cluster.headrace(ADMIN, "token", "list") if each["id"] == made["id"]]
    assert listed["owner"] == AL
    cluster.headrace(ADMIN, "token", "revoke", "--owner", AL)
    assert cluster.headrace(AL, "token", "list") == []


def test_tokens_are_there_after_a_restart(tmp_path: Path):
    with token_broker(tmp_path, AL) as cluster:
        cluster.allow(AL, "--write", "--create", "--topic", "t")
        token = cluster.token(AL, "--write", "t", "--may", "create topic t", "--ttl", "1h")
        cluster.broker.stop()
        cluster.broker.start()
        assert send(librdkafka_by_token(cluster.broker, "OAUTHBEARER", token), "t") is None


def test_a_token_is_no_login_of_another_user(cluster):
    token = cluster.token(AL, "--write", "orders", "--ttl", "1h")
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        login = librdkafka_by_token(cluster.broker, mechanism, token)
        assert "credentials" in refusal({**login, "sasl.username": ADMIN})
    assert "credentials" in refusal({**librdkafka_by_token(cluster.broker, "PLAIN", token[:-2] + "AA")})


def test_aiokafka_is_refused_with_a_broken_token(cluster):
    async def try_it() -> None:
        login = python_client_by_token(cluster.broker, "PLAIN", "hrt1.e30." + "A" * 43, None)
        producer = AIOKafkaProducer(**login)
        try:
            with pytest.raises(AiokafkaError):
                await producer.start()
        finally:
            await producer.stop()

    asyncio.run(try_it())
