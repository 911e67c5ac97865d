"""OffsetFetch: one group up to version 7, many from 8 on. An offset that was never committed is -1, and no error.

A group without members and offsets is answered like one that never was: clients ask before they have committed anything.
"""

from collections.abc import Iterable
from typing import TypeVar

from headrace.base.ids import ZERO_ID
from headrace.groups.offsets.committed import CommittedOffsets
from headrace.groups.offsets.records import Committed
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

P = TypeVar("P", OffsetFetchResponsePartition, OffsetFetchResponsePartitions)

_NEVER_COMMITTED = Committed(-1, -1, "", -1)


def fetch_one(request: OffsetFetchRequest, offsets: CommittedOffsets) -> OffsetFetchResponse:
    wanted = (
        _all(offsets) if request.topics is None else [(each.name, each.partition_indexes) for each in request.topics]
    )
    topics = [
        OffsetFetchResponseTopic(
            name, _partitions(OffsetFetchResponsePartition, offsets, name, indexes, request.require_stable)
        )
        for name, indexes in wanted
    ]
    return OffsetFetchResponse(topics=topics)


def fetch_group(
    group: OffsetFetchRequestGroup, offsets: CommittedOffsets, require_stable: bool = False
) -> OffsetFetchResponseGroup:
    wanted = (
        [(name, ZERO_ID, indexes) for name, indexes in _all(offsets)]
        if group.topics is None
        else [(each.name, each.topic_id, each.partition_indexes) for each in group.topics]
    )
    topics = [
        OffsetFetchResponseTopics(
            name, topic_id, _partitions(OffsetFetchResponsePartitions, offsets, name, indexes, require_stable)
        )
        for name, topic_id, indexes in wanted
    ]
    return OffsetFetchResponseGroup(group.group_id, topics)


def _all(offsets: CommittedOffsets) -> list[tuple[str, list[int]]]:
    return [(topic, list(partitions)) for topic, partitions in offsets.topics.items()]


def _partitions(
    layout: type[P], offsets: CommittedOffsets, topic: str, indexes: Iterable[int], require_stable: bool
) -> list[P]:
    kept = offsets.topics.get(topic, {})
    partitions = []
    for index in indexes:
        if require_stable and offsets.is_unstable(topic, index):
            # The offset is not decided: a consumer that starts there could read something twice, or never.
            partitions.append(layout(index, -1, -1, "", ErrorCode.UNSTABLE_OFFSET_COMMIT))
            continue
        committed = kept.get(index, _NEVER_COMMITTED)
        partitions.append(layout(index, committed.offset, committed.leader_epoch, committed.metadata))
    return partitions
