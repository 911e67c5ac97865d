"""Which requests have a span, and that without a collector nothing stands between a request and its handler."""

from types import SimpleNamespace
from typing import Any

from headrace.broker.handlers import HANDLERS
from headrace.broker.net.traces import codes_of, is_of_follower, open_traces, topics_of
from headrace.cluster.broker_config import BrokerConfig
from headrace.wire.messages.fetch import FetchRequest, FetchTopic, ReplicaState
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from sim.world import World


def test_without_a_collector_handlers_are_called_as_they_are() -> None:
    view: Any = SimpleNamespace(config=BrokerConfig({}))
    assert open_traces(view) is None
    world = World("traces", 1, {})
    (host,) = world.hosts
    world.start(host)
    assert world.agenda.run(60.0, until=lambda: host.is_serving)
    routes = host.node.broker.dispatch._routes.values()
    assert {route.handle for route in routes} == {handler.handle for handler in HANDLERS}
    world.end()


def test_a_followers_fetch_has_no_span() -> None:
    assert is_of_follower(FetchRequest(replica_id=2))
    assert is_of_follower(FetchRequest(replica_state=ReplicaState(2, 5)))
    assert not is_of_follower(FetchRequest(replica_id=-1))
    assert not is_of_follower(FetchRequest(replica_state=ReplicaState(-1, -1)))
    assert not is_of_follower(ProduceRequest())


def test_topics_are_told_by_name_however_they_are_named() -> None:
    known: Any = SimpleNamespace(topic_by_id={b"i" * 16: SimpleNamespace(name="by-id")}.get)
    assert list(topics_of(known, FetchRequest(topics=[FetchTopic("", b"i" * 16), FetchTopic("b")]))) == ["by-id", "b"]
    assert list(topics_of(known, ProduceRequest(topic_data=[TopicProduceData("c"), TopicProduceData()]))) == ["c"]
    assert list(topics_of(known, MetadataRequest(topics=[MetadataRequestTopic(name="d")]))) == ["d"]
    assert list(topics_of(known, MetadataRequest(topics=None))) == []


def test_errors_are_found_wherever_they_stand() -> None:
    partitions = [PartitionProduceResponse(0, 0), PartitionProduceResponse(1, 6), PartitionProduceResponse(2, 9999)]
    response = ProduceResponse([TopicProduceResponse("orders", bytes(16), partitions)])
    assert sorted(codes_of(response)) == ["9999", "NOT_LEADER_OR_FOLLOWER"]
    assert list(codes_of(None)) == []
