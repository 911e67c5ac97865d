"""What committing costs, and how long a commit lasts, on a real broker."""

import time
from pathlib import Path

import pytest

from clients.confluent import Confluent
from clients.raw import RawClient
from eventually import until
from headrace.admin.lag import get_lag
from headrace.testing import Broker
from headrace.wire.batch import iter_headers
from headrace.wire.messages.coordinators import FindCoordinatorRequest
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.wire.messages.groups_admin import ListGroupsRequest

PARTITIONS = 8
COMMITS = 400
OFFSET_COMMIT = 8


def commit_request(group: str, offset: int, partition: int = 0, **fields: int) -> OffsetCommitRequest:
    topics = [OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(partition, offset)])]
    return OffsetCommitRequest(group, topics=topics, **fields)


def committed(bootstrap: str, group: str) -> dict[int, int]:
    return {lag.id.partition: lag.committed for lag in get_lag(bootstrap, group)}


def batches(data: Path) -> int:
    """That were written to the offsets topic."""
    files = data.glob("**/__consumer_offsets-*/*.log")
    return sum(1 for file in files for _ in iter_headers(file.read_bytes()))


def test_commits_that_come_together_are_one_append(tmp_path: Path) -> None:
    with Broker({"offsets.topic.num.partitions": 1}, data=tmp_path) as broker:
        Confluent(broker.bootstrap).create_topic("t", PARTITIONS)
        with RawClient(broker.bootstrap) as client:
            client.ask(FindCoordinatorRequest("g", 0), 2)
            requests = [commit_request("g", number, number % PARTITIONS) for number in range(COMMITS)]
            for request in requests:
                client.send_request(request, OFFSET_COMMIT)
            for _ in requests:
                _, answer = client.receive(OffsetCommitRequest.API_KEY, OFFSET_COMMIT)
                assert answer.topics[0].partitions[0].error_code == 0
        last = {number % PARTITIONS: number for number in range(COMMITS)}
        assert committed(broker.bootstrap, "g") == last
        broker.kill()
        assert batches(tmp_path) < COMMITS / 2
        broker.start()
        assert committed(broker.bootstrap, "g") == last


EXPIRY = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 100}


def test_a_commit_with_a_retention_of_its_own_expires() -> None:
    """As clients before 2.1 asked for it."""
    with Broker(EXPIRY) as broker, RawClient(broker.bootstrap) as client:
        Confluent(broker.bootstrap).create_topic("t", PARTITIONS)
        client.ask(FindCoordinatorRequest("g", 0), 2)
        client.ask(commit_request("g", 5, 0, retention_time_ms=300), 4)
        client.ask(commit_request("g", 6, 1), OFFSET_COMMIT)
        until(lambda: committed(broker.bootstrap, "g") == {1: 6})


@pytest.mark.long
def test_offsets_of_an_empty_group_expire() -> None:
    with Broker(EXPIRY) as broker, RawClient(broker.bootstrap) as client:
        Confluent(broker.bootstrap).create_topic("t", PARTITIONS)
        client.ask(FindCoordinatorRequest("g", 0), 2)
        begun = time.monotonic()
        client.ask(commit_request("g", 6), OFFSET_COMMIT)
        until(lambda: committed(broker.bootstrap, "g"), lambda left: left == {}, seconds=110)
        assert time.monotonic() - begun >= 60, "they expired too early"
        assert client.ask(ListGroupsRequest(), 4).groups == []
