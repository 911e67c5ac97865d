"""The metadata store as one host reaches it: the memory store behind a line that takes time and can be cut.

A call that is cut off on its way there did nothing; one that is cut off on its way back did, and its caller cannot know:
both are `StoreUnreachable`. Leases run by the store's own clock, which is nobody else's.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from random import Random
from typing import TypeVar

from headrace.base.clock import Clock
from headrace.base.errors import StoreUnreachable
from headrace.cluster.store import Changes, Lease, Snapshot
from headrace.stores.memory import MemoryShelf, MemoryStore
from sim.slow_store import SlowCommits

T = TypeVar("T")

DEADLINE_SECONDS = 1.0
LOOK_SECONDS = 0.05


class SimStore:
    def __init__(self, shelf: MemoryShelf, clock: Clock, rng: Random, slow: SlowCommits) -> None:
        self.is_cut = False
        self._shelf = shelf
        self._slow = slow
        self._store = MemoryStore(shelf, clock)
        self._rng = rng

    async def load(self) -> Snapshot:
        return await self._call(self._store.load)

    async def commit(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        if not self._slow.seconds_max:
            return await self._call(lambda: self._store.commit(puts, expect))
        slow, shelf = self._slow, self._shelf
        return await self._call(lambda: slow.commit(shelf, puts, expect, self._rng, DEADLINE_SECONDS))

    async def acquire(self, name: str, holder: str, epoch: int, ttl_ms: int) -> Lease:
        return await self._call(lambda: self._store.acquire(name, holder, epoch, ttl_ms))

    async def renew(self, lease: Lease) -> None:
        return await self._call(lambda: self._store.renew(lease))

    async def release(self, lease: Lease) -> None:
        return await self._call(lambda: self._store.release(lease))

    async def leases(self) -> Mapping[str, Lease]:
        return await self._call(self._store.leases)

    async def watch(self, after: int) -> AsyncIterator[Changes]:
        async for changes in self._store.watch(after):
            await self._until_news()
            yield changes

    async def watch_leases(self) -> AsyncIterator[Mapping[str, Lease]]:
        async for leases in self._store.watch_leases():
            await self._until_heard()
            yield leases

    async def close(self) -> None:
        return

    async def _call(self, work: Callable[[], Awaitable[T]]) -> T:
        await self._travel()
        result = await work()
        await self._travel()
        return result

    async def _travel(self) -> None:
        await asyncio.sleep(self._rng.uniform(0.0003, 0.003))
        if self.is_cut:
            await asyncio.sleep(self._rng.uniform(0.3, 1.0) * DEADLINE_SECONDS)
            raise StoreUnreachable("the store is cut off")

    async def _until_news(self) -> None:
        await self._slow.until_news(self._rng)
        await self._until_heard()

    async def _until_heard(self) -> None:
        """News over a cut line comes late; a watch that is silent for long is given up, as a broken stream is."""
        await asyncio.sleep(self._rng.uniform(0.0003, 0.003))
        waited = 0.0
        while self.is_cut:
            await asyncio.sleep(LOOK_SECONDS)
            waited += LOOK_SECONDS
            if waited > DEADLINE_SECONDS and self._rng.random() < 0.05:
                raise StoreUnreachable("the store is cut off")
