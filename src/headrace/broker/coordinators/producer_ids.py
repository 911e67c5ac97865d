"""Producer ids: unique in the cluster for ever, taken from the store a block at a time."""

import asyncio

from headrace.broker.membership.metadata import Metadata
from headrace.cluster.image import Image
from headrace.cluster.registration import next_producer_ids
from headrace.cluster.store import Commit


class ProducerIdBlocks:
    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._block = iter(range(0))
        self._taking = asyncio.Lock()

    async def next(self) -> int:
        async with self._taking:
            found = next(self._block, None)
            if found is None:
                await self._take_block()
                found = next(self._block)
            return found

    async def _take_block(self) -> None:
        taken = range(0)

        def plan(image: Image) -> list[Commit]:
            nonlocal taken
            taken, commit = next_producer_ids(image)
            return [commit]

        await self._metadata.change(plan)
        self._block = iter(taken)
