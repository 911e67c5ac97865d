"""Kafka's own TransactionsCommand on transactions of ours; and transactions of the other Python clients."""

import asyncio
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from clients import console
from clients.build import MissingTool, java_classpath

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
SECONDS = 30.0


@pytest.fixture
def tool(bootstrap: str):
    try:
        java_classpath()
    except MissingTool as missing:
        pytest.skip(str(missing))
    return lambda *options, **rest: console.run(bootstrap, TRANSACTIONS, *options, **rest)


@pytest.fixture
def name() -> str:
    return f"tx-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def open_transaction(bootstrap: str, topic: str, name: str) -> Iterator[Producer]:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "log_level": 0})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"in doubt")
    producer.flush(SECONDS)
    yield producer
    producer.abort_transaction(SECONDS)


def test_kafkas_transactions_command(tool, open_transaction: Producer, topic: str, name: str) -> None:
    (line,) = [line for line in tool("list").splitlines() if name in line]
    assert "Ongoing" in line
    described = tool("describe", "--transactional-id", name)
    assert f"{topic}-0" in described
    assert "Ongoing" in described
    producers = tool("describe-producers", "--topic", topic, "--partition", "0").splitlines()
    producer_id = line.split()[2]
    assert any(each.split()[0] == producer_id for each in producers[1:]), producers
    assert name not in tool("find-hanging", "--broker-id", "1")
    tool("abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    after = tool("describe-producers", "--topic", topic, "--partition", "0").splitlines()
    assert after[1].split()[-1] == "None", after


@pytest.mark.parametrize("commit", [True, False])
def test_aiokafka(bootstrap: str, topic: str, name: str, reference, commit: bool) -> None:
    """Its requests are all of version 0."""
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

    async def run() -> list[bytes]:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name)
        await producer.start()
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"v", partition=0)
        await producer.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, f"group of {name}")
        await (producer.commit_transaction() if commit else producer.abort_transaction())
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"last", partition=0)
        await producer.commit_transaction()
        await producer.stop()
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level="read_committed", group_id=f"group of {name}"
        )
        await consumer.start()
        consumer.assign([TopicPartition(topic, 0)])
        assert await consumer.committed(TopicPartition(topic, 0)) == (1 if commit else None)
        consumer.seek(TopicPartition(topic, 0), 0)
        seen: list[bytes] = []
        while b"last" not in seen:
            seen.append((await consumer.getone()).value)
        await consumer.stop()
        return seen

    assert asyncio.run(run()) == ([b"v", b"last"] if commit else [b"last"])


@pytest.mark.parametrize("commit", [True, False])
def test_kafka_python(bootstrap: str, topic: str, name: str, commit: bool) -> None:
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition

    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=name)
    producer.init_transactions()
    for value in (b"v", b"last"):
        producer.begin_transaction()
        producer.send(topic, value, partition=0).get(SECONDS)
        if commit or value == b"last":
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level="read_committed", consumer_timeout_ms=int(SECONDS * 1000)
    )
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek(TopicPartition(topic, 0), 0)
    seen: list[bytes] = []
    for message in consumer:
        seen.append(message.value)
        if message.value == b"last":
            break
    consumer.close()
    assert seen == ([b"v", b"last"] if commit else [b"last"])
