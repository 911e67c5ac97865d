"""The committed offsets of a group, with the text that clients store beside them, given back word for word.

Whether topics and partitions exist is the shell's to know: it takes unknown ones out of a request before and puts their
codes into the answer after. Where a version names topics by id, it fills in the names.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from headrace.base.clock import Now
from headrace.base.outcome import Reply
from headrace.groups.classic import ClassicGroup, GroupState
from headrace.groups.consumer_offsets import Verdict, accept_all
from headrace.groups.outcome import Command, GroupOutcome, answered, nothing
from headrace.groups.records import NO_EXPIRY, TIMESTAMP_MAX, Committed, OffsetRecord
from headrace.groups.refusals import refused_commit
from headrace.groups.sessions import renew_session
from headrace.groups.settings import GroupSettings
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

GROUP_MUST_EXIST_SINCE = 9


class PendingOffset(NamedTuple):
    order: int
    record: OffsetRecord


class CommittedOffsets:
    __slots__ = ("_order", "group_id", "pending", "topics")

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.topics: dict[str, dict[int, Committed]] = {}
        self.pending: dict[int, dict[tuple[str, int], PendingOffset]] = {}
        """Offsets committed in transactions that are still open, by producer id."""
        self._order = 0

    def apply(self, record: OffsetRecord) -> None:
        self._outdate(record, self._order)
        self._store(record)

    def _store(self, record: OffsetRecord) -> None:
        if record.value is not None:
            self.topics.setdefault(record.topic, {})[record.partition] = record.value
            return
        partitions = self.topics.get(record.topic, {})
        partitions.pop(record.partition, None)
        if not partitions:
            self.topics.pop(record.topic, None)

    def apply_pending(self, producer_id: int, record: OffsetRecord) -> None:
        self._order += 1
        pending = PendingOffset(self._order, record)
        self.pending.setdefault(producer_id, {})[record.topic, record.partition] = pending

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        for order, record in self.pending.pop(producer_id, {}).values():
            if commit:
                self._outdate(record, order)
                self._store(record)

    def _outdate(self, record: OffsetRecord, order: int) -> None:
        """Drops pending commits older than this one: the later commit counts, in whatever order transactions end."""
        key = record.topic, record.partition
        for records in self.pending.values():
            if key in records and records[key].order <= order:
                del records[key]

    def is_unstable(self, topic: str, partition: int) -> bool:
        return any((topic, partition) in records for records in self.pending.values())

    def get(self, topic: str, partition: int) -> Committed | None:
        return self.topics.get(topic, {}).get(partition)

    def tombstones(self, is_gone: Callable[[str, Committed], bool]) -> Iterator[OffsetRecord]:
        for topic, partitions in self.topics.items():
            for partition, committed in partitions.items():
                if is_gone(topic, committed):
                    yield OffsetRecord(self.group_id, topic, partition, None)


def decide_commit(classic: ClassicGroup | None, command: Command, settings: GroupSettings, now: Now) -> GroupOutcome:
    request: OffsetCommitRequest = command.request
    code = _check_commit(classic, request, command.version)
    if code is not ErrorCode.NONE:
        return answered(command, refused_commit(request, code))
    out = store_commit(command, accept_all, settings, now)
    if classic is not None and request.member_id in classic.members:
        renew_session(classic, request.member_id, now, out)
    return out


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


def _check_commit(classic: ClassicGroup | None, request: OffsetCommitRequest, version: int) -> ErrorCode:
    generation, member_id = request.generation_id_or_member_epoch, request.member_id
    if classic is None and generation >= 0:
        return ErrorCode.GROUP_ID_NOT_FOUND if version >= GROUP_MUST_EXIST_SINCE else ErrorCode.ILLEGAL_GENERATION
    if classic is None or (generation < 0 and classic.state is GroupState.EMPTY):
        # The sender is a consumer that assigns its own partitions, or an administrator.
        return ErrorCode.NONE
    code = classic.check_generation(member_id, request.group_instance_id, generation)
    if code is ErrorCode.NONE and classic.state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return code


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
