"""The metadata store in memory, for tests and the simulator: the contract without a disk.

`MemoryShelf` stands for the database; each broker opens its own `MemoryStore` on it, as each process would open its own
connection, so that a test can cut one broker off (`unreachable`) and leave the others.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

from headrace.base.clock import Clock
from headrace.base.errors import StoreUnreachable
from headrace.cluster.store import (
    Change,
    Changes,
    Compacted,
    Conflict,
    Entry,
    Lease,
    LeaseHeld,
    LeaseLost,
    Snapshot,
    StoreWentBack,
    check_committed,
    check_followed,
    check_loaded,
    check_size,
)

HISTORY: Final = 10_000
POLL_S: Final = 0.05


class MemoryShelf:
    def __init__(self, history: int = HISTORY) -> None:
        self.revision = 0
        self.entries: dict[str, Entry] = {}
        self.history: deque[Changes] = deque(maxlen=history)
        self.leases: dict[str, tuple[Lease, float]] = {}
        """With the moment each runs out."""
        self.watchers: dict[Callable[[], None], None] = {}
        """In the order they came: a set would wake them in another order on every run of one seed."""

    def commit(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        wrong = [key for key, wanted in expect.items() if self._revision_of(key) != wanted]
        if wrong:
            raise Conflict(wrong)
        if puts:
            self.revision += 1
            for key, value in puts.items():
                self._put(key, value)
            changes = tuple(Change(key, value, self.revision) for key, value in puts.items())
            self.history.append(Changes(self.revision, changes))
            self.wake()
        return self.revision

    def _revision_of(self, key: str) -> int:
        entry = self.entries.get(key)
        return 0 if entry is None else entry.revision

    def _put(self, key: str, value: bytes | None) -> None:
        if value is None:
            self.entries.pop(key, None)
        else:
            self.entries[key] = Entry(value, self.revision)

    def after(self, revision: int) -> list[Changes]:
        if revision > self.revision:
            raise StoreWentBack("the store in memory", revision, self.revision)
        if revision + len(self.history) < self.revision:
            raise Compacted(f"revision {revision} is no longer remembered")
        return [each for each in self.history if each.revision > revision]

    def live(self, mono: float) -> dict[str, Lease]:
        return {name: lease for name, (lease, ends) in self.leases.items() if mono < ends}

    def wake(self) -> None:
        for wake in list(self.watchers):
            wake()


class MemoryStore:
    def __init__(self, shelf: MemoryShelf, clock: Clock, poll_s: float = POLL_S) -> None:
        self._shelf = shelf
        self._clock = clock
        self._poll_s = poll_s
        self.unreachable = False

    async def load(self) -> Snapshot:
        shelf = self._reach()
        return check_loaded(Snapshot(shelf.revision, dict(shelf.entries)))

    async def watch(self, after: int) -> AsyncIterator[Changes]:
        woken = asyncio.Event()
        self._shelf.watchers[woken.set] = None
        try:
            while True:
                woken.clear()
                for changes in self._reach().after(after):
                    check_followed(after, changes)
                    after = changes.revision
                    yield changes
                await woken.wait()
        finally:
            self._shelf.watchers.pop(woken.set, None)

    async def commit(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        check_size(puts, expect)
        return check_committed(self._reach().commit(puts, expect), expect)

    async def acquire(self, name: str, holder: str, epoch: int, ttl_ms: int) -> Lease:
        shelf, mono = self._reach(), self._clock.now().mono
        held = shelf.live(mono).get(name)
        if held is not None and (held.holder != holder or held.epoch >= epoch):
            raise LeaseHeld(held)
        lease = Lease(name, holder, epoch, ttl_ms)
        shelf.leases[name] = (lease, mono + ttl_ms / 1000)
        shelf.wake()
        return lease

    async def renew(self, lease: Lease) -> None:
        shelf, mono = self._reach(), self._clock.now().mono
        if shelf.live(mono).get(lease.name) != lease:
            raise LeaseLost(lease)
        shelf.leases[lease.name] = (lease, mono + lease.ttl_ms / 1000)

    async def release(self, lease: Lease) -> None:
        shelf = self._reach()
        held = shelf.leases.get(lease.name)
        if held is not None and held[0] == lease:
            del shelf.leases[lease.name]
            shelf.wake()

    async def leases(self) -> Mapping[str, Lease]:
        return self._reach().live(self._clock.now().mono)

    async def watch_leases(self) -> AsyncIterator[Mapping[str, Lease]]:
        woken = asyncio.Event()
        self._shelf.watchers[woken.set] = None
        try:
            seen: Mapping[str, Lease] | None = None
            while True:
                woken.clear()
                live = await self.leases()
                if live != seen:
                    seen = live
                    yield live
                await self._wait(woken)
        finally:
            self._shelf.watchers.pop(woken.set, None)

    async def _wait(self, woken: asyncio.Event) -> None:
        """Waits for a change, looking from time to time: a lease that runs out wakes nobody."""
        try:
            async with asyncio.timeout(self._poll_s):
                await woken.wait()
        except TimeoutError:
            pass

    async def close(self) -> None:
        pass

    def _reach(self) -> MemoryShelf:
        if self.unreachable:
            raise StoreUnreachable("the store is cut off")
        return self._shelf
