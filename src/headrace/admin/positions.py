"""ListOffsets of many partitions: each leader is asked once for all of its own."""

from collections import defaultdict
from collections.abc import Mapping

from headrace.admin.admin import Admin
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import OffsetAt, offsets_in, offsets_request
from headrace.client.connection import Disconnected
from headrace.client.retry import insist
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.offsets import ListOffsetsResponse


async def list_offsets(
    admin: Admin, wanted: Mapping[TopicPartition, int], seconds_max: float = 0
) -> dict[TopicPartition, int]:
    """EARLIEST, LATEST, or the first offset at or after a time; what has no answer is left out.

    Partitions whose leader has moved, or does not answer, or that have none, are asked for again for so many seconds.
    """
    found: dict[TopicPartition, int] = {}
    failures: list[Refused | Disconnected] = []

    async def ask_missing() -> None:
        missing = {id: at for id, at in wanted.items() if id not in found}
        leaders = await _leaders(admin, missing)
        failures[:] = [
            failure
            for broker_id, ids in leaders.items()
            if (failure := await _ask(admin, broker_id, {id: wanted[id] for id in ids}, found))
        ]
        if not failures and sum(map(len, leaders.values())) < len(missing):
            failures.append(Refused(ErrorCode.LEADER_NOT_AVAILABLE, "a partition has no leader at the moment"))
        if failures:
            raise failures[0]

    try:
        await insist(ask_missing, seconds_max)
    except (Disconnected, Refused) as failure:
        if failure not in failures:
            raise
    return {id: offset for id, offset in found.items() if offset >= 0}


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


async def _ask(
    admin: Admin, broker_id: int, wanted: Mapping[TopicPartition, int], found: dict[TopicPartition, int]
) -> Refused | Disconnected | None:
    """Notes what the leader answers; the first refusal among it."""
    try:
        request = offsets_request(wanted, read_committed=False)
        answered = offsets_in(await admin.ask_broker(broker_id, request, ListOffsetsResponse))
    except (Disconnected, Refused) as failure:
        return failure
    found.update((id, at.offset) for id, at in answered.items() if isinstance(at, OffsetAt))
    return next((Refused(at, str(id)) for id, at in answered.items() if not isinstance(at, OffsetAt)), None)
