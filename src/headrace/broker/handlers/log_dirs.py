"""DescribeLogDirs: what this broker keeps of each partition, and how far that is behind what is committed.

AlterReplicaLogDirs moves replicas between the data directories of one broker. Ours has one: there is nowhere else to go.
"""

import os.path
from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.broker.handlers.static_settings import log_directory
from headrace.broker.net.dispatch import Request
from headrace.partition.partition import Partition
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.cluster import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
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
    directory = DescribeLogDirsResult(ErrorCode.NONE, log_directory(broker), list(topics.values()), total, usable)
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
    return DescribeLogDirsPartition(partition.id.partition, partition.log.size_bytes, partition.following.lag, False)


def handle_alter_replica_log_dirs(broker: "Broker", request: Request) -> AlterReplicaLogDirsResponse:
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in request.body.dirs:
        is_ours = os.path.normpath(directory.path) == log_directory(broker)
        for topic in directory.topics:
            result = topics.setdefault(topic.name, AlterReplicaLogDirTopicResult(topic.name))
            for index in topic.partitions:
                code = _code_of_staying(broker, topic.name, index) if is_ours else ErrorCode.LOG_DIR_NOT_FOUND
                result.partitions.append(AlterReplicaLogDirPartitionResult(index, code))
    return AlterReplicaLogDirsResponse(0, list(topics.values()))


def _code_of_staying(broker: "Broker", topic: str, index: int) -> ErrorCode:
    if broker.partitions.find(topic, index) is not None:
        return ErrorCode.NONE
    if broker.image.partition(topic, index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.REPLICA_NOT_AVAILABLE
