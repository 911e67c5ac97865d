"""DescribeLogDirs: what this broker keeps of each partition, and how far that is behind what is committed.

AlterReplicaLogDirs moves replicas between the data directories of one broker. Ours has one: there is nowhere else to go.
"""

import os.path
from collections.abc import Iterable

from headrace.base.disk import Disk
from headrace.broker.handlers.static_settings import log_directory
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.partitions import Partitions
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


def handle_describe_log_dirs(partitions: Partitions, disk: Disk, request: Request) -> DescribeLogDirsResponse:
    """One data directory per broker, so one result."""
    topics: dict[str, DescribeLogDirsTopic] = {}
    for partition in _wanted(partitions, request.body.topics):
        topic = topics.setdefault(partition.id.topic, DescribeLogDirsTopic(partition.id.topic, []))
        topic.partitions.append(_described(partition))
    path = partitions.path
    total, usable = disk.total_bytes(path), disk.free_bytes(path)
    directory = DescribeLogDirsResult(ErrorCode.NONE, log_directory(partitions), list(topics.values()), total, usable)
    return DescribeLogDirsResponse(results=[directory])


def _wanted(partitions: Partitions, topics: list[DescribableLogDirTopic] | None) -> Iterable[Partition]:
    if topics is None:
        return partitions
    found = {
        partition.id: partition
        for topic in topics
        for index in topic.partitions
        if (partition := partitions.find(topic.topic, index)) is not None
    }
    return found.values()


def _described(partition: Partition) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition.id.partition, partition.log.segments.size_bytes, partition.following.lag, False
    )


def handle_alter_replica_log_dirs(view: View, partitions: Partitions, request: Request) -> AlterReplicaLogDirsResponse:
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in request.body.dirs:
        is_ours = os.path.normpath(directory.path) == log_directory(partitions)
        for topic in directory.topics:
            result = topics.setdefault(topic.name, AlterReplicaLogDirTopicResult(topic.name))
            for index in topic.partitions:
                code = _code_of_staying(view, partitions, topic.name, index) if is_ours else ErrorCode.LOG_DIR_NOT_FOUND
                result.partitions.append(AlterReplicaLogDirPartitionResult(index, code))
    return AlterReplicaLogDirsResponse(0, list(topics.values()))


def _code_of_staying(view: View, partitions: Partitions, topic: str, index: int) -> ErrorCode:
    if partitions.find(topic, index) is not None:
        return ErrorCode.NONE
    if view.image.partition(topic, index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.REPLICA_NOT_AVAILABLE
