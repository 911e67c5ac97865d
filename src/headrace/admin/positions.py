"""ListOffsets of many partitions: each leader is asked once for all of its own."""

from collections import defaultdict
from collections.abc import Mapping

from headrace.admin.admin import Admin
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import OffsetAt, offsets_in, offsets_request
from headrace.client.connection import Disconnected
from headrace.wire.messages.offsets import ListOffsetsResponse


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
    request = offsets_request(wanted, read_committed=False)
    answered = offsets_in(await admin.ask_broker(broker_id, request, ListOffsetsResponse))
    return {id: at.offset for id, at in answered.items() if isinstance(at, OffsetAt) and at.offset >= 0}
