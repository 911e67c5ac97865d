"""A topic can be used once CreateTopics has answered: at every broker, also by clients that never ask twice."""

import time

import pytest

from clients.raw import RawClient
from eventually import until
from headrace.testing import Cluster
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.messages.topics import (
    CreatableTopic,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
)
from headrace.wire.records import Record, build_batch

PARTITIONS = 30
LATEST = -1


@pytest.fixture(scope="module")
def three(lab_of):
    with Cluster(3) as cluster:
        yield lab_of(cluster)


@pytest.fixture
def links(three):
    """One connection to each broker."""
    clients = {number: RawClient(three.cluster.address(number)) for number in three.cluster.ids}
    yield clients
    for client in clients.values():
        client.socket.close()


def create(link: RawClient, topic: str, partitions: int = PARTITIONS, factor: int = 3) -> None:
    answer = link.ask(CreateTopicsRequest([CreatableTopic(topic, partitions, factor)], timeout_ms=20_000), 7)
    assert answer.topics[0].error_code == 0


def leaders_at(link: RawClient, topic: str, partitions: int) -> list[int]:
    """As one broker's Metadata has them, every partition of it without an error."""
    asked = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    (found,) = link.ask(asked, 12).topics
    assert (found.error_code, len(found.partitions)) == (0, partitions)
    assert {part.error_code for part in found.partitions} == {0}
    return [part.leader_id for part in sorted(found.partitions, key=lambda part: part.partition_index)]


def produce_without_acks(links: dict[int, RawClient], topic: str, leaders: list[int], first: int = 0) -> None:
    for partition, leader in enumerate(leaders[first:], first):
        data = PartitionProduceData(partition, build_batch([Record(timestamp=1_700_000_000_000, value=b"v")]))
        links[leader].send_request(ProduceRequest(None, 0, 1000, [TopicProduceData(topic, partition_data=[data])]), 9)


def written(links: dict[int, RawClient], topic: str, leaders: list[int]) -> list[int]:
    """Each partition's end, asked on the connection that wrote it."""
    ends = []
    for partition, leader in enumerate(leaders):
        wanted = ListOffsetsTopic(topic, [ListOffsetsPartition(partition, timestamp=LATEST)])
        request = ListOffsetsRequest(topics=[wanted])
        # The end that consumers see comes after the followers' fetches.
        found = until(
            lambda leader=leader, request=request: links[leader].ask(request, 7).topics[0].partitions[0].offset,
            lambda offset: offset == 1,
        )
        ends.append(found)
    return ends


def test_a_new_topic_loses_nothing_that_is_sent_without_acks(three, links, headrace_topic: str) -> None:
    create(links[1], headrace_topic)
    seen = {number: leaders_at(link, headrace_topic, PARTITIONS) for number, link in links.items()}
    assert seen[1] == seen[2] == seen[3]
    produce_without_acks(links, headrace_topic, seen[3])
    assert written(links, headrace_topic, seen[3]) == [1] * PARTITIONS


def test_so_do_partitions_that_are_added(three, links, headrace_topic: str) -> None:
    create(links[1], headrace_topic, 1)
    wanted = CreatePartitionsTopic(headrace_topic, PARTITIONS, None)
    assert links[2].ask(CreatePartitionsRequest([wanted], timeout_ms=20_000), 3).results[0].error_code == 0
    seen = {number: leaders_at(link, headrace_topic, PARTITIONS) for number, link in links.items()}
    produce_without_acks(links, headrace_topic, seen[1])
    assert written(links, headrace_topic, seen[1]) == [1] * PARTITIONS


def test_so_does_a_topic_that_is_created_because_it_was_mentioned(three, links, headrace_topic: str) -> None:
    (made,) = links[3].ask(MetadataRequest([MetadataRequestTopic(name=headrace_topic)]), 12).topics
    leaders = [part.leader_id for part in made.partitions]
    assert [part.error_code for part in made.partitions] == [0] * len(leaders)
    assert leaders_at(links[1], headrace_topic, len(leaders)) == leaders
    produce_without_acks(links, headrace_topic, leaders)
    assert written(links, headrace_topic, leaders) == [1] * len(leaders)


def test_a_dead_broker_holds_a_creation_up_no_longer_than_its_lease(three, links, headrace_topic: str) -> None:
    three.cluster.kill(3)
    began = time.monotonic()
    create(links[1], headrace_topic, 6, 2)
    took = time.monotonic() - began
    three.cluster.start(3)
    three.until_healthy()
    assert took < 19, "it would be told after 20 s that the wait is over"
