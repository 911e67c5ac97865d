"""How far every group is behind on every partition it committed: each coordinator and each leader is asked once for all.

`client.lag` does this for one group and says more; with thousands of groups that would be thousands of questions.
"""

import contextlib
from collections.abc import Sequence

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.admin import Admin
from headrace.client.connection import Disconnected
from headrace.client.lag import Commit, PartitionLag
from headrace.client.positions import EARLIEST, LATEST, list_offsets
from headrace.wire.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseTopics,
)
from headrace.wire.messages.groups_admin import ListGroupsRequest, ListGroupsResponse

GROUPS_AT_ONCE = 200

Committed = dict[str, dict[TopicPartition, Commit]]
"""By group."""


class GroupLags:
    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        # Commits name topics by id. To ask for all names each time would cost more than all the rest.
        self._names: dict[bytes, str] = {}

    async def look(self) -> dict[str, dict[TopicPartition, int]]:
        """How far each group is behind. What a broker that does not answer knows is left out."""
        lags = await self.behind(await self.committed())
        return {group: {each.id: each.lag for each in found if each.lag is not None} for group, found in lags.items()}

    async def committed(self) -> Committed:
        committed: Committed = {}
        for broker in (await self._admin.describe_cluster()).brokers:
            if not broker.is_fenced:
                with contextlib.suppress(Disconnected, Refused):
                    committed |= await self._committed_at(broker.broker_id)
        return committed

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

    async def _committed_at(self, broker: int) -> Committed:
        listed = await self._admin.ask_broker(broker, ListGroupsRequest(), ListGroupsResponse)
        groups = [each.group_id for each in listed.groups]
        committed: Committed = {}
        for first in range(0, len(groups), GROUPS_AT_ONCE):
            committed |= await self._fetch(broker, groups[first : first + GROUPS_AT_ONCE])
        return committed

    async def _fetch(self, broker: int, groups: Sequence[str]) -> Committed:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None) for group in groups])
        answer = await self._admin.ask_broker(broker, request, OffsetFetchResponse)
        await self._learn_names(answer)
        return {
            group.group_id: {
                TopicPartition(self._name(topic), part.partition_index): Commit(
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
