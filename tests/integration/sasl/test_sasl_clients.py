"""Clients log in with passwords, by each mechanism, and are told when they may not."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError as AiokafkaError
from confluent_kafka import Consumer, KafkaError, Producer
from kafka.errors import KafkaError as KafkaPythonError
from sasl_brokers import PASSWORD, USERS, add_users, librdkafka, python_client, sasl_broker

from clients import line_driver
from clients.build import MissingTool
from clients.client import Record
from eventually import until
from kafka import KafkaConsumer, KafkaProducer

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
WAIT_SECONDS = 30


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    data = tmp_path_factory.mktemp("sasl")
    add_users(data, *USERS)
    with sasl_broker(data, {"sasl.enabled.mechanisms": ",".join(MECHANISMS)}) as broker:
        yield broker


each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)
each_user = pytest.mark.parametrize("user", USERS)


@each_mechanism
@each_user
def test_librdkafka(broker, headrace_topic, mechanism, user):
    login = librdkafka(broker, mechanism, user)
    producer = Producer(login)
    producer.produce(headrace_topic, b"hello")
    assert producer.flush(WAIT_SECONDS) == 0
    consumer = Consumer({**login, "group.id": f"g-{headrace_topic}", "auto.offset.reset": "earliest"})
    consumer.subscribe([headrace_topic])
    try:
        message = consumer.poll(WAIT_SECONDS)
        assert message is not None and message.error() is None and message.value() == b"hello"
    finally:
        consumer.close()


@each_mechanism
def test_kafka_python(broker, headrace_topic, mechanism):
    # It writes commas in names as they are, so SCRAM takes other names from it only.
    login = python_client(broker, mechanism)
    producer = KafkaProducer(**login)
    producer.send(headrace_topic, b"hello").get(WAIT_SECONDS)
    producer.close()
    consumer = KafkaConsumer(headrace_topic, auto_offset_reset="earliest", **login)
    try:
        assert next(iter(consumer)).value == b"hello"
    finally:
        consumer.close()


@each_mechanism
@each_user
def test_aiokafka(broker, headrace_topic, mechanism, user):
    login = python_client(broker, mechanism, user)

    async def there_and_back() -> bytes:
        async with AIOKafkaProducer(**login) as producer:
            await producer.send_and_wait(headrace_topic, b"hello")
        async with AIOKafkaConsumer(headrace_topic, auto_offset_reset="earliest", **login) as consumer:
            return (await asyncio.wait_for(consumer.getone(), WAIT_SECONDS)).value

    assert asyncio.run(there_and_back()) == b"hello"


@each_mechanism
@each_user
def test_franz_go(broker, headrace_topic, mechanism, user, monkeypatch):
    monkeypatch.setenv("HEADRACE_TEST_SASL", f"{mechanism}:{user}:{PASSWORD}")
    try:
        client = line_driver.go(broker.bootstrap)
    except MissingTool as missing:
        pytest.skip(str(missing))
    try:
        client.create_topic(headrace_topic, 1)
        client.produce(headrace_topic, [Record(b"key", b"hello")])
        assert [each.value for each in client.consume(headrace_topic, count=1)] == [b"hello"]
    finally:
        client.close()


@each_mechanism
@pytest.mark.parametrize(("user", "password"), [("al", "wrong"), ("nobody", "x")])
def test_librdkafka_is_refused(broker, mechanism, user, password):
    errors = []
    producer = Producer({**librdkafka(broker, mechanism, user, password), "error_cb": errors.append})
    until(
        lambda: producer.poll(0.1) or errors, lambda _: KafkaError._AUTHENTICATION in {each.code() for each in errors}
    )


# Refused, they leave sockets open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@each_mechanism
def test_the_others_are_refused(broker, mechanism):
    login = python_client(broker, mechanism, password="wrong")
    with pytest.raises(KafkaPythonError):
        KafkaConsumer(**login, bootstrap_timeout_ms=3000)

    async def try_it() -> None:
        producer = AIOKafkaProducer(**login)
        try:
            await producer.start()
        finally:
            await producer.stop()

    with pytest.raises(AiokafkaError):
        asyncio.run(try_it())
