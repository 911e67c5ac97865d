"""The outcome of a commit of offsets, as far as its sender may commit.

Whether topics and partitions exist is the shell's to know: it takes unknown ones out of a request before and puts their
codes into the answer after. Where a version names topics by id, it fills in the names.
"""

from collections.abc import Callable

from headrace.base.clock import Now
from headrace.base.outcome import Reply
from headrace.groups.offsets.records import NO_EXPIRY, TIMESTAMP_MAX, Committed, OffsetRecord
from headrace.groups.outcome import Command, GroupOutcome, nothing
from headrace.groups.settings import GroupSettings
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

Verdict = Callable[[bytes, int], ErrorCode]
"""The error code of a commit, by topic id and partition number."""


def accept_all(topic_id: bytes, partition: int) -> ErrorCode:
    return ErrorCode.NONE


def store_commit(command: Command, judge: Verdict, settings: GroupSettings, now: Now) -> GroupOutcome:
    """The outcome of a commit whose sender may commit, as far as `judge` lets it."""
    request: OffsetCommitRequest = command.request
    out = nothing()
    retention_ms = request.retention_time_ms
    expire_timestamp = NO_EXPIRY if retention_ms < 0 else min(now.wall + retention_ms, TIMESTAMP_MAX)
    topics = []
    for topic in request.topics:
        partitions = []
        for partition in topic.partitions:
            code = judge(topic.topic_id, partition.partition_index)
            if len(partition.committed_metadata or "") > settings.offset_metadata_max_bytes:
                code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            if code is ErrorCode.NONE:
                committed = _committed(partition, now.wall, expire_timestamp, topic.topic_id)
                out.records.append(OffsetRecord(request.group_id, topic.name, partition.partition_index, committed))
            partitions.append(OffsetCommitResponsePartition(partition.partition_index, code))
        topics.append(OffsetCommitResponseTopic(topic.name, topic.topic_id, partitions))
    out.replies.append(Reply(command.ticket, OffsetCommitResponse(topics=topics)))
    return out


def _committed(
    partition: OffsetCommitRequestPartition, commit_timestamp: int, expire_timestamp: int, topic_id: bytes
) -> Committed:
    return Committed(
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.committed_metadata or "",
        commit_timestamp,
        expire_timestamp,
        topic_id,
    )
