"""ListOffsets of many partitions: each leader is asked once for all of its own."""

from collections import defaultdict
from collections.abc import Mapping

from headrace.admin.admin import Admin
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.connection import Disconnected
from headrace.wire.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

EARLIEST = -2
LATEST = -1
_CONSUMER = -1
TIMEOUT_MS = 30_000


async def list_offsets(admin: Admin, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """EARLIEST, LATEST, or the first offset at or after a time; what has no answer is left out."""
    found: dict[TopicPartition, int] = {}
    for broker_id, ids in (await _leaders(admin, wanted)).items():
        try:
            found |= await _ask(admin, broker_id, {id: wanted[id] for id in ids})
        except (Disconnected, Refused):
            continue
    return found


async def _leaders(admin: Admin, wanted: Mapping[TopicPartition, int]) -> Mapping[int, list[TopicPartition]]:
    leaders: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    if not wanted:
        return leaders
    for topic in (await admin.metadata({id.topic for id in wanted})).topics:
        for part in topic.partitions:
            id = TopicPartition(topic.name or "", part.partition_index)
            if id in wanted and part.leader_id >= 0:
                leaders[part.leader_id].append(id)
    return leaders


async def _ask(admin: Admin, broker_id: int, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    topics: dict[str, ListOffsetsTopic] = {}
    for (topic, index), when in wanted.items():
        asked = ListOffsetsPartition(index, timestamp=when)
        topics.setdefault(topic, ListOffsetsTopic(topic, [])).partitions.append(asked)
    request = ListOffsetsRequest(_CONSUMER, 0, list(topics.values()), TIMEOUT_MS)
    answer = await admin.ask_broker(broker_id, request, ListOffsetsResponse)
    return {
        TopicPartition(topic.name, part.partition_index): part.offset
        for topic in answer.topics
        for part in topic.partitions
        if not part.error_code and part.offset >= 0
    }
