"""Clients past the end of a login: librdkafka logs in again on its connection, aiokafka does not and comes back."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from sasl_brokers import add_users, java_properties, librdkafka, python_client, requests, sasl_broker

from clients import console
from clients.build import MissingTool, java_classpath
from eventually import until

SESSION_MS = 2_000
MECHANISM = "SCRAM-SHA-256"


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    data = tmp_path_factory.mktemp("sasl")
    add_users(data, "al")
    add_users(data, "java", password="ascii")
    with sasl_broker(data, {"connections.max.reauth.ms": SESSION_MS}) as broker:
        yield broker


def test_librdkafka_logs_in_again_and_notices_nothing(broker, headrace_topic):
    errors = []
    producer = Producer({**librdkafka(broker, MECHANISM), "error_cb": errors.append})
    sent = []

    def send() -> int:
        producer.produce(headrace_topic, b"hello", on_delivery=lambda error, _: sent.append(error))
        assert producer.flush(30) == 0
        return requests(broker, "SaslHandshake")

    # Handshakes that pass the gate are those of clients that log in again.
    until(send, lambda handshakes: handshakes >= 3)
    assert not errors and set(sent) == {None}
    consumer = Consumer({**librdkafka(broker, MECHANISM), "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([headrace_topic])
    try:
        until(lambda: len(consumer.consume(100, 1.0)))
    finally:
        consumer.close()


def test_the_java_client_logs_in_again(broker, headrace_topic, tmp_path):
    try:
        java_classpath()
    except MissingTool as missing:
        pytest.skip(str(missing))
    own = java_properties(tmp_path / "client.properties", "java", "ascii", MECHANISM)
    before = requests(broker, "SaslHandshake")
    # It waits for a message that does not come, longer than its logins last.
    where = ["--topic", headrace_topic, "--group", headrace_topic, "--timeout-ms", str(4 * SESSION_MS)]
    read = console.run(broker.bootstrap, console.CONSUMER, *where, "--command-config", own)
    assert "Exception" not in read.replace("TimeoutException", "")
    assert requests(broker, "SaslHandshake") >= before + 2


def test_aiokafka_is_cut_off_and_comes_back(broker, headrace_topic):
    login = python_client(broker, MECHANISM)

    async def go_on() -> None:
        async with (
            AIOKafkaProducer(**login) as producer,
            AIOKafkaConsumer(headrace_topic, auto_offset_reset="earliest", **login) as consumer,
        ):
            loop = asyncio.get_running_loop()
            begun = loop.time()
            sent = seen = 0
            while loop.time() < begun + 3 * SESSION_MS / 1000:
                await producer.send_and_wait(headrace_topic, b"%d" % sent)
                sent += 1
                assert (await asyncio.wait_for(consumer.getone(), 30)).value == b"%d" % seen
                seen += 1
                # Nothing comes: this is the pause between two messages.
                assert not await consumer.getmany(timeout_ms=200)
            assert seen == sent

    asyncio.run(go_on())
