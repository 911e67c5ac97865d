"""Each client finds offsets: the first, the end, and the first at or after a time."""

import time

import pytest

from clients.client import EARLIEST, LATEST, Client, Record

START_MS = int(time.time() * 1000) - 600_000


@pytest.fixture
def filled(new_topic, reference) -> str:
    topic = new_topic()
    for number in range(10):
        reference.produce(topic, [Record(None, b"v", timestamp_ms=START_MS + number * 1000)])
    return topic


def test_an_empty_partition(client: Client, topic: str) -> None:
    assert client.offset_at(topic, EARLIEST) == 0
    assert client.offset_at(topic, LATEST) == 0


def test_the_first_and_the_end(client: Client, filled: str) -> None:
    assert client.offset_at(filled, EARLIEST) == 0
    assert client.offset_at(filled, LATEST) == 10


def test_the_first_after_records_were_deleted(client: Client, filled: str, reference) -> None:
    reference.delete_records(filled, 4)
    assert client.offset_at(filled, EARLIEST) == 4
    assert client.offset_at(filled, LATEST) == 10
    (record,) = client.consume(filled, offset=4, count=1)
    assert record.offset == 4


@pytest.mark.parametrize(("after_ms", "offset"), [(-5000, 0), (0, 0), (1, 1), (3000, 3), (3001, 4), (9000, 9)])
def test_by_time(client: Client, filled: str, after_ms: int, offset: int) -> None:
    assert client.offset_at(filled, START_MS + after_ms) == offset


def test_a_time_after_the_last_record(client: Client, filled: str) -> None:
    # No offset is the broker's answer; some clients show it as it is, some turn it into the end of the log.
    assert client.offset_at(filled, START_MS + 9001) in (-1, 10)


def test_by_time_inside_a_batch(client: Client, topic: str, reference) -> None:
    reference.produce(topic, [Record(None, b"v", timestamp_ms=START_MS + number) for number in range(100)])
    assert client.offset_at(topic, START_MS + 42) == 42
