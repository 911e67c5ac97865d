"""Clients over TLS, by their own libraries: everyone writes, and everyone reads what all wrote; large answers too."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import aiokafka
import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from tls_world import Certificates, SecureBroker

import kafka
from clients import console
from clients.build import MissingTool, java_classpath
from eventually import until

COUNT = 50


def confluent_writes(secure: SecureBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": secure.bootstrap, **secure.certificates.librdkafka()})
    for number in range(COUNT):
        producer.produce(topic, f"confluent {number}")
    assert producer.flush(30) == 0


def aiokafka_writes(secure: SecureBroker, topic: str) -> None:
    async def write() -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=secure.bootstrap, security_protocol="SSL", ssl_context=secure.certificates.context()
        )
        await producer.start()
        try:
            for number in range(COUNT):
                await producer.send_and_wait(topic, f"aiokafka {number}".encode())
        finally:
            await producer.stop()

    asyncio.run(write())


def kafka_python_writes(secure: SecureBroker, topic: str) -> None:
    producer = kafka.KafkaProducer(
        bootstrap_servers=secure.bootstrap, security_protocol="SSL", ssl_context=secure.certificates.context()
    )
    for number in range(COUNT):
        producer.send(topic, f"kafka-python {number}".encode())
    producer.flush(30)
    producer.close()


def java_writes(secure: SecureBroker, topic: str, options: Path) -> None:
    lines = "\n".join(f"java {number}" for number in range(COUNT))
    console.run(secure.bootstrap, console.PRODUCER, "--topic", topic, "--command-config", str(options), stdin=lines)


def everything(secure: SecureBroker, topic: str, count: int) -> list[str]:
    return [value.decode() for value in values(secure.certificates.librdkafka(), secure.bootstrap, topic, count)]


def values(options: dict[str, str], bootstrap: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": f"all-{topic}", "auto.offset.reset": "earliest", **options}
    )
    consumer.subscribe([topic])
    got: list[bytes] = []

    def read() -> int:
        got.extend(each.value() for each in consumer.consume(500, 0.5) if not each.error())
        return len(got)

    until(read, lambda found: found >= count)
    consumer.close()
    return got


WRITERS: dict[str, Callable[[SecureBroker, str], None]] = {
    "confluent": confluent_writes,
    "aiokafka": aiokafka_writes,
    "kafka-python": kafka_python_writes,
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_a_client_writes_others_read(secure: SecureBroker, name: str) -> None:
    topic = f"written-by-{name}"
    WRITERS[name](secure, topic)
    assert sorted(everything(secure, topic, COUNT)) == sorted(f"{name} {number}" for number in range(COUNT))


def test_java_writes_and_reads(secure: SecureBroker, tmp_path: Path) -> None:
    try:
        java_classpath()
    except MissingTool as missing:
        pytest.skip(str(missing))
    options = tmp_path / "client.properties"
    options.write_text(
        f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={secure.certificates.ca}\n"
    )
    topic = "written-by-java"
    java_writes(secure, topic, options)
    limits = ["--from-beginning", "--max-messages", str(COUNT), "--timeout-ms", "30000"]
    read = console.run(
        secure.bootstrap, console.CONSUMER, "--topic", topic, "--command-config", str(options), *limits
    ).splitlines()
    assert read == [f"java {number}" for number in range(COUNT)] == everything(secure, topic, COUNT)


def test_aiokafka_and_kafka_python_read(secure: SecureBroker) -> None:
    topic = "read-by-both"
    confluent_writes(secure, topic)
    context = secure.certificates.context()
    reader = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=secure.bootstrap,
        security_protocol="SSL",
        ssl_context=context,
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
    )
    assert len([each for each, _ in zip(reader, range(COUNT), strict=False)]) == COUNT
    reader.close()

    async def read() -> int:
        consumer = aiokafka.AIOKafkaConsumer(
            topic,
            bootstrap_servers=secure.bootstrap,
            security_protocol="SSL",
            ssl_context=context,
            auto_offset_reset="earliest",
        )
        await consumer.start()
        try:
            return len([await asyncio.wait_for(consumer.getone(), 20) for _ in range(COUNT)])
        finally:
            await consumer.stop()

    assert asyncio.run(read()) == COUNT


def test_large_answers_arrive_whole(secure: SecureBroker) -> None:
    """Many pieces, from memory and from files, with more than one reader at a time."""
    options = secure.certificates.librdkafka()
    producer = Producer({"bootstrap.servers": secure.bootstrap, "message.max.bytes": 9_000_000, **options})
    sizes = [1, 8_000, 8_193, 262_144, 262_145, 900_000, 5, 700_000] * 12
    for number, size in enumerate(sizes):
        producer.produce("large", bytes([number % 251]) * size)
    assert producer.flush(60) == 0
    large = {**options, "fetch.max.bytes": "20000000", "max.partition.fetch.bytes": "20000000"}
    got = values(large, secure.bootstrap, "large", len(sizes))
    assert [len(each) for each in got] == sizes
    assert all(set(each) == {number % 251} for number, each in enumerate(got))


def test_a_certificate_for_another_host_is_not_taken(certificates: Certificates) -> None:
    broker = SecureBroker(
        certificates, ssl_keystore_location=certificates.broker("elsewhere", ("elsewhere.example.com",))
    )
    with broker.broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0, **certificates.librdkafka()})
        with pytest.raises(KafkaException):
            producer.list_topics(timeout=3)
