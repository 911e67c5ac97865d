"""The ends of partitions once nothing below them is undecided: transactions that are open there are waited for.

A transaction is open for a moment after its end was acknowledged too, until its markers are written.
"""

import asyncio
from collections.abc import Collection

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import LATEST, ClusterClient

LOOK_AGAIN_SECONDS = 0.05


class StillOpen(Exception):
    """A transaction on `partition` has not ended in time."""

    def __init__(self, partition: TopicPartition) -> None:
        super().__init__(f"a transaction on {partition} is still open")
        self.partition = partition


async def decided_ends(
    client: ClusterClient, partitions: Collection[TopicPartition], seconds_max: float
) -> dict[TopicPartition, int]:
    """The last stable offset of each, as soon as that is beyond all that was written when this was called."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds_max
    written = await client.offsets(dict.fromkeys(partitions, LATEST), read_committed=False)
    ends: dict[TopicPartition, int] = {}
    while waiting := [id for id in partitions if id not in ends]:
        stable = await client.offsets(dict.fromkeys(waiting, LATEST))
        ends.update((id, at.offset) for id, at in stable.items() if at.offset >= written[id].offset)
        undecided = [id for id in waiting if id not in ends]
        if undecided:
            if loop.time() > deadline:
                raise StillOpen(undecided[0])
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
    return ends
