"""Stores of one kind on the same ground, as several brokers would have them, and the time that passes there.

In memory and on SQLite the test turns the clock by hand; a world whose store has clocks of its own waits for them.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from headrace.base.clock import Now
from headrace.cluster.store import Lease, MetaStore
from headrace.stores.memory import MemoryShelf, MemoryStore
from headrace.stores.sqlite import SqliteStore

_Item = TypeVar("_Item")

POLL_S = 0.002


class HandClock:
    def __init__(self) -> None:
        self.mono = 1000.0
        self.boot = "boot-1"

    def now(self) -> Now:
        return Now(self.mono, 0)

    def boot_id(self) -> str:
        return self.boot

    def advance(self, seconds: float) -> None:
        self.mono += seconds


class World:
    def __init__(self) -> None:
        self.clock = HandClock()
        self.opened: list[MetaStore] = []

    async def open(self) -> MetaStore:
        store = await self.connect()
        self.opened.append(store)
        return store

    async def connect(self) -> MetaStore:
        raise NotImplementedError

    async def let_pass(self, seconds: float) -> None:
        self.clock.advance(seconds)

    async def until_run_out(self, lease: Lease, renewing: Mapping[Lease, MetaStore] | None = None) -> None:
        """Others are renewed meanwhile, each by its holder's store."""
        for _ in range(4):
            self.clock.advance(lease.ttl_ms / 4000)
            for other, store in (renewing or {}).items():
                await store.renew(other)

    async def forget_history(self) -> None:
        """Memory and SQLite do by themselves, after some fifty changes in these worlds."""

    async def play(self, story: Callable[["World"], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(60):
                await story(self)
        finally:
            for store in self.opened:
                await store.close()


class MemoryWorld(World):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.shelf = MemoryShelf(history=50)

    async def connect(self) -> MetaStore:
        return MemoryStore(self.shelf, self.clock, POLL_S)


class SqliteWorld(World):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path / "metadata.sqlite"

    async def connect(self) -> MetaStore:
        return await SqliteStore.open(self.path, self.clock, deadline_s=20, poll_s=POLL_S, tombstones_max=50)


def story(told: Callable[[World], Awaitable[None]]) -> Callable[[World], None]:
    """A test that awaits."""

    @functools.wraps(told)
    def test(world: World) -> None:
        asyncio.run(world.play(told))

    return test


async def first(watch: AsyncIterator[_Item]) -> _Item:
    async with asyncio.timeout(20):
        return await anext(watch)
