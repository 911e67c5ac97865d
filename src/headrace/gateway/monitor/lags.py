"""How far every group is behind on every partition it committed: each coordinator and each leader is asked once for all.

`client.lag` does this for one group and says more; with thousands of groups that would be thousands of questions.
"""

from collections.abc import Mapping, Sequence

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.admin import Admin
from headrace.client.connection import Disconnected
from headrace.client.positions import EARLIEST, LATEST, list_offsets
from headrace.wire.messages.group_offsets import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from headrace.wire.messages.groups_admin import ListGroupsRequest, ListGroupsResponse

GROUPS_AT_ONCE = 200

Committed = dict[str, dict[TopicPartition, int]]


async def lags_of_all(admin: Admin) -> Committed:
    """By group. What a broker that does not answer knows is left out."""
    names = {topic.topic_id: topic.name or "" for topic in (await admin.metadata()).topics}
    committed: Committed = {}
    for broker in [each.broker_id for each in (await admin.describe_cluster()).brokers if not each.is_fenced]:
        try:
            committed |= await _committed_at(admin, broker, names)
        except (Disconnected, Refused):
            continue
    return await _behind(admin, committed)


async def _committed_at(admin: Admin, broker: int, names: Mapping[bytes, str]) -> Committed:
    listed = await admin.ask_broker(broker, ListGroupsRequest(), ListGroupsResponse)
    groups = [each.group_id for each in listed.groups]
    committed: Committed = {}
    for first in range(0, len(groups), GROUPS_AT_ONCE):
        committed |= await _fetch(admin, broker, groups[first : first + GROUPS_AT_ONCE], names)
    return committed


async def _fetch(admin: Admin, broker: int, groups: Sequence[str], names: Mapping[bytes, str]) -> Committed:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=None) for group in groups])
    answer = await admin.ask_broker(broker, request, OffsetFetchResponse)
    return {
        group.group_id: {
            TopicPartition(topic.name or names.get(topic.topic_id, ""), part.partition_index): part.committed_offset
            for topic in group.topics
            for part in topic.partitions
            if part.committed_offset >= 0 and not part.error_code
        }
        for group in answer.groups
        if not group.error_code
    }


async def _behind(admin: Admin, committed: Committed) -> Committed:
    wanted = {id for offsets in committed.values() for id in offsets if id.topic}
    ends = await list_offsets(admin, dict.fromkeys(wanted, LATEST))
    starts = await list_offsets(admin, dict.fromkeys(wanted, EARLIEST))
    return {
        group: {
            id: max(0, ends[id] - max(offset, starts[id]))
            for id, offset in offsets.items()
            if id in ends and id in starts
        }
        for group, offsets in committed.items()
        if offsets
    }
