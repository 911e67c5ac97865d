"""Positions in a log: ListOffsets, OffsetForLeaderEpoch, DeleteRecords."""

from headrace.base.errors import DiskFull, Refused
from headrace.broker.hosting.hosting import Hosting
from headrace.broker.net.dispatch import Request
from headrace.broker.partitions import Partitions
from headrace.cluster.entities import INTERNAL_TOPICS
from headrace.partition.partition import Partition
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.offsets import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
    EpochEndOffset,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

READ_COMMITTED = 1
LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6


def handle_list_offsets(partitions: Partitions, request: Request) -> ListOffsetsResponse:
    seen: set[tuple[str, int]] = set()
    topics = []
    for topic in request.body.topics:
        parts = []
        for wanted in topic.partitions:
            if (topic.name, wanted.partition_index) in seen:
                parts.append(ListOffsetsPartitionResponse(wanted.partition_index, ErrorCode.INVALID_REQUEST))
                continue
            seen.add((topic.name, wanted.partition_index))
            parts.append(_list_offset(partitions, topic.name, wanted, request.body.isolation_level == READ_COMMITTED))
        topics.append(ListOffsetsTopicResponse(topic.name, parts))
    return ListOffsetsResponse(0, topics)


def _list_offset(
    partitions: Partitions, topic: str, wanted: ListOffsetsPartition, committed_only: bool
) -> ListOffsetsPartitionResponse:
    try:
        partition = partitions.hosted(topic, wanted.partition_index)
        partition.check_leader(wanted.current_leader_epoch)
        timestamp, offset = _find(partition, wanted.timestamp, committed_only)
    except Refused as refusal:
        return ListOffsetsPartitionResponse(wanted.partition_index, refusal.code)
    epoch = -1 if offset < 0 else partition.reads.epoch_at(offset)
    return ListOffsetsPartitionResponse(wanted.partition_index, 0, timestamp, offset, epoch)


def _find(partition: Partition, timestamp: int, committed_only: bool) -> tuple[int, int]:
    """(timestamp, offset) that answers the question; both -1 when there is no such record."""
    match timestamp:
        case -1:
            partition.reads.check_watermark_known()
            return -1, partition.reads.visible_end(False, committed_only)
        case -2 | -4:
            return -1, partition.log.start_offset
        case -3:
            return partition.reads.find_max_timestamp()
        case -5 | -6:
            return -1, -1
        case _ if timestamp < 0:
            raise Refused(ErrorCode.INVALID_REQUEST, f"there is no offset for the special timestamp {timestamp}")
    return partition.reads.find_by_time(timestamp, committed_only)


def handle_offset_for_leader_epoch(partitions: Partitions, request: Request) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        0,
        [
            OffsetForLeaderTopicResult(
                topic.topic, [_epoch_end(partitions, topic.topic, part) for part in topic.partitions]
            )
            for topic in request.body.topics
        ],
    )


def _epoch_end(partitions: Partitions, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = partitions.hosted(topic, wanted.partition)
        partition.check_leader(wanted.current_leader_epoch)
    except Refused as refusal:
        return EpochEndOffset(refusal.code, wanted.partition)
    epoch, end_offset = partition.reads.epoch_end(wanted.leader_epoch)
    return EpochEndOffset(0, wanted.partition, epoch, end_offset)


async def handle_delete_records(hosting: Hosting, request: Request) -> DeleteRecordsResponse:
    topics = []
    for topic in request.body.topics:
        parts = [
            _delete(hosting.partitions, topic.name, part.partition_index, part.offset) for part in topic.partitions
        ]
        topics.append(DeleteRecordsTopicResult(topic.name, parts))
    # The new start must survive a crash before anyone is told of it: offsets never come back.
    try:
        await hosting.checkpoints.save()
    except DiskFull:
        for result in topics:
            result.partitions = [_not_written_down(part) for part in result.partitions]
    return DeleteRecordsResponse(0, topics)


def _not_written_down(part: DeleteRecordsPartitionResult) -> DeleteRecordsPartitionResult:
    """On a full disk. It may be asked for again; a refusal of another kind stands."""
    code = part.error_code or ErrorCode.KAFKA_STORAGE_ERROR
    return DeleteRecordsPartitionResult(part.partition_index, -1, code)


def _delete(partitions: Partitions, topic: str, index: int, before: int) -> DeleteRecordsPartitionResult:
    try:
        partition = partitions.hosted(topic, index)
        partition.check_leader()
        _check_may_delete(topic)
        return DeleteRecordsPartitionResult(index, partition.upkeep.delete_records(before), 0)
    except Refused as refusal:
        return DeleteRecordsPartitionResult(index, -1, refusal.code)


def _check_may_delete(topic: str) -> None:
    if topic in INTERNAL_TOPICS:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is kept by brokers only")
