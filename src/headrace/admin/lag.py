"""The lag of a group: what it has committed against where each partition ends.

    for partition in get_lag("127.0.0.1:9092", "billing"):
        print(partition.id, partition.lag)

Works for every kind of group that commits, also while nobody is in it. Offsets and ends are asked one after the other,
so a lag may be a few records off while the group reads; it is never negative.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headrace.admin.admin import Admin
from headrace.admin.coordinators import at_coordinator
from headrace.admin.positions import list_offsets
from headrace.base.bootstrap import parse_bootstrap
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST
from headrace.client.peer import Address
from headrace.wire.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)


class CommittedOffset(NamedTuple):
    offset: int
    metadata: str


class PartitionLag(NamedTuple):
    id: TopicPartition
    committed: int
    start: int | None
    end: int | None
    """None when the partition has no leader that answers."""
    metadata: str = ""

    @property
    def lag(self) -> int | None:
        """Offsets still to read; one that retention has deleted before it was read does not count."""
        if self.start is None or self.end is None:
            return None
        return max(0, self.end - max(self.committed, self.start))


def get_lag(bootstrap: str, group: str) -> list[PartitionLag]:
    """The lag of every partition that the group has committed, sorted. Raises Refused, or Disconnected if no broker
    answers.
    """
    return asyncio.run(_get_lag(parse_bootstrap(bootstrap), group))


async def _get_lag(bootstrap: Iterable[Address], group: str) -> list[PartitionLag]:
    admin = Admin(bootstrap, "headrace-lag")
    try:
        return await lag_of(admin, group)
    finally:
        admin.close()


async def lag_of(admin: Admin, group: str) -> list[PartitionLag]:
    commits = await committed_by(admin, group)
    starts = await list_offsets(admin, dict.fromkeys(commits, EARLIEST))
    ends = await list_offsets(admin, dict.fromkeys(commits, LATEST))
    return [
        PartitionLag(id, commits[id].offset, starts.get(id), ends.get(id), commits[id].metadata)
        for id in sorted(commits)
    ]


async def committed_by(
    admin: Admin, group: str, names: Mapping[bytes, str] | None = None
) -> Mapping[TopicPartition, CommittedOffset]:
    """`names` of topics by their ids are asked for, unless who asks for many groups knows them."""
    return await at_coordinator(admin, group, lambda coordinator: _fetch(admin, coordinator, group, names))


async def _fetch(
    admin: Admin, broker_id: int, group: str, names: Mapping[bytes, str] | None
) -> dict[TopicPartition, CommittedOffset]:
    # Both layouts in one request: each version writes the one that it knows.
    request = OffsetFetchRequest(group, None, [OffsetFetchRequestGroup(group, topics=None)])
    answer = await admin.ask_broker(broker_id, request, OffsetFetchResponse)
    found = answer.groups[0] if answer.groups else answer
    if found.error_code:
        raise Refused(found.error_code, f"group {group}")
    if names is None:
        names = {topic.topic_id: topic.name or "" for topic in (await admin.metadata()).topics}
    return {
        TopicPartition(_name(topic, names), part.partition_index): CommittedOffset(
            part.committed_offset, part.metadata or ""
        )
        for topic in found.topics
        for part in topic.partitions
        if part.committed_offset >= 0 and not part.error_code
    }


def _name(topic: OffsetFetchResponseTopic | OffsetFetchResponseTopics, names: Mapping[bytes, str]) -> str:
    return topic.name or (names.get(topic.topic_id, "") if isinstance(topic, OffsetFetchResponseTopics) else "")
