"""Two listeners on each broker: whoever asks is told the addresses of the one that was asked, as NAT and proxies need it."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer
from tls_world import HOST, PortMap, ask

from clients.confluent import Confluent
from eventually import until
from headrace.cli.run.ports import free_port
from headrace.testing import Cluster
from headrace.wire.apis import APIS
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.cluster import DescribeClusterRequest, DescribeClusterResponse
from headrace.wire.messages.coordinators import FindCoordinatorRequest, FindCoordinatorResponse
from headrace.wire.messages.metadata import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    TopicRequest,
)
from headrace.wire.messages.quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionAsked,
    TopicAsked,
)

SEEN_AS = "localhost"


class Pair:
    """Two brokers with an inside and an outside; broker 2 has no third listener, which broker 1 has."""

    def __init__(self) -> None:
        self.inside = {number: free_port(HOST) for number in (1, 2)}
        self.outside = {number: free_port(HOST) for number in (1, 2)}
        # What clients see: the far end of a port map.
        self.mapped = {number: free_port(HOST) for number in (1, 2)}
        self.third = free_port(HOST)
        settings = {
            "default.replication.factor": 2,
            "listeners": lambda number: self._urls(number, HOST, self.outside),
            "advertised.listeners": lambda number: self._urls(number, SEEN_AS, self.mapped),
            "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,THIRD:PLAINTEXT",
            "inter.broker.listener.name": "INSIDE",
        }
        self.cluster = Cluster(2, settings)

    def _urls(self, number: int, host: str, outside: dict[int, int]) -> str:
        third = f",THIRD://{HOST}:{self.third}" if number == 1 else ""
        return f"INSIDE://{HOST}:{self.inside[number]},OUTSIDE://{host}:{outside[number]}{third}"


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    pair = Pair()
    with pair.cluster:
        client = Confluent(f"{HOST}:{pair.inside[1]}")
        client.create_topic("shared", 4, {}, 2)
        until(lambda: len(metadata(pair.inside[1]).brokers) == 2 and leaders(pair) == {1, 2})
        yield pair


def metadata(port: int, version: int = 12, topic: str = "shared") -> MetadataResponse:
    return ask(port, MetadataRequest([MetadataRequestTopic(name=topic)]), MetadataResponse, version)


def leaders(pair: Pair) -> set[int]:
    return {part.leader_id for part in metadata(pair.inside[1]).topics[0].partitions}


def addresses(brokers: list) -> dict[int, tuple[str, int]]:
    return {each.node_id: (each.host, each.port) for each in brokers}


def wanted(pair: Pair, outside: bool) -> dict[int, tuple[str, int]]:
    if outside:
        return {number: (SEEN_AS, port) for number, port in pair.mapped.items()}
    return {number: (HOST, port) for number, port in pair.inside.items()}


@pytest.mark.parametrize("version", range(APIS[3].min_version, APIS[3].max_version + 1))
def test_metadata_has_the_addresses_of_the_listener_that_was_asked(pair: Pair, version: int) -> None:
    for number in (1, 2):
        assert addresses(metadata(pair.inside[number], version).brokers) == wanted(pair, outside=False)
        assert addresses(metadata(pair.outside[number], version).brokers) == wanted(pair, outside=True)


@pytest.mark.parametrize("version", range(APIS[3].min_version, APIS[3].max_version + 1))
def test_what_a_broker_without_the_listener_leads_has_an_error(pair: Pair, version: int) -> None:
    inside = {part.partition_index: part.leader_id for part in metadata(pair.inside[1]).topics[0].partitions}
    told = metadata(pair.third, version)
    assert addresses(told.brokers) == {1: (HOST, pair.third)}
    code = ErrorCode.LISTENER_NOT_FOUND if version >= 6 else ErrorCode.LEADER_NOT_AVAILABLE
    for part in told.topics[0].partitions:
        led = inside[part.partition_index]
        assert (part.error_code, part.leader_id) == ((0, 1) if led == 1 else (code, -1))


def test_described_partitions_have_the_error_too(pair: Pair) -> None:
    request = DescribeTopicPartitionsRequest([TopicRequest("shared")])
    told = ask(pair.third, request, DescribeTopicPartitionsResponse, 0)
    codes = {part.error_code for part in told.topics[0].partitions}
    assert codes == {0, ErrorCode.LISTENER_NOT_FOUND}


def test_find_coordinator(pair: Pair) -> None:
    for number in range(20):
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[f"group-{number}"])

        def found(port: int, request: FindCoordinatorRequest = request) -> FindCoordinatorResponse:
            return ask(port, request, FindCoordinatorResponse, 4)

        inside = until(lambda: found(pair.inside[1]).coordinators[0], lambda each: not each.error_code)
        outside = found(pair.outside[1]).coordinators[0]
        assert (inside.host, inside.port) == wanted(pair, outside=False)[inside.node_id]
        assert (outside.host, outside.port) == wanted(pair, outside=True)[inside.node_id]
        third = found(pair.third).coordinators[0]
        expected = 0 if inside.node_id == 1 else ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert third.error_code == expected


def test_describe_cluster_and_quorum(pair: Pair) -> None:
    quorum = DescribeQuorumRequest([TopicAsked("__cluster_metadata", [PartitionAsked(0)])])
    for port, outside in ((pair.inside[1], False), (pair.outside[2], True)):
        told = ask(port, DescribeClusterRequest(), DescribeClusterResponse, 1)
        assert {each.broker_id: (each.host, each.port) for each in told.brokers} == wanted(pair, outside)
        nodes = ask(port, quorum, DescribeQuorumResponse, 2).nodes
        assert {each.node_id: each.listeners[0].name for each in nodes} == dict.fromkeys(
            (1, 2), "OUTSIDE" if outside else "INSIDE"
        )
        told_at = {each.node_id: (each.listeners[0].host, each.listeners[0].port) for each in nodes}
        assert told_at == wanted(pair, outside)


def test_a_client_behind_a_port_map_reaches_every_broker(pair: Pair) -> None:
    with PortMap({pair.mapped[number]: pair.outside[number] for number in (1, 2)}):
        options = {"bootstrap.servers": f"{SEEN_AS}:{pair.mapped[1]}", "broker.address.family": "v4"}
        producer = Producer({**options, "acks": "all"})
        for number in range(200):
            producer.produce("shared", str(number), partition=number % 4)
        assert producer.flush(30) == 0
        consumer = Consumer({**options, "group.id": "outside", "auto.offset.reset": "earliest"})
        consumer.subscribe(["shared"])
        got: list[int] = []

        def read() -> int:
            got.extend(int(each.value()) for each in consumer.consume(50, 0.5) if not each.error())
            return len(got)

        until(read, lambda count: count >= 200)
        consumer.close()
        assert sorted(got) == list(range(200))
