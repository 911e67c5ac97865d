"""The lag of every group on every partition it committed: each coordinator and each leader is asked once for all.

`client.lag` does this for one group and says more; with thousands of groups that would be thousands of questions.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headrace.admin.admin import Admin, check
from headrace.admin.lag import CommittedOffset, PartitionLag
from headrace.admin.positions import list_offsets
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST
from headrace.client.connection import Disconnected
from headrace.wire.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseTopics,
)
from headrace.wire.messages.groups_admin import ListGroupsRequest, ListGroupsResponse

GROUPS_AT_ONCE = 200

Committed = dict[str, dict[TopicPartition, CommittedOffset]]
"""Commits by group."""


class Lags(NamedTuple):
    behind: Mapping[str, Mapping[TopicPartition, int]] = {}
    """Lags by group."""
    partial: frozenset[str] = frozenset()
    """Groups of which some partitions, or all, could not be asked about."""
    is_complete: bool = False
    """Whether there can be no other groups: every broker is there and told of its own."""


class GroupLags:
    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        # Commits name topics by id. To ask for all names each time would cost more than all the rest.
        self._names: dict[bytes, str] = {}

    async def look(self) -> Lags:
        """How far each group is behind. What a broker that does not answer knows is left out."""
        committed, refused, is_complete = await self._committed()
        found = await self.behind(committed)
        behind = {
            group: {each.id: each.lag for each in partitions if each.lag is not None}
            for group, partitions in found.items()
        }
        unknown = {each.id for partitions in found.values() for each in partitions if each.lag is None}
        silent = await self._existing(unknown)
        partial = {group for group, commits in committed.items() if not silent.isdisjoint(commits)}
        return Lags(behind, frozenset(refused | partial), is_complete and not refused)

    async def committed(self) -> Committed:
        return (await self._committed())[0]

    async def _committed(self) -> tuple[Committed, set[str], bool]:
        """Commits of all groups, the groups that were refused, and whether every broker listed its own."""
        committed: Committed = {}
        refused: set[str] = set()
        is_complete = True
        for broker in (await self._admin.describe_cluster()).brokers:
            try:
                # The groups of a broker that is gone may have no coordinator now.
                is_complete &= not broker.is_fenced
                if not broker.is_fenced:
                    told, untold = await self._committed_at(broker.broker_id)
                    committed |= told
                    refused |= untold
            except (Disconnected, Refused):
                is_complete = False
        # One that moved meanwhile may have been told of by its next coordinator.
        return committed, refused - committed.keys(), is_complete

    async def behind(self, committed: Committed) -> dict[str, list[PartitionLag]]:
        """A partition without a leader that answers has no lag; of a topic that is gone, nothing is said."""
        wanted = {id for commits in committed.values() for id in commits if id.topic}
        ends = await list_offsets(self._admin, dict.fromkeys(wanted, LATEST))
        starts = await list_offsets(self._admin, dict.fromkeys(wanted, EARLIEST))
        return {
            group: [
                PartitionLag(id, commit.offset, starts.get(id), ends.get(id), commit.metadata)
                for id, commit in commits.items()
                if id.topic
            ]
            for group, commits in committed.items()
            if commits
        }

    async def _committed_at(self, broker: int) -> tuple[Committed, set[str]]:
        listed = await self._admin.ask_broker(broker, ListGroupsRequest(), ListGroupsResponse)
        check(listed.error_code)
        groups = [each.group_id for each in listed.groups]
        committed: Committed = {}
        for first in range(0, len(groups), GROUPS_AT_ONCE):
            committed |= await self._fetch(broker, groups[first : first + GROUPS_AT_ONCE])
        return committed, set(groups) - committed.keys()

    async def _fetch(self, broker: int, groups: Sequence[str]) -> Committed:
        """Commits of groups that are not refused: one that moves to another coordinator takes no other with it."""
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None) for group in groups])
        answer = await self._admin.ask_broker(broker, request, OffsetFetchResponse)
        await self._learn_names(answer)
        return {
            group.group_id: {
                TopicPartition(self._name(topic), part.partition_index): CommittedOffset(
                    part.committed_offset, part.metadata or ""
                )
                for topic in group.topics
                for part in topic.partitions
                if part.committed_offset >= 0 and not part.error_code
            }
            for group in answer.groups
            if not group.error_code
        }

    async def _learn_names(self, answer: OffsetFetchResponse) -> None:
        if all(self._name(topic) for group in answer.groups for topic in group.topics):
            return
        self._names = {topic.topic_id: topic.name or "" for topic in (await self._admin.metadata()).topics}

    def _name(self, topic: OffsetFetchResponseTopics) -> str:
        return topic.name or self._names.get(topic.topic_id, "")

    async def _existing(self, ids: set[TopicPartition]) -> set[TopicPartition]:
        """The partitions whose topic was not deleted."""
        if not ids:
            return set()
        topics = (await self._admin.metadata({id.topic for id in ids})).topics
        existing = {topic.name for topic in topics if not topic.error_code}
        return {id for id in ids if id.topic in existing}
