"""Each client writes with its default settings and with each codec, and reads it back by assigned partition."""

import os
import threading
import time

import pytest
from raw_batches import raw_batches

from clients.client import CODECS, Client, Record, Refused

RECORDS = [Record(None, f"value {number:04} ".encode() * 20) for number in range(200)]


def test_default_settings(client: Client, topic: str) -> None:
    client.produce(topic, RECORDS)
    assert [record.value for record in client.consume(topic, count=len(RECORDS))] == [
        record.value for record in RECORDS
    ]


def test_offsets_are_dense(client: Client, topic: str) -> None:
    client.produce(topic, RECORDS)
    assert [record.offset for record in client.consume(topic, count=len(RECORDS))] == list(range(len(RECORDS)))


@pytest.mark.parametrize("codec", CODECS)
def test_each_codec(client: Client, codec: str, topic: str, bootstrap: str) -> None:
    client.produce(topic, RECORDS, codec=codec)
    assert [record.value for record in client.consume(topic, count=len(RECORDS))] == [
        record.value for record in RECORDS
    ]
    # A client that mistrusts the advertised versions falls back to no compression without a word.
    assert {batch.codec for batch in raw_batches(bootstrap, topic)} == {codec}


def test_every_partition_has_its_own_records(client: Client, new_topic) -> None:
    topic = new_topic(partitions=3)
    for partition in range(3):
        client.produce(topic, [Record(b"k", f"for {partition}".encode())], partition=partition)
    for partition in range(3):
        (record,) = client.consume(topic, partition=partition, count=1)
        assert record.value == f"for {partition}".encode()


def test_start_in_the_middle_of_a_batch(client: Client, topic: str) -> None:
    client.produce(topic, RECORDS)
    first, second = client.consume(topic, offset=123, count=2)
    assert (first.offset, first.value) == (123, RECORDS[123].value)
    assert (second.offset, second.value) == (124, RECORDS[124].value)


def test_a_waiting_consumer_gets_what_is_produced_later(client: Client, topic: str, reference) -> None:
    reference.produce(topic, [Record(None, b"before")])
    received: list[Record] = []
    waiting = threading.Thread(target=lambda: received.extend(client.consume(topic, offset=1, count=1)))
    waiting.start()
    # Long enough for the consumer to be waiting in its fetch; were it not, the test would only be easier.
    time.sleep(0.5)
    assert received == []
    reference.produce(topic, [Record(None, b"after")])
    waiting.join()
    assert [record.value for record in received] == [b"after"]


def test_idempotent_producer(client: Client, topic: str, bootstrap: str) -> None:
    client.produce(topic, RECORDS, idempotent=True)
    batches = raw_batches(bootstrap, topic)
    assert all(batch.producer_id >= 0 and batch.producer_epoch >= 0 for batch in batches)
    expected = 0
    for batch in batches:
        assert batch.base_sequence == expected
        expected += batch.record_count
    assert expected == len(RECORDS)


@pytest.mark.parametrize("client", ["kafka-python", "java", "franz-go"], indirect=True)
def test_idempotent_by_default(client: Client, topic: str, bootstrap: str) -> None:
    client.produce(topic, RECORDS)
    assert all(batch.producer_id >= 0 for batch in raw_batches(bootstrap, topic))


def test_two_idempotent_producers_have_different_ids(client: Client, topic: str, bootstrap: str) -> None:
    client.produce(topic, [Record(None, b"one")], idempotent=True)
    client.produce(topic, [Record(None, b"two")], idempotent=True)
    one, two = raw_batches(bootstrap, topic)
    assert one.producer_id != two.producer_id


def test_a_record_above_the_topics_limit_is_refused(client: Client, new_topic) -> None:
    topic = new_topic(config={"max.message.bytes": "2000"})
    with pytest.raises(Refused) as refused:
        client.produce(topic, [Record(None, os.urandom(5000))])
    assert refused.value.code == 10
    client.produce(topic, [Record(None, os.urandom(500))])
    assert len(client.consume(topic, count=1)) == 1
