"""DescribeLogDirs: what this broker keeps of each partition, and how far that is behind what is committed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.broker.dispatch import Request
from headrace.broker.partition import Partition
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.cluster import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


def handle_describe_log_dirs(broker: "Broker", request: Request) -> DescribeLogDirsResponse:
    """One data directory per broker, so one result."""
    topics: dict[str, DescribeLogDirsTopic] = {}
    for partition in _wanted(broker, request.body.topics):
        topic = topics.setdefault(partition.id.topic, DescribeLogDirsTopic(partition.id.topic, []))
        topic.partitions.append(_described(partition))
    path = broker.partitions.path
    total, usable = broker.disk.total_bytes(path), broker.disk.free_bytes(path)
    directory = DescribeLogDirsResult(ErrorCode.NONE, path, list(topics.values()), total, usable)
    return DescribeLogDirsResponse(results=[directory])


def _wanted(broker: "Broker", topics: list[DescribableLogDirTopic] | None) -> Iterable[Partition]:
    if topics is None:
        return broker.partitions
    found = {
        partition.id: partition
        for topic in topics
        for index in topic.partitions
        if (partition := broker.partitions.find(topic.topic, index)) is not None
    }
    return found.values()


def _described(partition: Partition) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(partition.id.partition, partition.log.size_bytes, partition.lag, False)
