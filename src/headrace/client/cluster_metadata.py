"""The content of a Metadata reply as values: the brokers, and the leader of each partition."""

from collections.abc import Mapping
from typing import NamedTuple

from headrace.wire.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic


class BrokerMetadata(NamedTuple):
    id: int
    host: str
    port: int
    rack: str | None


class PartitionMetadata(NamedTuple):
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    error_code: int = 0


class TopicMetadata(NamedTuple):
    name: str
    id: bytes
    is_internal: bool
    partitions: Mapping[int, PartitionMetadata]
    """Partitions by number, in order."""
    error_code: int = 0


class ClusterMetadata(NamedTuple):
    cluster_id: str
    controller: int | None
    brokers: Mapping[int, BrokerMetadata]
    topics: Mapping[str, TopicMetadata]
    """Every topic that was asked for; one that does not exist has its error code and no partitions."""


def cluster_metadata(reply: MetadataResponse) -> ClusterMetadata:
    brokers = {each.node_id: BrokerMetadata(each.node_id, each.host, each.port, each.rack) for each in reply.brokers}
    topics = sorted(reply.topics, key=lambda topic: topic.name or "")
    return ClusterMetadata(
        reply.cluster_id or "",
        reply.controller_id if reply.controller_id in brokers else None,
        brokers,
        {topic.name or "": _topic(topic) for topic in topics},
    )


def _topic(topic: MetadataResponseTopic) -> TopicMetadata:
    partitions = sorted(topic.partitions, key=lambda part: part.partition_index)
    return TopicMetadata(
        topic.name or "",
        bytes(topic.topic_id),
        topic.is_internal,
        {part.partition_index: _partition(part) for part in partitions},
        topic.error_code,
    )


def _partition(part: MetadataResponsePartition) -> PartitionMetadata:
    return PartitionMetadata(
        part.leader_id if part.leader_id >= 0 else None,
        part.leader_epoch,
        tuple(part.replica_nodes),
        tuple(part.isr_nodes),
        part.error_code,
    )
