"""Fetch sessions as the protocol means them: a partition stands where its reader last said, whatever was sent since."""

import uuid
from collections.abc import Iterator

import pytest

from clients.raw import RawClient
from clients.raw_records import good_batch, produce
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from headrace.wire.messages.topics import CreatableTopic, CreateTopicsRequest

VERSION = 12
PARTITIONS = 3


@pytest.fixture
def client(bootstrap: str) -> Iterator[RawClient]:
    with RawClient(bootstrap) as client:
        yield client


@pytest.fixture
def topic(client: RawClient) -> str:
    """With one batch in each partition."""
    name = f"sessions-{uuid.uuid4().hex[:12]}"
    client.ask(CreateTopicsRequest([CreatableTopic(name, PARTITIONS, 1)]), 7)
    for partition in range(PARTITIONS):
        while produce(client, name, good_batch(), partition=partition).error_code:
            pass
    return name


def opened(topic: str, bytes_max: int = 1 << 20) -> FetchRequest:
    wanted = [FetchPartition(each, fetch_offset=0, partition_max_bytes=1 << 20) for each in range(PARTITIONS)]
    request = gone_on_with(0, 0, bytes_max)
    request.topics = [FetchTopic(topic, partitions=wanted)]
    return request


def gone_on_with(session_id: int, epoch: int, bytes_max: int = 1 << 20) -> FetchRequest:
    return FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=bytes_max, session_id=session_id, session_epoch=epoch)


def served(answer: FetchResponse) -> set[int]:
    assert not answer.error_code
    return {part.partition_index for topic in answer.responses for part in topic.partitions if part.records}


def test_what_a_reader_did_not_take_comes_again(client: RawClient, topic: str) -> None:
    """A consumer drops records that arrive in the midst of a rebalance, and says nothing of partitions that stand where
    they stood."""
    first = client.ask(opened(topic), VERSION)
    assert served(first) == set(range(PARTITIONS))
    for epoch in (1, 2):
        assert served(client.ask(gone_on_with(first.session_id, epoch), VERSION)) == set(range(PARTITIONS))


def test_what_a_reader_took_does_not_come_again(client: RawClient, topic: str) -> None:
    session_id = client.ask(opened(topic), VERSION).session_id
    ahead = gone_on_with(session_id, 1)
    ahead.topics = [FetchTopic(topic, partitions=[FetchPartition(0, fetch_offset=1, partition_max_bytes=1 << 20)])]
    assert served(client.ask(ahead, VERSION)) == {1, 2}


def test_partitions_take_turns_where_not_all_fit(client: RawClient, topic: str) -> None:
    first = client.ask(opened(topic, bytes_max=1), VERSION)
    turns = [first, *(client.ask(gone_on_with(first.session_id, epoch, 1), VERSION) for epoch in range(1, PARTITIONS))]
    assert [len(served(turn)) for turn in turns] == [1] * PARTITIONS
    assert set().union(*map(served, turns)) == set(range(PARTITIONS))
